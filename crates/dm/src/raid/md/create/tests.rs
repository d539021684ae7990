//! New arrays of each level and format, as they are found again.

use block::Range;
use proptest::prelude::{any, prop_assert, proptest};

use super::{EVENTS, NewArray, NewBitmap, UNIT};
use crate::raid::bitmap::Bitmap;
use crate::raid::config::FirstSync;
use crate::raid::md::{Array, Layout, Place, Readiness, Shape, Verdict, find, judge};
use crate::raid::superblock::Position;

const MIB: u64 = 1 << 20;
const PLACES: [Place; 4] = [Place::Start, Place::SecondBlock, Place::End, Place::EndOld];

fn new(level: i32, layout: Option<u32>, place: Place) -> NewArray {
    NewArray {
        place,
        uuid: *b"an array of ours",
        name: match place {
            Place::EndOld => String::new(),
            _ => "host:new".into(),
        },
        created: 1_800_000_000,
        shape: Shape {
            level,
            layout,
            chunk: if matches!(level, 1 | -1) { 0 } else { 64 << 10 },
        },
        legs: 4,
        first: FirstSync::Due,
        bitmap: match level {
            0 | -1 => NewBitmap::None,
            _ => NewBitmap::Internal(None),
        },
    }
}

/// The devices, as they are after it was written to them.
fn written(array: &NewArray, sizes: &[u64]) -> crate::Result<(Vec<Vec<u8>>, u64)> {
    let mut number = 0;
    let made = array.format(sizes, || {
        number += 1;
        [number; 16]
    })?;
    let disks = sizes.iter().zip(&made.devices).map(|(size, writes)| {
        let mut disk = vec![0xa5; *size as usize];
        for (at, bytes) in writes {
            disk[*at as usize..][..bytes.len()].copy_from_slice(bytes);
        }
        disk
    });
    Ok((disks.collect(), made.size))
}

fn found(disks: &[Vec<u8>]) -> Array {
    let read = |disk: &Vec<u8>| {
        let bytes = |range: Range| Ok(disk[range.start() as usize..range.end() as usize].to_vec());
        let claim = find(disk.len() as u64, bytes).expect("it can be read");
        claim.expect("it is one of an array")
    };
    let claims: Vec<_> = disks.iter().map(read).collect();
    judge(&claims).expect("they are one array")
}

/// Each level in each format is found again: whole, of the size that was said, and in need of being
/// brought in sync, or not.
#[test]
fn new_arrays_are_found() {
    let sizes = [9 * MIB, 9 * MIB, 8 * MIB + 512, 10 * MIB, 9 * MIB];
    for place in PLACES {
        for (level, layout) in [
            (1, None),
            (4, Some(0)),
            (5, Some(2)),
            (6, Some(2)),
            (10, Some(0x102)),
            (0, Some(2)),
            (-1, None),
        ] {
            let mut array = new(level, layout, place);
            let count = if level > 0 { 5 } else { 4 };
            for (first, resync) in [
                (FirstSync::Due, Position::Sector(0)),
                (FirstSync::Assumed, Position::End),
            ] {
                array.first = first;
                let mut sizes = sizes;
                if (level, place) == (0, Place::EndOld) {
                    let error = written(&array, &sizes[..count]).expect_err("no order");
                    assert!(error.to_string().contains("write down"), "{error}");
                    sizes = [9 * MIB; 5];
                }
                let (disks, size) = written(&array, &sizes[..count]).expect("it can be");
                let array = found(&disks);
                assert_eq!(array.readiness, Readiness::Whole, "{level} {place:?}");
                assert_eq!(array.resync, resync);
                let len = match &array.layout {
                    Layout::Redundant(geometry) => geometry.size(),
                    Layout::Striped(zones) => zones.size(),
                    Layout::Linear(spans) => spans.size(),
                    Layout::Unknown => 0,
                };
                assert_eq!(len, size, "{level} {place:?}");
                assert!(array.verdicts[4..].iter().all(|one| *one == Verdict::Spare));
            }
        }
    }
}

/// A bitmap lies where superblocks say, is of the array, and has all regions marked where the array
/// has never been in sync.
#[test]
fn new_bitmaps_are_found() {
    for place in PLACES {
        for (first, is_marked) in [(FirstSync::Due, true), (FirstSync::Assumed, false)] {
            let array = NewArray {
                first,
                bitmap: NewBitmap::Internal(Some(UNIT)),
                ..new(5, Some(2), place)
            };
            let (disks, _) = written(&array, &[8 * MIB; 4]).expect("it can be");
            for disk in &disks {
                let bytes =
                    |range: Range| Ok(disk[range.start() as usize..range.end() as usize].to_vec());
                let claim = find(disk.len() as u64, bytes).unwrap().unwrap();
                let at = claim.bitmap.expect("there is one") as usize;
                let bitmap = Bitmap::decode(&disk[at..at + 4096]).unwrap().unwrap();
                assert_eq!((bitmap.uuid, bitmap.events), (claim.uuid, EVENTS));
                assert_eq!(bitmap.dirty.region(), UNIT);
                let marked = if is_marked { bitmap.dirty.regions() } else { 0 };
                assert_eq!(bitmap.dirty.count(), marked);
                assert!(bitmap.dirty.regions() * UNIT >= bitmap.sync_size);
            }
        }
    }
}

/// What makes no sense is refused with its reason.
#[test]
fn nonsense_is_refused() {
    type Edit = fn(&mut NewArray);
    let edits: [(&str, Edit); 8] = [
        ("0 legs", |array| array.legs = 0),
        ("4 devices, for 5 legs", |array| array.legs = 5),
        ("no use for spares", |array| {
            (array.shape.level, array.legs) = (0, 3);
        }),
        ("has neither", |array| array.shape.level = 0),
        ("powers of two", |array| array.shape.chunk = 3 << 16),
        ("32 bytes", |array| array.name = "x".repeat(33)),
        ("regions of 12345", |array| {
            array.bitmap = NewBitmap::Internal(Some(12345));
        }),
        ("level 7", |array| array.shape.level = 7),
    ];
    for (why, edit) in edits {
        let mut array = new(5, Some(2), Place::SecondBlock);
        edit(&mut array);
        let error = written(&array, &[8 * MIB; 4]).expect_err(why).to_string();
        assert!(error.contains(why), "{error}");
    }
    let array = new(5, Some(2), Place::SecondBlock);
    let error = written(&array, &[MIB; 4]).expect_err("too small");
    assert!(error.to_string().contains("too small"), "{error}");
}

proptest! {
    /// Whatever devices there are: what is written lies on them and not among data, or is refused.
    #[test]
    fn data_are_not_written(
        sizes in proptest::collection::vec(0_u64..(4 << 20), 2..5),
        place in 0_usize..4,
        level in proptest::sample::select(vec![0, 1, 4, 5, 10]),
        has_bitmap in any::<bool>(),
    ) {
        let place = PLACES[place];
        let layout = match level { 0 | 5 => Some(2), 10 => Some(0x102), _ => None };
        let mut array = new(level, layout, place);
        array.legs = sizes.len();
        if !has_bitmap {
            array.bitmap = NewBitmap::None;
        }
        if let Ok((disks, _)) = written(&array, &sizes) {
            for disk in &disks {
                let bytes = |range: Range| {
                    Ok(disk[range.start() as usize..range.end() as usize].to_vec())
                };
                let claim = find(disk.len() as u64, bytes).unwrap().unwrap();
                let data = claim.data.start() as usize..claim.data.end() as usize;
                prop_assert!(disk[data].iter().all(|byte| *byte == 0xa5));
            }
        }
    }
}
