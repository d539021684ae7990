//! What is written of an array of md's is read as it was meant, by us as a disk's superblock.

use std::time::Duration;

use super::{Claim, Kept, KeptLeg, KeptSuperblock, SECTOR};
use crate::raid::assembly::{Bits, Described, LegFound};
use crate::raid::geometry::{Geometry, Scheme};
use crate::raid::keeping::{Activity, Said};
use crate::raid::md::superblock1::Features;
use crate::raid::md::{ByteOrder, Descriptor, Place, Role, Superblock1, Superblock090};
use crate::raid::rotation::{Parity, Rotation};
use crate::raid::superblock::{Position, Superblock};

const DEVICE: u64 = 4 << 20;
const REGION: u64 = 64 << 10;
const LEGS: usize = 3;

fn described() -> Described {
    let scheme = Scheme::Parity(Parity::One, Rotation::LeftSymmetric);
    let geometry = Geometry::new(scheme, LEGS, 4096, 1 << 20).expect("an array");
    Described::new(geometry, REGION)
}

fn new(number: u32) -> KeptSuperblock {
    KeptSuperblock::New(Box::new(Superblock1 {
        place: Place::SecondBlock,
        features: Features::default(),
        uuid: [9; 16],
        name: [0; 32],
        created: 1,
        level: 5,
        layout: 2,
        size: 2048,
        chunk_sectors: 8,
        device_count: LEGS as u32,
        bitmap_offset: 8,
        new_level: 0,
        reshape_position: 0,
        delta_disks: 0,
        new_layout: 0,
        new_chunk_sectors: 0,
        new_offset: 0,
        data_offset: 2048,
        data_size: 2048,
        super_offset: 8,
        recovery_offset: 0,
        number,
        corrected_reads: 0,
        device_uuid: [number as u8; 16],
        flags: 0,
        bad_blocks_shift: 0,
        bad_blocks_sectors: 0,
        bad_blocks_offset: 0,
        updated: 1,
        events: 7,
        resync_offset: u64::MAX,
        logical_block: 0,
        roles: vec![0, 1, 2],
    }))
}

fn old(number: u32) -> KeptSuperblock {
    let state = Descriptor::ACTIVE | Descriptor::SYNC;
    let leg = |number: u32, state: u32| Descriptor {
        number,
        major: 8,
        minor: number,
        leg: number,
        state,
    };
    let mut descriptors = [Descriptor::default(); Superblock090::DESCRIPTORS];
    for (number, one) in descriptors.iter_mut().enumerate().take(LEGS) {
        *one = leg(number as u32, state);
    }
    KeptSuperblock::Old(Box::new(Superblock090 {
        order: ByteOrder::Little,
        minor_version: 90,
        patch_version: 3,
        uuid: [9; 4],
        created: 1,
        level: 5,
        size_kib: 1024,
        nr_disks: 3,
        device_count: 3,
        md_minor: 0,
        updated: 1,
        state: 1,
        counts: [3, 3, 0, 0],
        events: 7,
        checkpoint_events: 0,
        checkpoint: 0,
        reshape_position: 0,
        new_level: 0,
        delta_disks: 0,
        new_layout: 0,
        new_chunk: 0,
        layout: 2,
        chunk: 4096,
        this: leg(number, if number < 3 { state } else { 0 }),
        descriptors,
    }))
}

/// An array whose legs have these numbers; `None`: it is missing.
fn kept(of: fn(u32) -> KeptSuperblock, numbers: [Option<u32>; LEGS]) -> Kept {
    let legs = numbers.into_iter().map(|number| {
        let superblock = of(number?);
        Some(KeptLeg {
            device: DEVICE,
            superblock,
        })
    });
    Kept {
        legs: legs.collect(),
        freshest: of(0),
        bitmap: None,
        opened: 1_700_000_000,
    }
}

fn said(failed: &[usize]) -> Superblock {
    let (level, layout) = described().geometry.scheme().md();
    Superblock {
        device_count: LEGS as u32,
        array_position: 0,
        events: 8,
        failed: failed.iter().copied().collect(),
        disk_recovery_offset: Position::End,
        array_resync_offset: Position::End,
        level,
        layout,
        stripe_sectors: 8,
        extended: None,
    }
}

/// What a leg holds after this was said.
fn written(
    kept: &Kept,
    leg: usize,
    (superblock, recovered): (&Superblock, [Position; LEGS]),
    activity: Activity,
) -> Vec<u8> {
    let said = Said {
        superblock,
        recovered: &recovered,
        activity,
        now: Duration::from_secs(5),
    };
    kept.superblock(leg, &said)
}

fn claim(kept: &Kept, leg: usize, bytes: &[u8]) -> Claim {
    let place = kept.freshest.place();
    let read = KeptSuperblock::decode(bytes, place, DEVICE).expect("it is right");
    assert!(kept.legs[leg].is_some(), "it is there");
    read.expect("a superblock").claim(DEVICE)
}

