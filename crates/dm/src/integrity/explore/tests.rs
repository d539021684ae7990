//! Small campaigns, and each mistake.

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

/// Whenever the power goes, what was flushed is there, and no block is an error.
#[test]
fn power_cuts_break_no_promise() {
    let report = explore(2_000, None);
    println!("{report}");
    assert_eq!(report.broken, None);
}

/// Each mistake is found.
#[test]
fn mistakes_are_found() {
    for (name, fault) in SeededFault::ALL {
        let report = explore(10_000, Some(*fault));
        let Some((seed, what)) = &report.broken else {
            panic!("{name} is not found: {report}");
        };
        println!("{name}: seed {seed}: {what}, after {} cuts", report.cuts);
    }
}

/// In the histories of these seeds something was broken once: a write that waited for blocks to get
/// checksums was forgotten when the device was to stop, a stop whose flush failed was relied on,
/// and a journal was put in place that was in caches only.
#[test]
fn what_was_broken_once_is_kept() {
    for seed in [199, 5106, 5130, 5266] {
        let mut seen = explore::Seen::default();
        let kept = super::history::run(seed, None, &mut seen);
        assert_eq!(kept, Ok(()), "seed {seed}");
    }
}
