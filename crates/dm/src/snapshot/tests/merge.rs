//! Merges: their steps, what is seen meanwhile, and what stops them.

use std::time::Duration;

use block::Kind;

use super::hand::{CHUNK, Hand, SIZE, config, first};
use crate::machine::Machine;
use crate::snapshot::control::Event;
use crate::snapshot::{Control, Notice, OriginConfig, SnapshotState, Stored};

/// The first snapshot of `config` is merged from now on.
fn merging(mut config: OriginConfig) -> OriginConfig {
    config.snapshots[0].as_mut().expect("it is there").merging = true;
    config
}

/// Of `snapshots` the first one has sectors 10, 11, 12 at chunks 2, 3, 4, and 5 at chunk 5; it is
/// being merged.
fn begun(snapshots: usize) -> Hand {
    let mut hand = Hand::new(snapshots);
    for (sector, count) in [(10, 3), (5, 1)] {
        let tag = hand.write(1, sector, count, 200 + sector as u8);
        assert_eq!(hand.result(tag), None);
    }
    let config = merging(hand.origin.config());
    hand.reload(config).unwrap();
    hand
}

fn state(hand: &Hand) -> SnapshotState {
    hand.origin.status().snapshots[0]
        .expect("it is there")
        .state
}

/// Runs are moved from the last entry on: read, written, flushed, and then cleared.
#[test]
fn runs_are_moved_in_order() {
    let mut hand = begun(1);
    assert_eq!(state(&hand), SnapshotState::Merging);
    hand.expect(&["1 read 5+1"]);
    hand.expect(&["0 write 5+1"]);
    hand.expect(&["0 flush"]);
    assert_eq!(hand.changes(1).entries.len(), 2);
    hand.expect(&["1 write 1+1 fua"]);
    assert_eq!(hand.changes(1).entries.len(), 1, "durably");
    hand.expect(&["1 read 2+3"]);
    hand.expect(&["0 write 10+3"]);
    hand.expect(&["0 flush"]);
    assert!(hand.notices.is_empty());
    hand.expect(&["1 write 1+1 fua"]);
    assert_eq!(hand.notices, [Notice::Merged { id: 101 }]);
    assert_eq!(hand.changes(1).entries, []);
    let status = hand.origin.status().snapshots[0].unwrap();
    assert_eq!((status.used, status.metadata), (2 * CHUNK, 2 * CHUNK));
    let mut without = hand.origin.config();
    without.snapshots.clear();
    hand.reload(without).unwrap();
    let bytes = hand.bytes(0, SIZE);
    let seen: Vec<u8> = [5, 9, 10, 12]
        .map(|sector: usize| bytes[sector * 512])
        .into();
    assert_eq!(seen, [205, first(9), 210, 210]);
}

/// Face 0 is the snapshot all the time, reads and writes; only what is held waits to be written.
#[test]
fn the_origin_is_the_snapshot_meanwhile() {
    let mut hand = begun(1);
    assert_eq!(hand.words(), ["1 read 5+1"]);
    let held = hand.write(0, 4, 2, 66);
    assert_eq!(hand.words(), ["1 read 5+1"], "it waits for sector 5");
    hand.read(0, 4, 2);
    hand.write(0, 9, 2, 77);
    hand.flush(0);
    let words = [
        "0 read 4+1",
        "1 read 5+1",
        "0 write 9+1",
        "1 write 2+1",
        "0 flush",
        "1 flush",
    ];
    assert_eq!(hand.words()[1..], words);
    hand.answer_to("1 read 5+1");
    hand.answer_to("0 write 5+1");
    hand.answer_to("0 flush");
    hand.answer_to("0 flush");
    hand.answer_to("1 write 1+1 fua");
    assert!(
        hand.words().contains(&"0 write 4+2".to_owned()),
        "sector 5 is the origin's again"
    );
    let reads = |hand: &Hand| hand.words().contains(&"1 read 2+3".to_owned());
    assert!(
        !reads(&hand),
        "what is being written to the store is not read"
    );
    hand.answer_to("1 write 2+1");
    assert!(reads(&hand));
    assert_eq!(hand.result(held), None);
    let bytes = hand.bytes(0, SIZE);
    let seen: Vec<u8> = (3..12).map(|sector: usize| bytes[sector * 512]).collect();
    let wanted = [first(3), 66, 66, first(6), first(7), first(8), 77, 77, 210];
    assert_eq!(seen, wanted);
    assert_eq!(hand.notices.len(), 1);
}

/// Other snapshots keep what a merge overwrites, and their reads of it end first.
#[test]
fn other_snapshots_are_not_merged() {
    let mut hand = begun(2);
    hand.answer_to("0 read 5+1");
    let read = hand.read(2, 5, 1);
    while hand.words() != ["0 read 5+1"] {
        let last = hand.asked.len() - 1;
        let place = usize::from(last > 0 && hand.words()[0] == "0 read 5+1");
        hand.answer(place);
    }
    assert_eq!(
        hand.changes(2).entries.len(),
        1,
        "it has it, and the merge waits for the read"
    );
    hand.settle();
    assert_eq!(hand.answered(read).unwrap().unwrap()[0], first(5));
    assert_eq!(hand.notices, [Notice::Merged { id: 101 }]);
    let bytes = hand.bytes(2, SIZE);
    assert!((0..64).all(|sector| bytes[sector as usize * 512] == first(sector)));
    assert_eq!(hand.bytes(0, SIZE)[12 * 512], 210);
}

