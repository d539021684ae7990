//! What stores were read as is durable before anything relies on it.

use block::sim::Disk;
use block::{Durability, Kind};

use super::hand::{CHUNK, Hand, SIZE, config, disk, first};
use crate::machine::Machine;
use crate::snapshot::control::Event;
use crate::snapshot::{Access, Notice, OriginConfig, SnapshotState, Stored, read_store};

/// The process is killed; what it asked last is done, but in a cache. Another one that is made of
/// `config` starts on the same disks.
fn killed(mut hand: Hand, mut config: OriginConfig) -> Hand {
    for (leg, mut request) in std::mem::take(&mut hand.asked) {
        request.durability = Durability::Volatile;
        let ticket = hand.disks[leg].begin(request);
        hand.disks[leg].finish(ticket);
    }
    for snapshot in config.snapshots.iter_mut().flatten() {
        snapshot.stored = read(&hand.disks[snapshot.store]);
    }
    Hand::start(config, hand.disks)
}

fn read(disk: &Disk) -> Stored {
    let image = disk.content();
    read_store(
        "store",
        (image.size(), SIZE),
        |range| Ok(image.bytes(range)),
    )
    .unwrap()
}

fn answer_until(hand: &mut Hand, words: &str) {
    while hand.words() != [words] {
        hand.answer(0);
    }
}

/// A snapshot with sector 9, killed while its store becomes the one of sector 5, too.
fn interrupted() -> Hand {
    let mut hand = Hand::new(1);
    let tag = hand.write(0, 9, 1, 255);
    assert_eq!(hand.result(tag), None);
    hand.write(0, 5, 1, 255);
    answer_until(&mut hand, "1 write 1+1 fua");
    hand
}

fn state(hand: &Hand) -> SnapshotState {
    hand.origin.status().snapshots[0].unwrap().state
}

/// An entry that is in a cache only is durable before the origin may be written where it is.
#[test]
fn entries_are_mended_at_the_start() {
    let mut hand = killed(interrupted(), config(1));
    assert_eq!(hand.changes(1).entries.len(), 1, "after a cut");
    hand.expect(&["1 flush"]);
    hand.expect(&["1 write 1+1 fua"]);
    assert_eq!(hand.changes(1).entries.len(), 2);
    assert!(!hand.has_started);
    hand.expect(&["1 write 0+1 fua"]);
    assert!(hand.has_started);
    hand.write(0, 5, 1, 7);
    hand.expect(&["0 write 5+1"]);
}

/// The full area that ends a list, and the one without entries behind it.
#[test]
fn full_areas_are_mended() {
    let mut hand = Hand::new(1);
    let tag = hand.write(1, 0, 31, 255);
    assert_eq!(hand.result(tag), None);
    hand.write(0, 40, 1, 255);
    answer_until(&mut hand, "1 write 1+1 fua");
    let mut hand = killed(hand, config(1));
    hand.expect(&["1 flush"]);
    hand.expect(&["1 write 34+1 fua"]);
    hand.expect(&["1 write 1+1 fua"]);
    assert_eq!(hand.changes(1).entries.last().unwrap().new, 33);
    hand.expect(&["1 write 0+1 fua"]);
    assert!(hand.has_started && hand.asked.is_empty());
    let count: u64 = hand.changes(1).entries.iter().map(|run| run.count).sum();
    assert_eq!(count, 32);
}

/// A header is: the store would be one that was never used.
#[test]
fn headers_are_mended() {
    let mut hand = Hand::new(1);
    hand.write(0, 5, 1, 255);
    answer_until(&mut hand, "1 write 0+1 fua");
    let mut hand = killed(hand, config(1));
    assert_eq!(hand.stored(1, SIZE), Stored::Fresh);
    hand.settle();
    assert_eq!(hand.changes(1).entries, []);
}

/// So is what says that a snapshot is invalid: it would be valid again.
#[test]
fn marks_are_mended() {
    let mut small = config(1);
    small.snapshots[0].as_mut().unwrap().store_size = 3 * CHUNK;
    let mut hand = Hand::of(small.clone());
    let tag = hand.write(0, 5, 1, 255);
    assert_eq!(hand.result(tag), None);
    hand.write(0, 6, 1, 255);
    answer_until(&mut hand, "1 write 0+1 fua");
    let mut hand = killed(hand, small);
    assert!(!hand.has_started);
    assert_ne!(hand.stored(1, SIZE), Stored::Overflowed);
    hand.expect(&["1 write 0+1 fua"]);
    assert_eq!(hand.stored(1, SIZE), Stored::Overflowed);
    assert!(hand.has_started && hand.notices.is_empty());
    assert_eq!(state(&hand), SnapshotState::Invalid);
    hand.write(0, 7, 1, 255);
    hand.expect(&["0 write 7+1"]);
}

