//! Tests: what is believed of an array.

use dm::raid::{FailedDevices, Position, Superblock};

use super::{ArrayFacts, Said, judge};

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

fn said(position: u32, bits: u8, change: impl Fn(&mut Superblock)) -> Said {
    let mut one = superblock(position);
    change(&mut one);
    Said::Superblock(Box::new(one), vec![bits])
}

#[test]
fn only_what_is_plain_is_believed() {
    // Proves: each sign that images may differ, and which of them leave the first one right.
    let (first, second) = (said(0, 0, |_| {}), said(1, 0, |_| {}));
    let both = |one: &Said, other: &Said| judge(&[one.clone(), other.clone()]);
    assert_eq!(both(&first, &second), ArrayFacts::InSync);
    assert_eq!(both(&first, &Said::Nothing), ArrayFacts::InSync);
    assert_eq!(both(&Said::Nothing, &second), ArrayFacts::InSync);
    assert_eq!(both(&Said::Blank, &Said::Blank), ArrayFacts::Unused);
    assert_eq!(both(&Said::Blank, &second), ArrayFacts::Unknown);
    assert_eq!(both(&Said::Blank, &Said::Nothing), ArrayFacts::FirstIsRight);
    assert_eq!(both(&Said::Nothing, &Said::Blank), ArrayFacts::Unknown);
    assert_eq!(both(&Said::Nothing, &Said::Nothing), ArrayFacts::Unknown);
    assert_eq!(both(&first, &Said::Damaged), ArrayFacts::FirstIsRight);
    let resync = |one: &mut Superblock| one.array_resync_offset = Position::Sector(8);
    let under_way = [said(0, 0, resync), said(1, 0, resync)];
    assert_eq!(judge(&under_way), ArrayFacts::FirstIsRight);
    let old = |one: &mut Superblock| one.events = 5;
    assert_eq!(both(&first, &said(1, 0, old)), ArrayFacts::FirstIsRight);
    assert_eq!(both(&said(0, 0, old), &second), ArrayFacts::Unknown);
    let failed = |one: &mut Superblock| one.failed.insert(0);
    assert_eq!(both(&first, &said(1, 0, failed)), ArrayFacts::Unknown);
    assert_eq!(both(&said(0, 1, |_| {}), &second), ArrayFacts::FirstIsRight);
    assert_eq!(both(&first, &said(1, 1, |_| {})), ArrayFacts::Unknown);
    assert_eq!(both(&second, &first), ArrayFacts::Unknown);
}
