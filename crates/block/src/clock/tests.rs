//! Virtual time jumps to what is expected, and only there.

use super::Clock;

/// Time stands still until it jumps to the earliest deadline, and clones see the same time.
#[test]
fn jumps_to_the_earliest_deadline() {
    let clock = Clock::virtual_time();
    let same = clock.clone();
    assert_eq!(clock.jump(), 0, "nobody waits");
    clock.expect(70);
    same.expect(50);
    same.expect(50);
    assert_eq!(clock.jump(), 50);
    assert_eq!(clock.jump(), 50, "the earliest one still waits");
    clock.forget(50);
    clock.forget(50);
    assert_eq!(same.jump(), 70);
    same.advance_to(60);
    assert_eq!(clock.now_ns(), 70, "time does not go back");
}

/// Real time moves by itself.
#[test]
fn real_time_moves() {
    let clock = Clock::real();
    clock.expect(1 << 40);
    let before = clock.jump();
    while clock.now_ns() == before {}
    clock.forget(1 << 40);
}
