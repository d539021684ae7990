//! The order of steps of writes to an origin and to its snapshots.

use block::{Kind, Range};

use super::hand::{CHUNK, Hand, SIZE, config, first};
use super::is_frayed;
use crate::snapshot::{EntryRun, Stored, read_store};

fn entry(new: u64, old: u64, count: u64) -> EntryRun {
    EntryRun { new, old, count }
}

/// Brings a fresh store into use: sector 63 of the origin is kept at chunk 2.
fn begun(snapshots: usize) -> Hand {
    let mut hand = Hand::new(snapshots);
    let tag = hand.write(0, 63, 1, 255);
    assert_eq!(hand.result(tag), None);
    hand
}

/// A fresh store: copy, then zeros for the first area, the header, a flush for the copy, the
/// entry, and only then the origin.
#[test]
fn a_fresh_store_is_begun_in_order() {
    let mut hand = Hand::new(1);
    let tag = hand.write(0, 5, 1, 200);
    hand.expect(&["0 read 5+1"]);
    hand.expect(&["1 write 2+1"]);
    hand.expect(&["1 write 1+1 fua"]);
    assert_eq!(
        hand.stored(1, SIZE),
        Stored::Fresh,
        "until the area is zeroed"
    );
    hand.expect(&["1 write 0+1 fua"]);
    assert_eq!(hand.changes(1).entries, [], "then it is an empty one");
    hand.expect(&["1 flush"]);
    hand.expect(&["1 write 1+1 fua"]);
    assert_eq!(hand.changes(1).entries, [entry(2, 5, 1)]);
    assert!(
        hand.answered(tag).is_none(),
        "it is kept before it is overwritten"
    );
    hand.expect(&["0 write 5+1"]);
    assert!(hand.answered(tag).is_some_and(|answer| answer.is_ok()));
    let tag = hand.write(0, 5, 1, 201);
    hand.expect(&["0 write 5+1"]);
    assert!(hand.answered(tag).is_some(), "it is kept once");
    assert_eq!(hand.bytes(1, SIZE)[5 * 512], first(5));
    assert_eq!(hand.bytes(0, SIZE)[5 * 512], 201);
}

/// Copies that are done when no round runs go into one: a flush and a write for all of them.
#[test]
fn first_writes_share_a_round() {
    let mut hand = begun(1);
    for sector in [40, 20, 30, 0] {
        hand.write(0, sector, 1, 7);
    }
    hand.expect(&["0 read 40+1", "0 read 20+1", "0 read 30+1", "0 read 0+1"]);
    assert_eq!(
        hand.words(),
        ["1 write 3+1", "1 write 4+1", "1 write 5+1", "1 write 6+1"]
    );
    hand.answer_to("1 write 3+1");
    assert_eq!(
        hand.words()[3..],
        ["1 flush"],
        "the first one does not wait"
    );
    hand.answer_to("1 write 6+1");
    hand.answer_to("1 write 4+1");
    hand.answer_to("1 flush");
    hand.answer_to("1 write 5+1");
    hand.expect(&["1 write 1+1 fua"]);
    assert_eq!(hand.words(), ["0 write 40+1", "1 flush"]);
    hand.answer_to("1 flush");
    hand.answer_to("1 write 1+1 fua");
    assert_eq!(
        hand.words()[1..],
        ["0 write 20+1", "0 write 30+1", "0 write 0+1"]
    );
    hand.settle();
    let entries = hand.changes(1).entries;
    let wanted = [
        entry(2, 63, 1),
        entry(3, 40, 1),
        entry(4, 20, 1),
        entry(5, 30, 1),
    ];
    assert_eq!(entries, [&wanted[..], &[entry(6, 0, 1)]].concat());
    assert_eq!(hand.done.len(), 4);
}

/// What several snapshots need of the origin is read once.
#[test]
fn the_origin_is_read_once() {
    let mut hand = begun(3);
    hand.write(0, 4, 2, 9);
    hand.expect(&["0 read 4+2"]);
    hand.expect(&["1 write 3+2", "2 write 3+2", "3 write 3+2"]);
    for leg in 1..=3 {
        let is_overwritten = hand.words().contains(&"0 write 4+2".to_owned());
        assert!(!is_overwritten, "the last one is waited for");
        hand.answer_to(&format!("{leg} flush"));
        hand.answer_to(&format!("{leg} write 1+1 fua"));
    }
    hand.expect(&["0 write 4+2"]);
    assert_eq!(hand.done.len(), 1);
}

