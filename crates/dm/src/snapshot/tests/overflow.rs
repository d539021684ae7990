//! Stores that are full, or fail.

use block::Kind;
use block::sim::Disk;

use super::hand::{CHUNK, Hand, SIZE, config, first};
use crate::machine::Machine;
use crate::snapshot::{Notice, Overflow, SnapshotState, Stored};

/// Snapshots whose stores have room for three chunks, which are used: sectors 0 to 2.
fn full(overflow: Overflow) -> Hand {
    let mut config = config(1);
    for snapshot in config.snapshots.iter_mut().flatten() {
        (snapshot.store_size, snapshot.overflow) = (5 * CHUNK, overflow);
    }
    let mut hand = Hand::of(config);
    let tag = hand.write(0, 0, 3, 200);
    assert_eq!(hand.result(tag), None);
    hand
}

fn state(hand: &Hand) -> SnapshotState {
    hand.origin.status().snapshots[0]
        .expect("it is there")
        .state
}

/// The store says that it is invalid before the origin is overwritten, and the snapshot ends.
#[test]
fn a_full_store_is_marked_first() {
    let mut hand = full(Overflow::FailWrite);
    let tag = hand.write(0, 3, 1, 201);
    hand.expect(&["0 read 3+1"]);
    hand.expect(&["1 write 0+1 fua"]);
    assert_eq!(hand.stored(1, SIZE), Stored::Overflowed);
    hand.expect(&["0 write 3+1"]);
    assert_eq!(hand.result(tag), None);
    let [Notice::Invalid { id: 101, why }] = &hand.notices[..] else {
        panic!("{:?}", hand.notices);
    };
    assert_eq!(why, "its store is full");
    assert_eq!(state(&hand), SnapshotState::Invalid);
    for tag in [hand.read(1, 0, 1), hand.write(1, 0, 1, 1)] {
        assert_eq!(hand.result(tag), Some(Kind::Io));
    }
    hand.write(0, 9, 1, 202);
    hand.expect(&["0 write 9+1"]);
}

/// A write to the snapshot that finds its store full fails alone; with more room it goes on.
#[test]
fn a_write_without_room_fails_alone() {
    let mut hand = full(Overflow::FailWrite);
    let tag = hand.write(1, 3, 1, 5);
    assert_eq!(hand.result(tag), Some(Kind::NoSpace));
    assert_eq!(state(&hand), SnapshotState::Overflowed);
    let tag = hand.write(1, 2, 1, 6);
    assert_eq!(hand.result(tag), None, "what has a place can be written");
    let bytes = hand.bytes(1, SIZE);
    assert_eq!(
        [bytes[0], bytes[2 * 512], bytes[3 * 512]],
        [first(0), 6, first(3)]
    );
    let mut larger = hand.origin.config();
    larger.snapshots[0].as_mut().unwrap().store_size = 6 * CHUNK;
    hand.disks[1] = super::hand::resized(&hand.disks[1], 6 * CHUNK);
    hand.reload(larger).unwrap();
    assert_eq!(state(&hand), SnapshotState::Active);
    let tag = hand.write(1, 3, 1, 7);
    assert_eq!(hand.result(tag), None);
    assert!(hand.notices.is_empty());
}

/// Unless it is to end then.
#[test]
fn a_write_without_room_ends_the_snapshot() {
    let mut hand = full(Overflow::Invalidate);
    let tag = hand.write(1, 3, 1, 5);
    hand.expect(&["1 write 0+1 fua"]);
    assert_eq!(hand.result(tag), Some(Kind::Io));
    assert_eq!(state(&hand), SnapshotState::Invalid);
}

/// Also where it waits for other chunks that are on their way. The explorer found it (merge, 25).
#[test]
fn a_write_without_room_ends_what_it_waits_for() {
    let mut hand = full(Overflow::Invalidate);
    let origin = hand.write(0, 4, 1, 6);
    let write = hand.write(1, 3, 2, 5);
    assert_eq!(hand.result(write), Some(Kind::Io));
    assert_eq!(hand.result(origin), None);
    assert_eq!(state(&hand), SnapshotState::Invalid);
}

