//! What is noise and what is not.

use super::Moment;

/// Our own work is no noise; others' is, and what the host takes away.
#[test]
fn only_others_are_noise() {
    let own = |ticks: u32| format!("7 (a b) R{} {ticks} 0 0 0 9 9", " 1".repeat(10));
    let begin = Moment::of("cpu 0 0 0 0 0 0 0 0 0 0\ncpu0 1\n", &own(0));
    let end = |machine: &str, ticks| begin.complaint(Moment::of(machine, &own(ticks)));
    assert_eq!(end("cpu 90 0 5 100 5 0 0 0 0 0", 90), None);
    let said = end("cpu 90 0 5 100 5 0 0 0 0 0", 10).expect("noise");
    assert!(said.contains("others used 42 %"), "{said}");
    let said = end("cpu 10 0 0 80 0 0 0 10 0 0", 10).expect("noise");
    assert!(said.contains("the host took 10 %"), "{said}");
    assert_eq!(begin.complaint(begin), None);
    let busy = Moment::of("cpu 90 0 5 100 5 0 0 0 0 0", &own(10));
    assert_eq!(begin.complaint(busy.with_own(70.0)), None);
}
