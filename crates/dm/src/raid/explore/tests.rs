//! A small campaign, and each mistake.

use super::{Campaign, SeededFault};
use crate::explore;

fn explore(states: u64, fault: Option<SeededFault>) -> explore::Report {
    let extent = explore::Campaign {
        seed: 1,
        states,
        histories: u64::MAX,
    };
    Campaign { extent, fault }.run()
}

/// No promise is broken by any cut.
#[test]
fn power_cuts_break_no_promise() {
    let report = explore(4_000, None);
    println!("{report}");
    assert_eq!(report.broken, None);
    for what in [
        "cuts without a leg",
        "cuts without two",
        "cuts with a lost leg back",
        "killed",
        "settled",
        "settled and whole",
        "reads without the home",
        "started again",
    ] {
        let count = report.counts.get(what).copied().unwrap_or(0);
        assert!(count > 0, "{what}");
    }
}

/// Each mistake is found, and where the write hole is not excused it is, too.
#[test]
fn mistakes_are_found() {
    for (name, fault) in SeededFault::ALL {
        let report = explore(40_000, Some(*fault));
        println!("{name}: {report}: {:?}", report.broken);
        assert!(report.broken.is_some(), "{name} is not found: {report}");
    }
}

/// A superblock, or a mark that was taken off, was seen after a kill, and was not durable.
#[test]
fn what_a_kill_shows_need_not_be_durable() {
    for seed in [460, 1603, 1738, 5013] {
        let mut seen = explore::Seen::default();
        assert_eq!(super::history::run(seed, None, &mut seen), Ok(()), "{seed}");
    }
}
