//! Angles and waits against closed forms.

use super::{Angle, CIRCLE, Rotation, SLACK_NS};

#[test]
fn an_hour_later_the_angle_is_still_exact() {
    // 3600 s at 10045 rpm are 602,700 whole revolutions.
    let rotation = Rotation::new(10_045, Angle::new(17));
    assert_eq!(rotation.angle_at(3_600_000_000_000), Angle::new(17));
    assert_eq!(rotation.period_ns(), 5_973_120);
}

#[test]
fn waiting_ends_at_the_target() {
    let rotation = Rotation::new(7200, Angle::default());
    for step in 0..1000_u64 {
        let (now, target) = (step * 7_777_777, Angle::new(step * 59_999_999));
        let wait = rotation.wait_ns(now, target);
        assert!(wait <= rotation.period_ns() + 1);
        let past = target.until(rotation.angle_at(now + wait)).units();
        assert!(
            past < SLACK_NS * 7200,
            "stopped {past} units after the target"
        );
    }
}

#[test]
fn what_passed_just_now_is_not_waited_for() {
    let rotation = Rotation::new(7200, Angle::default());
    let at = rotation.pass_ns(7, 100);
    let seventh = Angle::new(7 * CIRCLE / 100);
    assert!(rotation.wait_ns(at, seventh) <= 1);
    assert!(rotation.wait_ns(at + 2, seventh) == 0);
    assert!(rotation.wait_ns(at + 2 * SLACK_NS, seventh) > rotation.period_ns() / 2);
}