/// A merge is suspended between two steps, and may be started again from the disks.
#[test]
fn a_merge_goes_on_later() {
    let mut hand = begun(1);
    hand.tell(Event::Suspend);
    hand.settle();
    assert!(hand.has_ended && hand.notices.is_empty());
    assert_eq!(hand.changes(1).entries.len(), 1);
    let mut again = merging(config(1));
    again.snapshots[0].as_mut().unwrap().stored = hand.stored(1, SIZE);
    let images = hand.disks.iter().map(block::sim::Disk::durable).collect();
    let mut hand = Hand::on(again, images);
    assert_eq!(hand.words(), ["1 read 2+3"]);
    hand.settle();
    assert_eq!(hand.notices, [Notice::Merged { id: 101 }]);
    let bytes = hand.bytes(0, SIZE);
    let seen: Vec<u8> = [5, 9, 10, 12]
        .map(|sector: usize| bytes[sector * 512])
        .into();
    assert_eq!(seen, [205, first(9), 210, 210]);
}

/// A step that fails stops the merge; what it was to move is still the store's.
#[test]
fn a_failing_merge_stops() {
    for steps in 0..3 {
        let mut hand = begun(1);
        (0..steps).for_each(|_| hand.answer(0));
        let held = hand.write(0, 5, 1, 9);
        hand.fail(0, Kind::Io);
        hand.expect(&["1 write 5+1"]);
        assert_eq!(hand.result(held), None);
        assert_eq!(state(&hand), SnapshotState::MergeFailed);
        let [Notice::MergeFailed { id: 101, .. }] = &hand.notices[..] else {
            panic!("{:?}", hand.notices);
        };
        let same = hand.origin.config();
        hand.reload(same).unwrap();
        hand.settle();
        assert_eq!(
            hand.notices[1..],
            [Notice::Merged { id: 101 }],
            "resumed, it is tried again"
        );
        assert_eq!(hand.bytes(0, SIZE)[5 * 512], 9);
    }
}

/// Where it is not known whether an entry is cleared, nothing is written until it is.
#[test]
fn what_may_be_cleared_is_not_written() {
    let mut hand = begun(1);
    (0..3).for_each(|_| hand.answer(0));
    let held = hand.write(0, 5, 1, 9);
    hand.fail_to("1 write 1+1 fua", Kind::Io);
    assert_eq!(hand.result(held), Some(Kind::Io));
    let tag = hand.write(0, 4, 1, 9);
    assert_eq!(hand.result(tag), None);
    assert_eq!(hand.bytes(0, SIZE)[5 * 512], 205);
    let same = hand.origin.config();
    hand.reload(same.clone()).unwrap();
    hand.fail_to("1 read 5+1", Kind::Io);
    let tag = hand.write(0, 5, 1, 9);
    assert_eq!(
        hand.result(tag),
        Some(Kind::Io),
        "a step that fails earlier changes nothing"
    );
    hand.reload(same).unwrap();
    hand.settle();
    let tag = hand.write(0, 5, 1, 9);
    assert_eq!(hand.result(tag), None);
}

/// A merge takes no more than its rate.
#[test]
fn a_merge_keeps_its_rate() {
    let mut hand = begun(1);
    hand.order(Control::MergeRate(CHUNK));
    hand.settle();
    assert!(hand.notices.is_empty(), "the second step waits");
    hand.wait();
    assert_eq!(hand.now, Duration::from_secs(1));
    hand.settle();
    assert_eq!(hand.notices.len(), 1);
}

/// Runs end where areas do, and where a step is long enough.
#[test]
fn steps_are_short() {
    let mut hand = Hand::new(1);
    let tag = hand.write(1, 0, 40, 9);
    assert_eq!(hand.result(tag), None);
    hand.origin.limits.merged = 6 * CHUNK;
    let config = merging(hand.origin.config());
    hand.reload(config).unwrap();
    let mut reads = Vec::new();
    while !hand.asked.is_empty() {
        reads.extend(
            hand.words()
                .into_iter()
                .filter(|words| words.contains("read")),
        );
        hand.answer(0);
    }
    let wanted = [
        "1 read 37+6",
        "1 read 35+2",
        "1 read 28+6",
        "1 read 22+6",
        "1 read 16+6",
        "1 read 10+6",
        "1 read 4+6",
        "1 read 2+2",
    ];
    assert_eq!(reads, wanted);
    assert!(
        hand.bytes(0, SIZE)[..40 * 512]
            .iter()
            .all(|byte| *byte == 9)
    );
}

/// What is invalid is not merged.
#[test]
fn what_is_invalid_is_not_merged() {
    let mut config = merging(config(1));
    config.snapshots[0].as_mut().unwrap().stored = Stored::Overflowed;
    let infos = [("a", SIZE), ("b", 80 * CHUNK)].map(|(name, size)| block::Info::new(name, size));
    let error = crate::snapshot::Origin::new(config, &infos).unwrap_err();
    assert_eq!(error.kind(), crate::Kind::Damaged);
}
