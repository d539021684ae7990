//! Origins that become others, and what is refused.

use block::Info;

use super::hand::{CHUNK, Hand, SIZE, config, first, resized, snapshot};
use crate::Kind;
use crate::machine::Machine;
use crate::snapshot::{Access, Origin, OriginConfig, SnapshotState};

/// A snapshot that is added shows the origin of that moment, and older ones go on as they were.
#[test]
fn snapshots_come_and_go() {
    let mut hand = Hand::new(1);
    let write = |hand: &mut Hand, byte| {
        let tag = hand.write(0, 5, 1, byte);
        assert_eq!(hand.result(tag), None);
    };
    write(&mut hand, 201);
    let fresh = Hand::new(1).disks.pop().expect("there is a store");
    hand.disks.push(fresh);
    let mut two = hand.origin.config();
    two.snapshots.push(Some(snapshot(2)));
    hand.reload(two.clone()).unwrap();
    write(&mut hand, 202);
    let seen = |hand: &mut Hand| [0, 1, 2].map(|face| hand.bytes(face, SIZE)[5 * 512]);
    assert_eq!(seen(&mut hand), [202, first(5), 201]);
    two.snapshots[0] = None;
    hand.reload(two).unwrap();
    let infos: Vec<Info> = hand.disks.iter().map(|disk| disk.info().clone()).collect();
    let faces = hand.origin.faces(&infos);
    let names = faces
        .iter()
        .map(|face| face.as_ref().map(|face| &face.info.name[..]));
    assert!(
        names.eq([Some("origin"), None, Some("snapshot2")]),
        "numbers stay"
    );
    hand.write(0, 6, 1, 203);
    hand.expect(&["0 read 6+1"]);
    assert!(
        hand.words().iter().all(|words| words.starts_with('2')),
        "nothing for the first one"
    );
    hand.settle();
    assert_eq!(hand.bytes(2, SIZE)[5 * 512], 201);
}

/// An origin may grow, and a snapshot does not with it.
#[test]
fn origins_grow() {
    let mut hand = Hand::new(1);
    let mut larger = hand.origin.config();
    larger.size = 2 * SIZE;
    hand.disks[0] = resized(&hand.disks[0], 2 * SIZE);
    hand.reload(larger).unwrap();
    hand.write(0, 70, 1, 9);
    hand.expect(&["0 write 70+1"]);
    let tag = hand.write(0, 60, 10, 9);
    assert_eq!(hand.result(tag), None);
    assert_eq!(hand.bytes(1, SIZE)[63 * 512], first(63));
    assert_eq!(hand.bytes(0, 2 * SIZE)[60 * 512..71 * 512], [9; 11 * 512]);
}

/// A store may shrink, but not below what is used of it.
#[test]
fn stores_shrink_to_what_is_used() {
    let mut hand = Hand::new(1);
    let tag = hand.write(0, 0, 4, 9);
    assert_eq!(hand.result(tag), None);
    let with = |hand: &Hand, chunks: u64| {
        let mut config = hand.origin.config();
        config.snapshots[0].as_mut().unwrap().store_size = chunks * CHUNK;
        config
    };
    let error = hand.reload(with(&hand, 5)).unwrap_err();
    assert_eq!(error.kind(), Kind::DeviceTooSmall);
    assert!(
        error
            .to_string()
            .contains("3072 bytes of its store are used"),
        "{error}"
    );
    hand.reload(with(&hand, 6)).unwrap();
    hand.write(0, 9, 1, 9);
    hand.settle();
    assert_eq!(hand.notices.len(), 1, "it is full");
}

fn legs(sizes: &[u64]) -> Vec<Info> {
    sizes.iter().map(|size| Info::new("leg", *size)).collect()
}

fn refusal(change: impl FnOnce(&mut OriginConfig, &mut Vec<Info>)) -> (Kind, String) {
    let mut config = config(2);
    let mut legs = legs(&[SIZE, 80 * CHUNK, 80 * CHUNK]);
    change(&mut config, &mut legs);
    let error = Origin::new(config, &legs).expect_err("is refused");
    (error.kind(), error.to_string())
}