/// A write of whole chunks to a snapshot needs no copy: its bytes become the exception.
#[test]
fn whole_chunks_are_not_copied() {
    let mut hand = begun(1);
    let tag = hand.write(1, 7, 2, 33);
    hand.expect(&["1 write 3+2"]);
    hand.expect(&["1 flush"]);
    hand.expect(&["1 write 1+1 fua"]);
    assert!(hand.answered(tag).is_some(), "that was all");
    assert_eq!(hand.changes(1).entries, [entry(2, 63, 1), entry(3, 7, 2)]);
    let tag = hand.write(1, 8, 1, 34);
    hand.expect(&["1 write 4+1"]);
    assert!(hand.answered(tag).is_some(), "it has a place");
    let tag = hand.zero(1, 9, 1);
    hand.expect(&["1 write 5+1"]);
    assert_eq!(hand.result(tag), None);
    let bytes = hand.bytes(1, SIZE);
    let seen: Vec<u8> = (6..11).map(|sector| bytes[sector * 512]).collect();
    assert_eq!(seen, [first(6), 33, 34, 0, first(10)]);
    assert_eq!(hand.bytes(0, SIZE)[7 * 512], first(7));
}

/// A write of a part of a chunk to a snapshot copies the chunk first; the whole ones beside it are
/// not copied, and the last chunk of the snapshot is whole without the bytes behind its end.
#[test]
fn parts_of_chunks_are_copied() {
    let mut config = config(1);
    config.snapshots[0].as_mut().unwrap().chunk = 4 * CHUNK;
    config.snapshots[0].as_mut().unwrap().size = SIZE - CHUNK;
    let mut hand = Hand::of(config);
    let tag = hand.write(1, 6, 7, 44);
    // Chunk 1 and 3 in part, chunk 2 as a whole.
    assert_eq!(hand.words(), ["1 write 8+4", "0 read 4+4", "0 read 12+4"]);
    assert_eq!(hand.result(tag), None);
    let bytes = hand.bytes(1, SIZE - CHUNK);
    let wanted = |sector: u64| {
        if (6..13).contains(&sector) {
            44
        } else {
            first(sector)
        }
    };
    assert!((0..63).all(|sector| bytes[sector as usize * 512] == wanted(sector)));
    hand.write(1, 60, 3, 55);
    assert_eq!(hand.words(), ["1 write 20+3"], "without a copy");
    hand.settle();
    hand.write(0, 63, 1, 1);
    assert_eq!(
        hand.words(),
        ["0 write 63+1"],
        "behind the snapshot's end nothing is kept"
    );
    hand.settle();
    assert_eq!(hand.bytes(1, SIZE - CHUNK)[60 * 512..], [55; 3 * 512]);
}

/// What a snapshot reads from the origin is not overwritten before it is read.
#[test]
fn reads_are_waited_for() {
    let mut hand = begun(1);
    let read = hand.read(1, 5, 2);
    let write = hand.write(0, 5, 1, 77);
    hand.answer_to("0 read 5+1");
    hand.answer_to("1 write 3+1");
    let later = hand.read(1, 4, 2);
    hand.answer_to("1 flush");
    hand.answer_to("1 write 1+1 fua");
    assert_eq!(
        hand.words(),
        ["0 read 5+2", "0 read 4+2"],
        "both began before"
    );
    let last = hand.read(1, 5, 1);
    hand.answer_to("1 read 3+1");
    hand.answer_to("0 read 5+2");
    assert_eq!(hand.words(), ["0 read 4+2"]);
    hand.answer_to("0 read 4+2");
    hand.expect(&["0 write 5+1"]);
    assert!(hand.answered(write).is_some());
    for (tag, at) in [(read, 0), (later, 512), (last, 0)] {
        let bytes = hand
            .answered(tag)
            .expect("it is answered")
            .expect("it is read");
        assert_eq!(bytes[at], first(5));
    }
}

/// Writes to the same chunk wait for the same copy, whichever face they ask.
#[test]
fn a_chunk_is_copied_once_at_a_time() {
    let mut hand = begun(1);
    let first_write = hand.write(0, 5, 1, 1);
    let second = hand.write(0, 5, 1, 2);
    let third = hand.write(1, 5, 1, 3);
    hand.expect(&["0 read 5+1"]);
    hand.expect(&["1 write 3+1"]);
    hand.expect(&["1 flush"]);
    hand.expect(&["1 write 1+1 fua"]);
    hand.expect(&["0 write 5+1", "0 write 5+1", "1 write 3+1"]);
    for tag in [first_write, second, third] {
        assert_eq!(hand.result(tag), None);
    }
    assert_eq!(hand.bytes(1, SIZE)[5 * 512], 3);
    assert_eq!(hand.changes(1).entries.len(), 2);
}

