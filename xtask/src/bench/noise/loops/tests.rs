//! Which of the kernel's work is ours.

use super::{Ledger, worker};

/// Workers are known by their names, and ordinary programs are none.
#[test]
fn workers_are_told_from_programs() {
    let stat = |name: &str| format!("7 ({name}) I 2 0 0 0 -1 69238880 0 0 0 0 30 12 0 0 20 0 1");
    let of = |name: &str| worker(&stat(name)).map(|(name, ticks)| (name.to_owned(), ticks));
    for name in ["kworker/u8:3+loop0", "kworker/u8:3", "loop12"] {
        assert_eq!(of(name), Some((name.to_owned(), 42)));
    }
    for name in ["bash", "loop", "loopy", "my (odd) loop1x", "ashlar-loop0"] {
        assert_eq!(of(name), None, "{name}");
    }
}

/// What a worker used counts when its name says one of our devices, from its birth on if that was
/// watched.
#[test]
fn only_work_for_our_devices_counts() {
    let mut ledger = Ledger::default();
    let mut look = |workers: &[(u32, &str, u32)]| {
        ledger.note(workers.iter().copied(), |device| device == "loop3");
        ledger.ours()
    };
    // Used before the first look.
    assert_eq!(look(&[(1, "kworker/u8:1+loop3", 500)]), 0);
    // Others' devices and other work do not count; a new worker counts from its birth.
    let second = [
        (1, "kworker/u8:1-loop3", 510),
        (2, "kworker/u8:2+loop33", 90),
        (3, "kworker/u8:3-ext4-rsv-conversion", 70),
        (4, "kworker/u8:4+loop3", 5),
    ];
    assert_eq!(look(&second), 15);
    // It goes over to us; its number is somebody else's meanwhile.
    let third = [(2, "kworker/u8:2-loop3", 93), (4, "kworker/u8:9-loop3", 1)];
    assert_eq!(look(&third), 18);
    // A thread of its own, as old kernels have it.
    assert_eq!(look(&[(9, "loop3", 2)]), 20);
}
