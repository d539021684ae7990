//! A small campaign, and each mistake.

use super::{Campaign, ReshapeFault, SeededFault, reshapes};
use crate::explore;

fn explore(states: u64, fault: Option<SeededFault>) -> explore::Report {
    campaign(states, fault).run()
}

fn campaign(states: u64, fault: Option<SeededFault>) -> Campaign {
    let extent = extent(states);
    Campaign { extent, fault }
}

fn extent(states: u64) -> explore::Campaign {
    explore::Campaign {
        seed: 1,
        states,
        histories: u64::MAX,
    }
}

/// Nothing was broken, and all of this happened.
fn assert_holds(report: &explore::Report, happened: &[&str]) {
    println!("{report}");
    assert_eq!(report.broken, None);
    for what in happened {
        let count = report.counts.get(what).copied().unwrap_or(0);
        assert!(count > 0, "{what}");
    }
}

/// In the histories of these seeds something was broken once.
fn assert_mended(
    run: impl Fn(u64, &mut explore::Seen) -> Result<(), String>,
    seeds: impl IntoIterator<Item = u64>,
) {
    for seed in seeds {
        let mut seen = explore::Seen::default();
        assert_eq!(run(seed, &mut seen), Ok(()), "{seed}");
    }
}

fn history(seed: u64, seen: &mut explore::Seen) -> Result<(), String> {
    super::history::run(seed, None, seen)
}

fn reshape(seed: u64, seen: &mut explore::Seen) -> Result<(), String> {
    super::reshape::run(seed, None, seen)
}

/// No promise is broken by any cut.
#[test]
fn power_cuts_break_no_promise() {
    let report = explore(4_000, None);
    let happened = [
        "cuts without a leg",
        "cuts without two",
        "cuts with a lost leg back",
        "killed",
        "settled",
        "settled and whole",
        "reads without the home",
        "started again",
    ];
    assert_holds(&report, &happened);
}

/// The same of arrays of md's, with bitmaps and without, in the new format and the old one.
#[test]
fn power_cuts_break_no_promise_of_md() {
    let report = campaign(4_000, None).run_md();
    let happened = [
        "cuts without a leg",
        "cuts with a lost leg back",
        "killed",
        "settled and whole",
        "started again",
    ];
    assert_holds(&report, &happened);
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

/// So is each mistake that breaks an order of md's: superblocks say that the array is written, and
/// bitmaps where, before data are; bitmaps are before superblocks, and these before the loss of a
/// leg is forgotten; nothing is called clean, whole or at rest that is not durable.
#[test]
fn mistakes_in_arrays_of_md_are_found() {
    for fault in [
        SeededFault::WriteBeforeClaim,
        SeededFault::WriteBeforeMark,
        SeededFault::MarkNotDurable,
        SeededFault::BitmapLate,
        SeededFault::AnswerBeforeLoss,
        SeededFault::UnmarkedWhileAway,
        SeededFault::CleanWithoutFlush,
        SeededFault::JoinWithoutFlush,
        SeededFault::FlushForgotten,
    ] {
        let report = campaign(40_000, Some(fault)).run_md();
        println!("{fault:?}: {report}: {:?}", report.broken);
        assert!(report.broken.is_some(), "{fault:?} is not found: {report}");
    }
}

/// A leg lacked marks as power was cut, and another one was lost before the first had what it may
/// have missed.
#[test]
fn legs_without_marks_count_where_they_are_needed() {
    assert_mended(history, [100_772]);
}

/// A row of a region that was being brought in sync was mended, and then written without parity,
/// as a leg could not be read.
#[test]
fn what_is_written_without_parity_is_mended_again() {
    assert_mended(history, [132]);
}

/// What a stroke writes was entered without a leg, before that was on record as lost.
#[test]
fn entries_come_behind_the_record_of_a_loss() {
    assert_mended(history, [323]);
}

/// The journal was written once more without a leg, which came back before that was said.
#[test]
fn what_the_journal_says_is_missed_by_who_is_away() {
    assert_mended(history, [200_407]);
}

/// A leg that was filled counted by a generation of the journal whose flush had gone before.
#[test]
fn legs_join_behind_a_flush_of_their_own() {
    assert_mended(history, [900_668]);
}

/// A superblock, or a mark that was taken off, was seen after a kill, and was not durable.
#[test]
fn what_a_kill_shows_need_not_be_durable() {
    assert_mended(history, [460, 1603, 1738, 5013]);
}

fn explore_reshapes(states: u64, fault: Option<ReshapeFault>) -> explore::Report {
    Campaign::run_reshape(extent(states), fault)
}

/// No promise is broken by any cut while an array becomes another one, which it does in the end.
#[test]
fn power_cuts_break_no_promise_of_reshapes() {
    let report = explore_reshapes(4_000, None);
    let happened = [
        "cuts without a leg",
        "cuts without two",
        "cuts with a lost leg back",
        "cuts behind the end",
        "ended",
        "ended and whole",
    ];
    assert_holds(&report, &happened);
}

/// None is broken either where the process is killed, whatever the array becomes.
#[test]
fn reshapes_survive_kills() {
    for name in reshapes() {
        let report = Campaign::run_killed_reshape(&name, 40, 1);
        println!("{name}: {report}");
        assert_holds(&report, &["kills in the middle", "ended"]);
    }
}

/// Each mistake in moving is found.
#[test]
fn mistakes_of_reshapes_are_found() {
    for (name, fault) in ReshapeFault::ALL {
        let report = explore_reshapes(20_000, Some(*fault));
        println!("{name}: {report}: {:?}", report.broken);
        assert!(report.broken.is_some(), "{name} is not found: {report}");
    }
}

/// The journal was beginning a generation, for a first entry, as a step of a reshape had moved its
/// rows: its flush was not that step's.
#[test]
fn a_step_is_flushed_behind_its_rows() {
    assert_mended(reshape, [44, 92, 117, 145]);
}

/// A leg had failed, which was not on record, as entries went that would have given it what it
/// lacked; and a round of superblocks was under way as another one was to say something new.
#[test]
fn a_loss_is_on_record_before_entries_go() {
    assert_mended(reshape, [1436, 1448, 1848, 2215]);
}

/// A write was refused as one leg lacked the mark of a write that was cut short, and another one
/// did not answer any more: reads believed the former, as nothing else suffices.
#[test]
fn what_lacks_only_marks_is_believed_where_nothing_else_suffices() {
    for (name, seed) in [
        ("raid5 to more legs", 4022),
        ("raid6 to more legs", 1936),
        ("raid6 to fewer legs", 1808),
        ("raid6 to other chunks", 1045),
    ] {
        let report = Campaign::run_killed_reshape(name, 1, seed);
        assert_eq!(report.broken, None, "{name}");
    }
}