/// An area is filled: the next one is zeroed, and flushed with the copies, before that is written.
#[test]
fn the_next_area_is_zeroed_first() {
    let mut hand = begun(1);
    hand.origin.limits.piece = 64 * CHUNK;
    hand.write(0, 0, 30, 9);
    hand.settle();
    assert_eq!(hand.changes(1).entries, [entry(2, 63, 1), entry(3, 0, 30)]);
    let tag = hand.write(0, 40, 4, 9);
    hand.expect(&["0 read 40+4"]);
    hand.expect(&["1 write 33+1", "1 write 35+3"]);
    hand.expect(&["1 write 34+1"]);
    hand.expect(&["1 flush"]);
    hand.expect(&["1 write 1+1 fua"]);
    assert_eq!(
        hand.changes(1).next_free,
        35,
        "34 is an area without entries"
    );
    hand.expect(&["1 flush"]);
    hand.expect(&["1 write 34+1 fua"]);
    hand.expect(&["0 write 40+4"]);
    assert_eq!(hand.result(tag), None);
    let last = [entry(33, 40, 1), entry(35, 41, 3)];
    assert_eq!(hand.changes(1).entries[2..], last);
}

/// An origin that cannot be read is not overwritten, and its snapshot stays what it is.
#[test]
fn unreadable_chunks_are_not_overwritten() {
    let mut hand = begun(2);
    let tag = hand.write(0, 5, 1, 1);
    hand.fail_to("0 read 5+1", Kind::Io);
    assert!(hand.asked.is_empty());
    assert_eq!(hand.result(tag), Some(Kind::Io));
    assert!(hand.notices.is_empty());
    let tag = hand.write(0, 5, 1, 2);
    assert_eq!(hand.result(tag), None, "it can be read again");
    assert_eq!(hand.bytes(1, SIZE)[5 * 512], first(5));
}

/// Long zeros are written in pieces where they need copies, and as a whole where they do not.
#[test]
fn long_writes_are_cut() {
    let mut hand = begun(1);
    hand.origin.limits.piece = 8 * CHUNK;
    let tag = hand.zero(0, 4, 20);
    let mut zeros = Vec::new();
    while !hand.asked.is_empty() {
        zeros.extend(
            hand.words()
                .into_iter()
                .filter(|words| words.starts_with("0 zero")),
        );
        hand.answer(0);
    }
    assert_eq!(zeros, ["0 zero 4+4", "0 zero 8+8", "0 zero 16+8"]);
    assert_eq!(hand.result(tag), None);
    hand.zero(0, 4, 20);
    hand.expect(&["0 zero 4+20"]);
}

/// What a torn write left behind the entries is gone before another entry is there: it could become
/// one with the next torn write.
#[test]
fn frayed_areas_are_mended() {
    let hand = begun(1);
    let mut image = hand.disks[1].content().clone();
    image.write(CHUNK + 20 * 16, &[7; 32]);
    let mut config = config(1);
    let images = vec![hand.disks[0].content().clone(), image];
    let read = |range| Ok(images[1].bytes(range));
    let stored = read_store("store", (images[1].size(), SIZE), read).unwrap();
    config.snapshots[0].as_mut().unwrap().stored = stored;
    let hand = Hand::on(config, images);
    assert_eq!(hand.changes(1).entries, [entry(2, 63, 1)]);
    let store = hand.disks[1].content();
    let bytes = store.bytes(Range::new(0, store.size()));
    assert!(!is_frayed(&bytes, &hand.changes(1)));
}

/// Copies that would take too much memory wait for others.
#[test]
fn copies_wait_for_memory() {
    let mut hand = begun(1);
    hand.origin.limits.copied = 2 * CHUNK;
    for sector in [10, 20, 30, 40] {
        hand.write(0, sector, 1, 9);
    }
    assert_eq!(hand.words(), ["0 read 10+1", "0 read 20+1"]);
    hand.answer_to("0 read 10+1");
    hand.answer_to("1 write 3+1");
    assert_eq!(hand.words(), ["0 read 20+1", "0 read 30+1", "1 flush"]);
    hand.settle();
    assert_eq!(hand.done.len(), 4);
}