/// A cleared entry does not come back, and a merge does not say that it has ended before.
#[test]
fn merges_wait_until_they_are_mended() {
    let mut merging = config(1);
    merging.snapshots[0].as_mut().unwrap().merging = true;
    let mut hand = Hand::new(1);
    let tag = hand.write(1, 5, 1, 200);
    assert_eq!(hand.result(tag), None);
    hand.reload(merging.clone()).unwrap();
    answer_until(&mut hand, "1 write 1+1 fua");
    let mut hand = killed(hand, merging);
    assert_eq!(hand.changes(1).entries.len(), 1);
    assert_eq!(hand.words(), ["1 flush"]);
    hand.answer(0);
    hand.fail_to("1 write 1+1 fua", Kind::Io);
    assert!(hand.has_started, "it can be read");
    assert_eq!(state(&hand), SnapshotState::MergeFailed);
    assert_eq!(hand.bytes(0, SIZE)[5 * 512], 200);
    for sector in [5, 40] {
        let tag = hand.write(0, sector, 1, 9);
        assert_eq!(hand.result(tag), Some(Kind::Io), "it may come back");
    }
    let [Notice::MergeFailed { .. }] = &hand.notices[..] else {
        panic!("{:?}", hand.notices);
    };
    let same = hand.origin.config();
    hand.reload(same).unwrap();
    let tag = hand.write(0, 5, 1, 9);
    hand.expect(&["1 flush"]);
    hand.expect(&["1 write 1+1 fua"]);
    assert_eq!(hand.notices.len(), 1);
    hand.expect(&["1 write 0+1 fua"]);
    assert_eq!(hand.notices[1..], [Notice::Merged { id: 101 }]);
    hand.expect(&["0 write 5+1"]);
    assert_eq!(hand.result(tag), None);
}

/// A store that cannot be mended is marked, and the origin goes on; unless it cannot be marked.
#[test]
fn what_cannot_be_mended_is_invalid() {
    for (steps, is_marked) in [(0, true), (1, true), (2, true), (2, false)] {
        let mut hand = killed(interrupted(), config(1));
        (0..steps).for_each(|_| hand.answer(0));
        hand.fail(0, Kind::Io);
        assert!(!hand.has_started);
        assert_eq!(hand.words(), ["1 write 0+1 fua"]);
        if is_marked {
            hand.answer(0);
            assert_eq!(hand.stored(1, SIZE), Stored::Overflowed);
        } else {
            hand.fail(0, Kind::Io);
        }
        assert!(hand.has_started);
        assert_eq!(hand.notices.len(), 1);
        let (wanted, result) = if is_marked {
            (SnapshotState::Invalid, None)
        } else {
            (SnapshotState::Failed, Some(Kind::Io))
        };
        assert_eq!(state(&hand), wanted);
        let tag = hand.write(0, 5, 1, 9);
        if !is_marked {
            hand.fail_to("1 write 0+1 fua", Kind::Io);
        }
        assert_eq!(hand.result(tag), result);
    }
}

/// What nobody may write to is not mended, until somebody may; who comes then waits.
#[test]
fn readers_do_not_mend() {
    let reading = |mut config: OriginConfig| {
        config.access = Access::ReadOnly;
        config.snapshots[0].as_mut().unwrap().access = Access::ReadOnly;
        config
    };
    let mut hand = killed(interrupted(), reading(config(1)));
    assert!(hand.has_started && hand.asked.is_empty());
    assert_eq!(hand.bytes(1, SIZE)[5 * 512], first(5));
    hand.reload(config(1)).unwrap();
    assert_eq!(hand.words(), ["1 flush"]);
    let tags = [hand.read(0, 5, 1), hand.write(0, 5, 1, 9), hand.flush(1)];
    hand.expect(&["1 flush"]);
    hand.expect(&["1 write 1+1 fua"]);
    hand.expect(&["1 write 0+1 fua"]);
    assert_eq!(hand.words(), ["0 read 5+1", "0 write 5+1", "1 flush"]);
    assert!(tags.into_iter().all(|tag| hand.result(tag).is_none()));
}

/// A snapshot that is added while the origin runs is mended; one that is suspended meanwhile, too.
#[test]
fn added_snapshots_are_mended() {
    let old = interrupted();
    let mut hand = Hand::new(0);
    hand.disks.push(disk(old.disks[1].content().clone()));
    let mut with = config(1);
    with.snapshots[0].as_mut().unwrap().stored = read(&hand.disks[1]);
    hand.reload(with).unwrap();
    let tag = hand.write(0, 9, 1, 9);
    hand.has_ended = false;
    hand.tell(Event::Suspend);
    hand.expect(&["1 flush"]);
    hand.expect(&["1 write 1+1 fua"]);
    assert!(!hand.has_ended);
    hand.expect(&["1 write 0+1 fua"]);
    hand.expect(&["0 write 9+1"]);
    assert!(hand.has_ended && hand.answered(tag).is_some());
}

/// Who loses patience stops it while it starts.
#[test]
fn it_stops_while_it_starts() {
    let mut hand = killed(interrupted(), config(1));
    hand.tell(Event::Stop);
    hand.settle();
    assert!(hand.has_ended && !hand.has_started);
}
