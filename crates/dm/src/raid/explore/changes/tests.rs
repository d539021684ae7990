//! A few histories of each change, and each mistake.

use super::{ChangeFault, changes};
use crate::explore::{Campaign, Seen};
use crate::raid::explore;

/// Kills of each change.
const KILLS: u64 = 4;
/// Histories in which a mistake is looked for.
const PLANTED: u64 = 200;

/// No promise is broken by any kill or cut while a volume in use is changed.
#[test]
fn changes_of_volumes_in_use_break_no_promise() {
    let (mut kills, mut cuts) = (0, 0);
    for name in changes() {
        let report = explore::Campaign::run_change(&name, KILLS, 1);
        println!("{name}: {report}");
        assert_eq!(report.broken, None, "{name}");
        let count = |what: &str| report.counts.get(what).copied().unwrap_or(0);
        assert!(count("ended and whole") > 0, "{name}");
        kills += count("kills");
        cuts += count("cuts in the middle");
    }
    assert!(kills > 100 && cuts > 100, "{kills} kills, {cuts} cuts");
}

/// Each mistake is found.
#[test]
fn mistakes_of_changes_are_found() {
    let mut missed = Vec::new();
    for (name, fault, change) in ChangeFault::ALL {
        let extent = Campaign {
            seed: 1,
            states: u64::MAX,
            histories: PLANTED,
        };
        let report = explore::Campaign::run_faulty_change(change, extent, *fault);
        println!("{name}: {:?}", report.broken);
        if report.broken.is_none() {
            missed.push(name);
        }
    }
    assert!(missed.is_empty(), "{missed:?} are not found");
}

/// What was found and mended: rows went past the journal while the text still said that a leg is to
/// be filled; an order to repair was answered before what it had written was durable; bitmaps of a
/// larger array were on record and superblocks were not, so that what came counted as made up from
/// parity; a stroke that no entry tells of went on while its region came to be in sync; a mark was
/// taken off behind flushes that had begun before the region was mended; one superblock was
/// written, and the others were zeros for good.
#[test]
fn what_was_broken_once_is_kept() {
    let seeds = [
        ("replace raid6", 41),
        ("scrub raid6", 369),
        ("scrub raid5", 149),
        ("extend raid5", 1252),
        ("create raid5", 629),
        ("scrub raid10", 97),
        ("split", 442),
    ];
    for (name, seed) in seeds {
        let result = super::course::run(name, (seed, None), &mut Seen::default());
        assert_eq!(result, Ok(()), "{name}, {seed}");
    }
}
