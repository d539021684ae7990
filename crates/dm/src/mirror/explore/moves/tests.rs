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

/// Nothing is lost that was promised, whenever the power goes while extents are moved.
#[test]
fn moves_keep_their_promises() {
    let report = explore(10_000, None);
    println!("{report}");
    assert_eq!(report.broken, None);
    for what in ["pieces moved", "refused", "targets lost", "moves aborted"] {
        assert!(report.counts.contains_key(what), "{what} never happens");
    }
}

/// Each mistake is found, by what the volume holds.
#[test]
fn mistakes_are_found() {
    for (name, fault) in SeededFault::ALL {
        let report = explore(30_000, Some(*fault));
        let Some((seed, what)) = &report.broken else {
            panic!("{name} is not found: {report}");
        };
        println!("{name}: seed {seed}: {what}, after {} cuts", report.cuts);
        assert!(what.starts_with("sector "), "{name}: seed {seed}: {what}");
    }
}
