//! Superblocks of the old format in both byte orders, and any others.

use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

use super::{Descriptor, SUM_AT, Superblock090};
use crate::Kind;
use crate::raid::md::fields::{ByteOrder, Fields, checksum};
use crate::raid::md::{Place, Role, Shape};
use crate::raid::superblock::Position;

const DEVICE: u64 = 16 << 20;

/// Leg 1 of two of a clean array of level 1, with a spare.
pub(in crate::raid::md) fn sample() -> Superblock090 {
    let leg = |number: u32| Descriptor {
        number,
        major: 7,
        minor: number,
        leg: number,
        state: Descriptor::ACTIVE | Descriptor::SYNC,
    };
    let mut descriptors = [Descriptor::default(); 27];
    (descriptors[0], descriptors[1]) = (leg(0), leg(1));
    descriptors[2] = Descriptor { state: 0, ..leg(2) };
    Superblock090 {
        order: ByteOrder::Little,
        minor_version: 90,
        patch_version: 0,
        uuid: [0x0302_0100, 0x0706_0504, 0x0b0a_0908, 0x0f0e_0d0c],
        created: 1_200_000_000,
        level: 1,
        size_kib: 16320,
        nr_disks: 3,
        device_count: 2,
        md_minor: 0,
        updated: 1_200_000_100,
        state: 1,
        counts: [2, 3, 0, 1],
        events: 1 << 32 | 5,
        checkpoint_events: 5,
        checkpoint: 0,
        reshape_position: 0,
        new_level: 0,
        delta_disks: 0,
        new_layout: 0,
        new_chunk: 0,
        layout: 0,
        chunk: 0,
        descriptors,
        this: leg(1),
    }
}

fn decode(bytes: &[u8]) -> Superblock090 {
    Superblock090::decode(bytes, DEVICE)
        .unwrap()
        .expect("it is one")
}

/// The same bytes with a sum that is right.
fn summed(mut bytes: Vec<u8>) -> Vec<u8> {
    let order = ByteOrder::Little;
    let sum = checksum(
        Fields {
            bytes: &bytes,
            order,
        },
        SUM_AT,
    );
    bytes[SUM_AT..SUM_AT + 4].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// What is written is read again in either order, and says the same.
#[test]
fn both_orders_say_the_same() {
    let little = sample();
    let order = ByteOrder::Big;
    let big = Superblock090 { order, ..sample() };
    assert_eq!(decode(&little.encode()), little);
    assert_eq!(decode(&big.encode()), big);
    assert_eq!(big.encode()[..4], [0xa9, 0x2b, 0x4e, 0xfc]);
    assert_eq!(
        big.encode()[4 * 39..4 * 41],
        [0, 0, 0, 1, 0, 0, 0, 5],
        "high word first"
    );
    assert_eq!(little.encode()[4 * 39..4 * 41], [5, 0, 0, 0, 1, 0, 0, 0]);
    assert_eq!(little.claim(DEVICE), big.claim(DEVICE));
    let claim = little.claim(DEVICE);
    assert_eq!(claim.uuid, std::array::from_fn(|byte| byte as u8));
    let layout = Some(0);
    assert_eq!(
        claim.shape,
        Shape {
            level: 1,
            layout,
            chunk: 0
        }
    );
    assert_eq!((claim.role(), claim.recovery), (Role::Leg(1), None));
    assert_eq!(claim.roles[2], Role::Spare);
    assert_eq!(claim.leg_size, 16320 << 10);
    assert_eq!(
        (claim.data.start(), claim.data.end()),
        (0, DEVICE - (64 << 10))
    );
}

/// An array that was not stopped cleanly is in sync up to its last checkpoint, if that is the last
/// thing that was written.
#[test]
fn checkpoints_count_while_they_are_new() {
    let resync = |state: u32, checkpoint_events: u64| {
        let mut superblock = sample();
        superblock.state = state;
        superblock.checkpoint = 77;
        superblock.checkpoint_events = checkpoint_events;
        superblock.claim(DEVICE).resync
    };
    assert_eq!(resync(1, 0), Position::End);
    assert_eq!(resync(0, 1 << 32 | 5), Position::Sector(77));
    assert_eq!(resync(0, 4), Position::Sector(0));
}

/// The states of a descriptor are roles; active without in sync is a leg while reshaping only.
#[test]
fn states_are_roles() {
    let role = |state: u32, minor_version: u32| {
        let mut superblock = sample();
        superblock.minor_version = minor_version;
        superblock.descriptors[1].state = state;
        let claim = decode(&superblock.encode()).claim(DEVICE);
        (claim.role(), claim.recovery)
    };
    assert_eq!(
        role(Descriptor::FAULTY | Descriptor::REMOVED, 90),
        (Role::Faulty, None)
    );
    assert_eq!(role(Descriptor::ACTIVE, 90), (Role::Spare, None));
    let start = Some(Position::Sector(0));
    assert_eq!(role(Descriptor::ACTIVE, 91), (Role::Leg(1), start));
    assert_eq!(role(Descriptor::REMOVED, 90), (Role::Spare, None));
}

/// A bitmap follows the superblock, and stripes have no layout that counts.
#[test]
fn what_else_it_says() {
    let mut superblock = sample();
    superblock.state |= 1 << 8;
    let here = Place::EndOld.offset(DEVICE).unwrap();
    assert_eq!(superblock.claim(DEVICE).bitmap, Some(here + 4096));
    superblock.level = 0;
    assert_eq!(superblock.claim(DEVICE).shape.layout, None);
}

/// What cannot be is refused, and the sentence names it.
#[test]
fn nonsense_is_refused() {
    let refused = |word_at: usize, value: u32, word: &str| {
        let mut bytes = sample().encode();
        bytes[4 * word_at..4 * word_at + 4].copy_from_slice(&value.to_le_bytes());
        let error = Superblock090::decode(&summed(bytes), DEVICE).expect_err(word);
        assert_eq!(error.kind(), Kind::Damaged);
        assert!(error.to_string().contains(word), "{error}");
    };
    refused(1, 7, "version 7.90");
    refused(2, 92, "version 0.92");
    refused(8, 16321, "16321 KiB");
    refused(10, 0, "0 legs");
    refused(10, 28, "28 legs");
    refused(992, 27, "device 27");
    refused(128 + 32 + 3, 27, "leg 27");
    let mut bytes = sample().encode();
    bytes[100] ^= 1;
    let error = Superblock090::decode(&bytes, DEVICE).expect_err("the sum is wrong");
    assert!(error.to_string().contains("checksum"), "{error}");
    assert!(
        Superblock090::decode(&sample().encode(), 4096).is_err(),
        "on a small device"
    );
    assert!(Superblock090::decode(&bytes[1..], DEVICE).is_err());
    assert_eq!(Superblock090::decode(&[0; 4096], DEVICE).unwrap(), None);
}

proptest! {
    /// Any change is refused or read, its claim is told, and it is written as it was read.
    #[test]
    fn mutated_bytes_never_panic(
        changes in proptest::collection::vec((0_usize..1024, any::<u32>()), 0..8),
    ) {
        let mut bytes = sample().encode();
        for (at, word) in changes {
            bytes[4 * at..4 * at + 4].copy_from_slice(&word.to_le_bytes());
        }
        if let Ok(Some(read)) = Superblock090::decode(&summed(bytes), DEVICE) {
            let claim = read.claim(DEVICE);
            prop_assert!(claim.data.end() <= DEVICE);
            prop_assert_eq!(decode(&read.encode()), read);
        }
    }
}