const WHOLE: [Position; LEGS] = [Position::End; LEGS];

/// An array that is being written is not in sync for whoever finds it, and one that rests is.
#[test]
fn who_writes_says_so() {
    for of in [new, old] {
        let kept = kept(of, [Some(0), Some(1), Some(2)]);
        let superblock = said(&[]);
        for leg in 0..LEGS {
            let bytes = written(&kept, leg, (&superblock, WHOLE), Activity::Written);
            let busy = claim(&kept, leg, &bytes);
            assert_eq!(busy.resync, Position::Sector(0));
            assert_eq!((busy.events, busy.updated), (8, 1_700_000_005));
            let found = kept.found(leg, &described(), &bytes);
            let LegFound::Holds(read, Bits::Bitmap(bitmap)) = found else {
                panic!("{found:?}");
            };
            assert_eq!(
                *read,
                Superblock {
                    array_position: leg as u32,
                    ..superblock.clone()
                }
            );
            assert_eq!(bitmap.dirty.count(), bitmap.dirty.regions());
            let bytes = written(&kept, leg, (&superblock, WHOLE), Activity::Resting);
            assert_eq!(claim(&kept, leg, &bytes).resync, Position::End);
            let found = kept.found(leg, &described(), &bytes);
            assert!(matches!(found, LegFound::Holds(_, Bits::None)), "{found:?}");
        }
    }
}

/// What is in doubt when an array is stopped is brought in sync by whoever starts it, from there.
#[test]
fn what_is_in_doubt_is_said() {
    for of in [new, old] {
        let kept = kept(of, [Some(0), Some(1), Some(2)]);
        let superblock = Superblock {
            array_resync_offset: Position::Sector(3 * REGION / SECTOR),
            ..said(&[])
        };
        let bytes = written(&kept, 0, (&superblock, WHOLE), Activity::Resting);
        let found = kept.found(0, &described(), &bytes);
        let LegFound::Holds(_, Bits::Bitmap(bitmap)) = found else {
            panic!("{found:?}");
        };
        assert_eq!(bitmap.dirty.next(0), Some(3));
        assert_eq!(bitmap.dirty.count(), bitmap.dirty.regions() - 3);
    }
}

/// A leg that failed, and one that is missing, have no number; but before that is said they do.
#[test]
fn lost_legs_have_no_number() {
    for of in [new, old] {
        for (numbers, failed) in [
            ([Some(0), Some(1), Some(2)], vec![1]),
            ([Some(0), None, Some(2)], vec![1]),
            ([Some(0), None, Some(2)], vec![]),
        ] {
            let kept = kept(of, numbers);
            let bytes = written(&kept, 0, (&said(&failed), WHOLE), Activity::Written);
            let read = claim(&kept, 0, &bytes);
            assert_eq!(read.knows_leg(1), failed.is_empty());
            assert!(read.knows_leg(0) && read.knows_leg(2));
            assert_eq!(read.role(), Role::Leg(0));
        }
    }
}

/// A leg that is filled is one, as far as it is; in the old format a spare, until it holds all.
#[test]
fn a_leg_that_is_filled_is_recorded() {
    let so_far = [Position::End, Position::Sector(128), Position::End];
    for (of, number) in [(new as fn(u32) -> KeptSuperblock, 3), (old, 4)] {
        let kept = kept(of, [Some(0), Some(number), Some(2)]);
        let bytes = written(&kept, 1, (&said(&[]), so_far), Activity::Resting);
        let read = claim(&kept, 1, &bytes);
        if read.place == Place::EndOld {
            assert_eq!((read.role(), read.knows_leg(1)), (Role::Spare, false));
        } else {
            let expected = (Role::Leg(1), Some(Position::Sector(128)));
            assert_eq!((read.role(), read.recovery), expected);
        }
        let bytes = written(&kept, 1, (&said(&[]), WHOLE), Activity::Resting);
        let read = claim(&kept, 1, &bytes);
        assert_eq!((read.role(), read.recovery), (Role::Leg(1), None));
        let bytes = written(&kept, 0, (&said(&[]), WHOLE), Activity::Resting);
        assert!(claim(&kept, 0, &bytes).knows_leg(1));
    }
}

/// A disk that was exchanged meanwhile, or lost its superblock, is no leg.
#[test]
fn others_are_no_legs() {
    let kept = kept(new, [Some(0), Some(1), Some(2)]);
    let superblock = said(&[]);
    let other = written(&kept, 1, (&superblock, WHOLE), Activity::Resting);
    for bytes in [other, vec![0; 4096], vec![0; 512]] {
        let found = kept.found(0, &described(), &bytes);
        assert!(matches!(found, LegFound::Damaged(_)), "{found:?}");
    }
}