/// A write to the origin that waits for what a snapshot was about to write overflows it too.
#[test]
fn the_origin_does_not_wait_for_room() {
    let mut config = config(1);
    let snapshot = config.snapshots[0].as_mut().unwrap();
    (snapshot.chunk, snapshot.store_size) = (2 * CHUNK, 4 * CHUNK);
    let mut hand = Hand::of(config);
    let write = hand.write(1, 8, 1, 5);
    let origin = hand.write(0, 9, 1, 6);
    hand.expect(&["0 read 8+2"]);
    hand.expect(&["1 write 0+2 fua"]);
    hand.expect(&["0 write 9+1"]);
    assert_eq!(
        (hand.result(write), hand.result(origin)),
        (Some(Kind::Io), None)
    );
}

/// A store that fails, at whatever step, ends its snapshot before the origin is written.
#[test]
fn a_failing_store_is_marked() {
    for steps in 0..5 {
        let mut hand = Hand::new(1);
        let tag = hand.write(0, 5, 1, 201);
        hand.answer_to("0 read 5+1");
        for _ in 0..steps {
            hand.answer(0);
        }
        hand.fail(0, Kind::Io);
        hand.expect(&["1 write 0+1 fua"]);
        assert_eq!(hand.stored(1, SIZE), Stored::Overflowed);
        hand.expect(&["0 write 5+1"]);
        assert_eq!(hand.result(tag), None);
        assert_eq!(hand.notices.len(), 1);
    }
}

/// A store that cannot be marked keeps the origin from being overwritten, until it can be.
#[test]
fn an_unmarked_store_holds_the_origin() {
    let mut hand = full(Overflow::FailWrite);
    for _ in 0..2 {
        let tag = hand.write(0, 3, 1, 201);
        while hand.words() != ["1 write 0+1 fua"] {
            hand.answer(0);
        }
        hand.fail(0, Kind::Io);
        assert!(hand.asked.is_empty());
        assert_eq!(hand.result(tag), Some(Kind::Io));
        assert_eq!(state(&hand), SnapshotState::Failed);
        assert_eq!(hand.notices.len(), 1, "it is told once");
    }
    let tag = hand.read(1, 0, 1);
    assert_eq!(hand.result(tag), Some(Kind::Io));
    hand.write(0, 1, 1, 202);
    hand.expect(&["0 write 1+1"]);
    let tag = hand.write(0, 3, 1, 203);
    hand.expect(&["1 write 0+1 fua"]);
    hand.expect(&["0 write 3+1"]);
    assert_eq!(hand.result(tag), None);
    assert_eq!(state(&hand), SnapshotState::Invalid);
}

/// A store that is gone does not.
#[test]
fn a_store_that_is_gone_is_let_go() {
    let mut hand = full(Overflow::FailWrite);
    let tag = hand.write(0, 3, 1, 201);
    hand.expect(&["0 read 3+1"]);
    hand.fail_to("1 write 0+1 fua", Kind::Gone);
    hand.expect(&["0 write 3+1"]);
    assert_eq!(hand.result(tag), None);
    assert_eq!(state(&hand), SnapshotState::Invalid);
}

/// What a snapshot reads from the origin while it ends is not believed.
#[test]
fn reads_of_what_ends_fail() {
    let mut hand = full(Overflow::FailWrite);
    let read = hand.read(1, 3, 1);
    let write = hand.write(0, 3, 1, 201);
    hand.asked.rotate_left(1);
    hand.answer_to("0 read 3+1");
    hand.answer_to("1 write 0+1 fua");
    hand.answer_to("0 read 3+1");
    hand.settle();
    assert_eq!(
        (hand.result(read), hand.result(write)),
        (Some(Kind::Io), None)
    );
}

