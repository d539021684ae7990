//! Superblocks as mdadm makes them, and any others.

use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

use super::{Feature, Features, HEADER, SUM_AT, Superblock1};
use crate::Kind;
use crate::raid::md::fields::{ByteOrder, Fields, checksum};
use crate::raid::md::{Guard, Place, Role, Shape};
use crate::raid::superblock::Position;

const DEVICE: u64 = 16 << 20;
const ALL: [Place; 3] = [Place::Start, Place::SecondBlock, Place::End];

/// Leg 1 of four of a clean array of level 5 with chunks of 64 KiB.
pub(in crate::raid::md) fn sample(place: Place, device: u64) -> Superblock1 {
    let mut name = [0; 32];
    name[..9].copy_from_slice(b"host:data");
    let super_offset = place.offset(device).unwrap() / 512;
    let (data_offset, data_size) = match place {
        Place::End => (0, super_offset - 8),
        _ => (2048, device / 512 - 2048),
    };
    Superblock1 {
        place,
        features: Features::default(),
        uuid: *b"0123456789abcdef",
        name,
        created: 1_700_000_000 + (5 << 40),
        level: 5,
        layout: 2,
        size: data_size / 128 * 128,
        chunk_sectors: 128,
        device_count: 4,
        bitmap_offset: 0,
        new_level: 0,
        reshape_position: 0,
        delta_disks: 0,
        new_layout: 0,
        new_chunk_sectors: 0,
        new_offset: 0,
        data_offset,
        data_size,
        super_offset,
        recovery_offset: 0,
        number: 1,
        corrected_reads: 0,
        device_uuid: *b"ABCDEFGHIJKLMNOP",
        flags: 0,
        bad_blocks_shift: 9,
        bad_blocks_sectors: 8,
        bad_blocks_offset: 16,
        updated: 1_700_000_100,
        events: 17,
        resync_offset: u64::MAX,
        logical_block: 0,
        roles: vec![0, 1, 2, 3, 0xffff, 0xfffe],
    }
}

fn decode(bytes: &[u8], place: Place) -> Superblock1 {
    let read = Superblock1::decode(bytes, place, DEVICE);
    read.unwrap().expect("it is one")
}

