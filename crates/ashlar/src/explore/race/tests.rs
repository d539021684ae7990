//! A few orders of each pair, and every mistake; the whole is `cargo xtask crash races`.

use super::{Effort, Races, SeededFault};

fn races(effort: Effort, fault: Option<SeededFault>) -> Races {
    Races {
        pair: None,
        effort,
        seed: 1,
        fault,
    }
}

/// Two commands at the same time leave what they leave one after the other, and so do their cuts.
#[test]
fn commands_that_meet_keep_the_promises() {
    let report = races(Effort::Some(4), None).run().expect("both run");
    println!("{report}");
    assert_eq!(report.first, None);
}

/// Each lock and each check that is left out is missed: where a disk is removed while it joins a
/// group, or where two volumes are made.
#[test]
fn every_lock_and_check_is_needed() {
    const REMOVED: usize = 1;
    const CREATED: usize = 4;
    let found = |pair, fault| {
        let report = Races {
            pair: Some(pair),
            ..races(Effort::All, Some(fault))
        };
        let report = report.run().expect("both run");
        println!("{fault:?}: {report} {:?}", report.first);
        report.broken > 0
    };
    for (name, fault) in SeededFault::ALL {
        let pair = match fault {
            SeededFault::NotCompared => CREATED,
            _ => REMOVED,
        };
        assert!(found(pair, fault), "nothing is lost without {name}");
    }
    // What is not read again is held against the versions that are there.
    assert!(!found(CREATED, SeededFault::NotReadAgain));
}