/// The last chunk of an area needs another area behind it.
#[test]
fn the_last_entry_needs_an_area() {
    let mut config = config(1);
    config.snapshots[0].as_mut().unwrap().store_size = 34 * CHUNK;
    let mut hand = Hand::of(config);
    let tag = hand.write(1, 0, 31, 9);
    assert_eq!(hand.result(tag), None);
    let tag = hand.write(1, 40, 1, 9);
    assert_eq!(hand.result(tag), Some(Kind::NoSpace));
    assert_eq!(hand.changes(1).entries.len(), 1);
}

/// A store that is full to its last chunk is opened again, though what would follow is an area that
/// it does not have.
#[test]
fn a_store_may_be_full_to_its_last_chunk() {
    let with = |stored| {
        let mut config = config(1);
        let snapshot = config.snapshots[0].as_mut().unwrap();
        (snapshot.store_size, snapshot.stored) = (34 * CHUNK, stored);
        config
    };
    let again = |hand: &Hand| {
        let images = hand.disks.iter().map(Disk::durable).collect();
        Hand::on(with(hand.stored(1, SIZE)), images)
    };
    let mut hand = Hand::of(with(Stored::Fresh));
    hand.write(1, 60, 1, 7);
    hand.write(1, 61, 1, 8);
    hand.answer_to("1 write 3+1");
    for words in [
        "1 write 1+1 fua",
        "1 write 0+1 fua",
        "1 flush",
        "1 write 1+1 fua",
    ] {
        hand.answer_to(words);
    }
    // The power goes, so chunk 2 is never used.
    let mut hand = again(&hand);
    let tag = hand.write(0, 0, 30, 9);
    assert_eq!(hand.result(tag), None);
    assert_eq!(hand.changes(1).next_free, 35);
    let mut hand = again(&hand);
    let bytes = hand.bytes(1, SIZE);
    assert!((0..60).all(|sector| bytes[sector as usize * 512] == first(sector)));
    assert_eq!(bytes[61 * 512], 8);
    let tag = hand.write(1, 40, 1, 9);
    assert_eq!(hand.result(tag), Some(Kind::NoSpace));
}

/// It is told once that a store fills, and again when there is another limit.
#[test]
fn filling_is_told_once() {
    let mut config = config(1);
    config.snapshots[0].as_mut().unwrap().notify_at = Some(4 * CHUNK);
    let mut hand = Hand::of(config);
    hand.write(0, 0, 1, 9);
    hand.settle();
    assert!(hand.notices.is_empty());
    hand.write(0, 1, 3, 9);
    hand.settle();
    hand.write(0, 9, 1, 9);
    hand.settle();
    assert_eq!(hand.notices, [Notice::Filled { id: 101 }]);
    let mut later = hand.origin.config();
    later.snapshots[0].as_mut().unwrap().notify_at = Some(7 * CHUNK);
    hand.reload(later).unwrap();
    assert_eq!(hand.notices.len(), 2, "so much is used already");
    let status = hand.origin.status().snapshots[0].unwrap();
    assert_eq!((status.used, status.metadata), (7 * CHUNK, 2 * CHUNK));
    assert_eq!((status.size, status.exceptions), (80 * CHUNK, 5));
}

/// A write of which several parts need room may find that there is none for the first of them.
#[test]
fn a_write_without_room_waits_for_nothing() {
    for overflow in [Overflow::FailWrite, Overflow::Invalidate] {
        let mut config = config(1);
        let snapshot = config.snapshots[0].as_mut().unwrap();
        (snapshot.store_size, snapshot.overflow) = (4 * CHUNK, overflow);
        let mut hand = Hand::of(config);
        let pending = hand.write(1, 5, 1, 9);
        let tag = hand.write(1, 2, 6, 9);
        assert!(hand.result(tag).is_some());
        let is_valid = overflow == Overflow::FailWrite;
        assert_eq!(hand.result(pending).is_none(), is_valid);
        assert_eq!(state(&hand) == SnapshotState::Overflowed, is_valid);
    }
}