/// What does not fit is refused by its name.
#[test]
fn what_does_not_fit_is_refused() {
    let first = |config: &mut OriginConfig| config.snapshots[0].take().unwrap();
    let (kind, what) = refusal(|config, _| config.size += 512);
    assert_eq!(kind, Kind::DeviceTooSmall, "{what}");
    let (kind, what) = refusal(|config, _| config.origin = 1);
    assert_eq!(kind, Kind::InvalidLayout, "{what}");
    let (kind, what) = refusal(|config, _| {
        let mut snapshot = first(config);
        snapshot.chunk = 768;
        config.snapshots[0] = Some(snapshot);
    });
    assert_eq!(kind, Kind::InvalidLayout, "{what}");
    assert!(what.contains("snapshot1") && what.contains("768"), "{what}");
    let (kind, what) = refusal(|_, legs| legs[2].logical_block = 4096);
    assert_eq!(kind, Kind::Misaligned);
    assert!(
        what.contains("snapshot2") && what.contains("4096"),
        "{what}"
    );
    let (kind, what) = refusal(|config, _| {
        for snapshot in config.snapshots.iter_mut().flatten() {
            snapshot.merging = true;
        }
    });
    assert_eq!(kind, Kind::InvalidLayout, "{what}");
    let (kind, what) = refusal(|_, legs| legs[1].read_only = true);
    assert_eq!(kind, Kind::Device, "{what}");
    let (kind, what) = refusal(|config, _| config.snapshots[1].as_mut().unwrap().id = 101);
    assert_eq!(kind, Kind::InvalidLayout, "{what}");
    let (kind, what) = refusal(|config, _| {
        let mut snapshot = first(config);
        snapshot.size += 512;
        config.snapshots[0] = Some(snapshot);
    });
    assert_eq!(kind, Kind::InvalidLayout, "{what}");
}

/// What can only be read may be on what can only be read.
#[test]
fn readers_need_no_writable_legs() {
    let mut config = config(1);
    config.access = Access::ReadOnly;
    config.snapshots[0].as_mut().unwrap().access = Access::ReadOnly;
    let mut legs = legs(&[SIZE, 80 * CHUNK]);
    for leg in &mut legs {
        leg.read_only = true;
    }
    let origin = Origin::new(config, &legs).unwrap();
    assert!(
        origin
            .faces(&legs)
            .iter()
            .flatten()
            .all(|face| face.info.read_only)
    );
}

/// A snapshot stays what and where it is.
#[test]
fn what_changes_a_snapshot_is_refused() {
    let hand = Hand::new(2);
    let infos: Vec<Info> = hand.disks.iter().map(|disk| disk.info().clone()).collect();
    let mut moved = hand.origin.config();
    moved.snapshots.swap(0, 1);
    assert_eq!(
        hand.origin.foresee(&moved, &infos).unwrap_err().kind(),
        Kind::InvalidLayout
    );
    let mut cut = hand.origin.config();
    cut.snapshots[0].as_mut().unwrap().size -= 512;
    assert_eq!(
        hand.origin.foresee(&cut, &infos).unwrap_err().kind(),
        Kind::InvalidLayout
    );
    let mut merging = hand.origin.config();
    merging.snapshots[0].as_mut().unwrap().merging = true;
    let faces = hand.origin.foresee(&merging, &infos).unwrap();
    assert!(faces[0].is_some() && faces[1].is_none() && faces[2].is_some());
    assert_eq!(faces[0].as_ref().unwrap().extents_of_leg, None);
    let mut hand = hand;
    hand.reload(merging.clone()).unwrap();
    merging.snapshots[0].as_mut().unwrap().merging = false;
    assert_eq!(
        hand.origin.foresee(&merging, &infos).unwrap_err().kind(),
        Kind::Busy
    );
}

/// What was foreseen may not be so any more when it comes about.
#[test]
fn what_was_foreseen_may_be_late() {
    let mut hand = Hand::new(2);
    let infos: Vec<Info> = hand.disks.iter().map(|disk| disk.info().clone()).collect();
    let mut config = hand.origin.config();
    config.snapshots[0].as_mut().unwrap().store_size = 6 * CHUNK;
    config.snapshots[1].as_mut().unwrap().merging = true;
    hand.origin.foresee(&config, &infos).unwrap();
    hand.write(0, 0, 8, 9);
    hand.answer_to("0 read 0+8");
    hand.fail_to("2 write 2+8", block::Kind::Io);
    hand.settle();
    assert_eq!(hand.notices.len(), 1, "the second one is invalid");
    hand.become_of(config);
    hand.expect(&["1 write 0+1 fua"]);
    assert_eq!(
        hand.notices.len(),
        2,
        "the first one is too small for what it holds"
    );
    let status = hand.origin.status();
    let states = status
        .snapshots
        .iter()
        .flatten()
        .map(|snapshot| snapshot.state);
    assert!(states.eq([SnapshotState::Invalid; 2]), "{status:?}");
    let tag = hand.write(0, 20, 8, 9);
    assert_eq!(hand.result(tag), None);
    assert_eq!(hand.bytes(0, SIZE)[..512], [9; 512]);
}
