//! Tests: what is believed of an array.

use dm::raid::{
    Bitmap, Bits, Described, Dirty, FailedDevices, Geometry, LegFound, Position, Scheme, Superblock,
};

use super::{ArrayFacts, judge};
use crate::arrays::Records;

const SIZE: u64 = 1 << 20;
const REGION: u64 = 64 << 10;

fn superblock(position: u32) -> Superblock {
    Superblock {
        device_count: 2,
        array_position: position,
        events: 7,
        failed: FailedDevices::default(),
        disk_recovery_offset: Position::End,
        array_resync_offset: Position::End,
        level: 1,
        layout: 0,
        stripe_sectors: 0,
        extended: None,
    }
}

/// An image with this superblock, and a bitmap with so many regions marked.
fn said(position: u32, marks: u64, change: impl Fn(&mut Superblock)) -> LegFound {
    let mut one = superblock(position);
    change(&mut one);
    let mut dirty = Dirty::clean(REGION, SIZE).expect("it can be");
    (0..marks).for_each(|region| dirty.set(region));
    let bitmap = Bitmap::new(SIZE, one.events, dirty);
    LegFound::Holds(Box::new(one), Bits::Bitmap(bitmap))
}

fn both(one: &LegFound, other: &LegFound) -> ArrayFacts {
    let geometry = Geometry::new(Scheme::Mirror, 2, 0, SIZE).expect("it can be");
    judge(&Records {
        described: Described::new(geometry, REGION),
        images: vec![one.clone(), other.clone()],
    })
}

#[test]
fn only_what_is_plain_is_believed() {
    // Proves: each sign that images may differ, and which of them leave the first one right.
    let (first, second) = (said(0, 0, |_| {}), said(1, 0, |_| {}));
    let (missing, blank, new) = (LegFound::Missing, LegFound::Blank, LegFound::New(None));
    assert_eq!(both(&first, &second), ArrayFacts::InSync);
    assert_eq!(both(&blank, &blank), ArrayFacts::Unused);
    assert_eq!(both(&blank, &second), ArrayFacts::InSyncBut(1));
    for absent in [&missing, &new] {
        assert_eq!(both(&first, absent), ArrayFacts::InSync);
        assert_eq!(both(absent, &second), ArrayFacts::InSync);
        assert_eq!(both(&blank, absent), ArrayFacts::FirstIsRight);
        assert_eq!(both(absent, &blank), ArrayFacts::Unknown);
        assert_eq!(both(absent, absent), ArrayFacts::Unknown);
    }
    let damaged = LegFound::Damaged("no sum".into());
    assert_eq!(both(&first, &damaged), ArrayFacts::InSyncBut(2));
    let resync = |one: &mut Superblock| one.array_resync_offset = Position::Sector(8);
    let under_way = (said(0, 0, resync), said(1, 0, resync));
    assert_eq!(both(&under_way.0, &under_way.1), ArrayFacts::FirstIsRight);
    let old = |one: &mut Superblock| one.events = 5;
    assert_eq!(both(&first, &said(1, 0, old)), ArrayFacts::InSyncBut(2));
    assert_eq!(both(&said(0, 0, old), &second), ArrayFacts::InSyncBut(1));
    let failed = |one: &mut Superblock| one.failed.insert(0);
    assert_eq!(both(&first, &said(1, 0, failed)), ArrayFacts::InSyncBut(1));
    assert_eq!(both(&said(0, 1, |_| {}), &second), ArrayFacts::FirstIsRight);
    assert_eq!(both(&first, &said(1, 1, |_| {})), ArrayFacts::Unknown);
    assert_eq!(both(&said(0, 1, |_| {}), &missing), ArrayFacts::InSync);
    assert_eq!(
        both(&said(0, 1, |_| {}), &said(1, 1, |_| {})),
        ArrayFacts::FirstIsRight
    );
    assert_eq!(both(&second, &first), ArrayFacts::Unknown);
    let other = |one: &mut Superblock| one.device_count = 3;
    // The newest contradict each other: such an array is not even read.
    assert_eq!(both(&first, &said(1, 0, other)), ArrayFacts::Unknown);
}