/// The same bytes with a sum that is right.
fn summed(mut bytes: Vec<u8>) -> Vec<u8> {
    let count = u32::from_le_bytes(bytes[220..224].try_into().unwrap()) as usize;
    let len = (HEADER + 2 * count).min(bytes.len());
    let fields = Fields {
        bytes: &bytes[..len],
        order: ByteOrder::Little,
    };
    let sum = checksum(fields, SUM_AT);
    bytes[SUM_AT..SUM_AT + 4].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// What is written is read again, at each place, and says what it should.
#[test]
fn claims_say_what_stands_there() {
    for place in ALL {
        let superblock = sample(place, DEVICE);
        assert_eq!(decode(&superblock.encode(), place), superblock);
        let claim = superblock.claim();
        assert_eq!(
            (claim.name.as_str(), claim.created),
            ("host:data", 1_700_000_000)
        );
        let chunk = 64 << 10;
        let layout = Some(2);
        assert_eq!(
            claim.shape,
            Shape {
                level: 5,
                layout,
                chunk
            }
        );
        assert_eq!((claim.events, claim.resync), (17, Position::End));
        assert_eq!((claim.role(), claim.recovery), (Role::Leg(1), None));
        assert_eq!(claim.roles[4..], [Role::Spare, Role::Faulty]);
        assert_eq!(claim.data.start(), superblock.data_offset * 512);
        assert_eq!(
            (claim.bitmap, claim.bad_blocks, claim.guard),
            (None, None, Guard::None)
        );
    }
}

/// A log of partial parity is whole pages beside superblock and data, or there is no array.
#[test]
fn logs_have_their_place() {
    let with = |place: Place, offset: i16, sectors: u16| {
        let mut superblock = sample(place, DEVICE);
        superblock.features = superblock.features.with(Feature::PartialParities);
        let offset = u32::from(offset.cast_unsigned());
        superblock.bitmap_offset = (u32::from(sectors) << 16 | offset).cast_signed();
        if place == Place::End {
            superblock.data_size = superblock.super_offset - 2048;
            superblock.size = superblock.data_size / 128 * 128;
        }
        Superblock1::decode(&superblock.encode(), place, DEVICE)
    };
    let guard =
        |place, offset, sectors| with(place, offset, sectors).unwrap().unwrap().claim().guard;
    let log =
        |start: u64, sectors: u64| Guard::PartialParity(block::Range::new(start, sectors * 512));
    let end = Place::End.offset(DEVICE).unwrap();
    assert_eq!(guard(Place::SecondBlock, 8, 2037), log(8192, 2032));
    assert_eq!(
        guard(Place::Start, 2048 - 16, 16),
        log((2048 - 16) * 512, 16)
    );
    assert_eq!(guard(Place::End, -2048, 2048), log(end - (1 << 20), 2048));
    for (place, offset, sectors) in [
        // In the superblock; in the data; behind the device; without room for a page.
        (Place::SecondBlock, 7, 64),
        (Place::SecondBlock, 2040 - 15, 24),
        (Place::End, -2056, 64),
        (Place::End, -8, 16),
        (Place::End, 8, 64),
        (Place::Start, 64, 15),
    ] {
        let error = with(place, offset, sectors).unwrap_err();
        assert_eq!(error.kind(), Kind::Damaged, "{place:?} {offset} {sectors}");
    }
}

/// What only counts with a feature counts with it.
#[test]
fn features_count() {
    let mut superblock = sample(Place::End, DEVICE);
    superblock.bitmap_offset = -16;
    superblock.recovery_offset = 640;
    superblock.bad_blocks_offset = -8;
    (superblock.delta_disks, superblock.reshape_position) = (-1, 4096);
    for feature in [
        Feature::Bitmap,
        Feature::Recovery,
        Feature::BadBlocks,
        Feature::Reshape,
    ] {
        superblock.features = superblock.features.with(feature);
    }
    let claim = decode(&superblock.encode(), Place::End).claim();
    let here = Place::End.offset(DEVICE).unwrap();
    assert_eq!(claim.bitmap, Some(here - 16 * 512));
    assert_eq!(claim.recovery, Some(Position::Sector(640)));
    let bad = claim.bad_blocks.unwrap();
    assert_eq!((bad.place.start(), bad.place.len()), (here - 8 * 512, 4096));
    let list = [(3_u64 << 10 | 2), u64::MAX, 1]
        .map(u64::to_le_bytes)
        .concat();
    let unit = 512 << 9;
    let blocks = bad.decode(&list).unwrap();
    assert_eq!(blocks, [block::Range::new(3 * unit, 2 * unit)]);
    assert!(bad.decode(&(u64::MAX - 1).to_le_bytes()).is_err());
    let reshape = claim.reshape.unwrap();
    assert!(reshape.backwards && reshape.position == Position::Sector(4096));
    assert_eq!(claim.positions(), 5);
}

/// Other bytes are no superblock, and the old format's is none of these.
#[test]
fn other_bytes_are_none() {
    let none = |bytes: &[u8]| Superblock1::decode(bytes, Place::Start, DEVICE).unwrap();
    assert_eq!(none(&[0; 4096]), None);
    let mut bytes = sample(Place::Start, DEVICE).encode();
    bytes[4] = 0;
    assert_eq!(none(&bytes), None);
}

/// What cannot be is refused, and the sentence names it.
#[test]
fn nonsense_is_refused() {
    let refused = |place: Place, at: usize, value: &[u8], word: &str| {
        let mut bytes = sample(place, DEVICE).encode();
        bytes[at..at + value.len()].copy_from_slice(value);
        let error = Superblock1::decode(&summed(bytes), place, DEVICE).expect_err(word);
        assert_eq!(error.kind(), Kind::Damaged);
        assert!(error.to_string().contains(word), "{error}");
    };
    refused(Place::Start, 4, &[2], "version 2");
    refused(Place::Start, 9, &[0x20], "features 0x2000");
    refused(Place::Start, 12, &[1], "unknown");
    refused(Place::Start, 255, &[1], "unknown");
    refused(Place::Start, 92, &[0], "0 legs");
    refused(Place::Start, 128, &[0, 0], "where it is itself");
    refused(Place::Start, 136, &[9, 0], "9 sectors");
    refused(Place::Start, 140, &[1], "begin at sector 2048");
    refused(Place::Start, 144, &[8], "at sector 8");
    refused(Place::End, 82, &[1], "where it is itself");
    refused(Place::Start, 221, &[8], "2054 devices");
    let mut bytes = sample(Place::Start, DEVICE).encode();
    bytes[33] ^= 1;
    let error = Superblock1::decode(&bytes, Place::Start, DEVICE).expect_err("the sum is wrong");
    assert!(error.to_string().contains("checksum"), "{error}");
    assert!(Superblock1::decode(&bytes[..4095], Place::Start, DEVICE).is_err());
    let mut nowhere = sample(Place::End, DEVICE);
    nowhere.super_offset = u64::MAX;
    let error = Superblock1::decode(&nowhere.encode(), Place::End, 4096).expect_err("too small");
    assert!(error.to_string().contains("where it is not"), "{error}");
}

/// Details that features bring are held against the device.
#[test]
fn details_are_checked() {
    type Edit = fn(&mut Superblock1);
    let edits: [(Edit, Feature, &str); 9] = [
        (|sb| sb.bitmap_offset = i32::MIN, Feature::Bitmap, "bitmap"),
        (|sb| sb.bitmap_offset = i32::MAX, Feature::Bitmap, "bitmap"),
        (
            |sb| sb.bad_blocks_offset = 0,
            Feature::BadBlocks,
            "bad blocks",
        ),
        (
            |sb| sb.bad_blocks_offset = -100,
            Feature::BadBlocks,
            "bad blocks",
        ),
        (
            |sb| sb.bad_blocks_shift = 60,
            Feature::BadBlocks,
            "bad blocks",
        ),
        (
            |sb| sb.recovery_offset = u64::MAX - 1,
            Feature::Recovery,
            "behind all",
        ),
        (
            |sb| sb.delta_disks = i32::MIN,
            Feature::Reshape,
            "legs more",
        ),
        (|_| (), Feature::StripedLayout, "stripes"),
        (
            |sb| sb.features = sb.features.with(Feature::Journal),
            Feature::PartialParity,
            "several logs",
        ),
    ];
    for (edit, feature, word) in edits {
        let mut superblock = sample(Place::SecondBlock, DEVICE);
        superblock.features = superblock.features.with(feature);
        edit(&mut superblock);
        let read = Superblock1::decode(&superblock.encode(), Place::SecondBlock, DEVICE);
        let error = read.expect_err(word);
        assert!(error.to_string().contains(word), "{error}");
    }
}

proptest! {
    /// Any change is refused or read, its claim is told, and it is written as it was read.
    #[test]
    fn mutated_bytes_never_panic(
        place in 0_usize..3,
        features in 0_u32..0x2000,
        changes in proptest::collection::vec((0_usize..280, any::<u8>()), 0..8),
    ) {
        let place = ALL[place];
        let mut bytes = sample(place, DEVICE).encode();
        bytes[8..12].copy_from_slice(&features.to_le_bytes());
        for (at, byte) in changes {
            bytes[at] = byte;
        }
        let bytes = summed(bytes);
        if let Ok(Some(read)) = Superblock1::decode(&bytes, place, DEVICE) {
            let claim = read.claim();
            prop_assert!(claim.data.end() <= DEVICE);
            prop_assert!(claim.bitmap.is_none_or(|at| at < DEVICE));
            prop_assert!(claim.bad_blocks.is_none_or(|bad| bad.place.end() <= DEVICE));
            prop_assert_eq!(decode(&read.encode(), place), read);
        }
    }
}
