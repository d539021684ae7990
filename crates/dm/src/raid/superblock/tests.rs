//! Superblocks that a kernel wrote, and any others.

use proptest::prelude::{Just, Strategy, any, prop_assert_eq, prop_oneof, proptest};

use super::{Extended, FailedDevices, Position, Superblock};
use crate::Kind;

/// The first 128 bytes of leg 0 of the golden `raid5`; what follows is zero.
const RAID5: &str = "\
    446d526401000000030000000000000014000000000000000000000000000000\
    ffffffffffffffffffffffffffffffff05000000020000001000000000000000\
    ffffffffffffffff050000000200000010000000000000000030000000000000\
    0000000000000000000000000000000000180000000000000000000000000000";
/// The same of leg 3 of `raid10`.
const RAID10: &str = "\
    446d526401000000040000000300000013000000000000000000000000000000\
    ffffffffffffffffffffffffffffffff0a000000020100001000000000000000\
    ffffffffffffffff0a0000000201000010000000000000000030000000000000\
    0000000000000000000000000000000000180000000000000000000000000000";
/// The same of leg 1 of `raid1`.
const RAID1: &str = "\
    446d526401000000020000000100000012000000000000000000000000000000\
    ffffffffffffffffffffffffffffffff01000000000000000000000000000000\
    ffffffffffffffff010000000000000000000000000000000030000000000000\
    0000000000000000000000000000000000300000000000000000000000000000";

fn sector(hex: &str) -> [u8; Superblock::LEN] {
    let mut bytes = [0; Superblock::LEN];
    for (index, byte) in bytes.iter_mut().take(hex.len() / 2).enumerate() {
        *byte = u8::from_str_radix(&hex[2 * index..2 * index + 2], 16).unwrap();
    }
    bytes
}

fn decode(bytes: &[u8]) -> Superblock {
    Superblock::decode(bytes).unwrap().expect("it was used")
}

/// Stock's superblocks say what was made, and come out of the encoder byte for byte.
#[test]
fn golden_superblocks_are_read_and_written() {
    let raid5 = decode(&sector(RAID5));
    let expected = Superblock {
        device_count: 3,
        array_position: 0,
        events: 20,
        failed: FailedDevices::default(),
        disk_recovery_offset: Position::End,
        array_resync_offset: Position::End,
        level: 5,
        layout: 2,
        stripe_sectors: 16,
        extended: Some(Extended {
            is_reshaping: false,
            backwards: false,
            reshape_position: Position::End,
            new_level: 5,
            new_layout: 2,
            new_stripe_sectors: 16,
            delta_disks: 0,
            array_sectors: 12288,
            data_offset: 0,
            new_data_offset: 0,
            sectors: 6144,
        }),
    };
    assert_eq!(raid5, expected);
    let raid10 = decode(&sector(RAID10));
    assert_eq!((raid10.device_count, raid10.array_position), (4, 3));
    assert_eq!((raid10.level, raid10.layout), (10, 0x102));
    let raid1 = decode(&sector(RAID1));
    assert_eq!((raid1.level, raid1.stripe_sectors), (1, 0));
    for hex in [RAID5, RAID10, RAID1] {
        assert_eq!(decode(&sector(hex)).encode(), sector(hex));
    }
}

/// Zeros are a leg that was never used; one bit more is not.
#[test]
fn zeros_are_no_superblock() {
    let mut bytes = [0; Superblock::LEN];
    assert_eq!(Superblock::decode(&bytes).unwrap(), None);
    bytes[511] = 1;
    assert!(Superblock::decode(&bytes).is_err());
}

/// Each thing that cannot be is refused, and the sentence names it.
#[test]
fn nonsense_is_refused() {
    let refused = |at: usize, value: &[u8], word: &str| {
        let mut bytes = sector(RAID5);
        bytes[at..at + value.len()].copy_from_slice(value);
        let error = Superblock::decode(&bytes).expect_err(word);
        assert_eq!(error.kind(), Kind::Damaged);
        assert!(error.to_string().contains(word), "{error}");
    };
    refused(0, b"DmRe", "begins with 0x65526d44");
    refused(4, &[3], "features 0x3");
    refused(144, &[1], "needs features 0x1");
    refused(8, &[0], "0 legs");
    refused(8, &[254], "254 legs");
    refused(12, &[253], "leg 253");
    refused(32, &[0xfe], "in sync");
    refused(40, &[0xfe], "in sync");
    refused(48, &[7], "level 7");
    refused(56, &[0], "empty");
    refused(64, &[0xfe], "more sectors than bytes");
    refused(84, &[0xfe, 0], "legs more");
    refused(119, &[1], "more sectors than bytes");
    let error = Superblock::decode(&[1; 511]).expect_err("too short");
    assert!(error.to_string().contains("511 bytes"), "{error}");
}

/// Where it goes is only asked while it goes there: kernels leave words there else.
#[test]
fn a_new_layout_counts_while_reshaping() {
    let mut bytes = sector(RAID5);
    bytes[72] = 99;
    assert_eq!(decode(&bytes).extended.unwrap().new_level, 99);
    bytes[60] = 1;
    assert!(Superblock::decode(&bytes).is_err());
}

/// Without the extension nothing behind byte 60 is believed.
#[test]
fn old_superblocks_have_no_extension() {
    let mut bytes = sector(RAID5);
    bytes[4] = 0;
    bytes[24] = 4;
    bytes[120] = 1;
    let superblock = decode(&bytes);
    assert_eq!(superblock.extended, None);
    assert!(superblock.failed.iter().eq([2]));
    assert!(superblock.encode()[60..].iter().all(|byte| *byte == 0));
}

/// A position is a byte, and the end is behind all of them.
#[test]
fn positions_are_bytes() {
    assert_eq!(Position::Sector(3).bytes(), 1536);
    assert_eq!(Position::End.bytes(), u64::MAX);
    assert!(Position::Sector(u64::MAX - 1) < Position::End);
}

fn position() -> impl Strategy<Value = Position> {
    let sector = (0..=u64::MAX / 512).prop_map(Position::Sector);
    prop_oneof![sector, Just(Position::End)]
}

fn extended() -> impl Strategy<Value = Extended> {
    let flags = (any::<bool>(), any::<bool>());
    let new = (0_u32..2, any::<u32>(), 1..=u32::MAX, -253..=253_i32);
    let length = || 0..=u64::MAX / 512;
    let lengths = (length(), length(), length(), length());
    (flags, position(), new, lengths).prop_map(|(flags, reshape_position, new, lengths)| Extended {
        is_reshaping: flags.0,
        backwards: flags.1,
        reshape_position,
        new_level: new.0,
        new_layout: new.1,
        new_stripe_sectors: new.2,
        delta_disks: new.3,
        array_sectors: lengths.0,
        data_offset: lengths.1,
        new_data_offset: lengths.2,
        sectors: lengths.3,
    })
}

fn superblock() -> impl Strategy<Value = Superblock> {
    let level = prop_oneof![Just(0), Just(1), Just(4), Just(5), Just(6), Just(10)];
    let layout = (level, any::<u32>(), 1..=u32::MAX);
    let legs = (1..=253_u32, 0..253_u32, any::<u64>());
    let failed = proptest::collection::vec(0..FailedDevices::LEN, 0..9);
    let more = proptest::option::of(extended());
    (legs, failed, position(), position(), layout, more).prop_map(
        |(legs, failed, recovery, resync, layout, extended)| Superblock {
            device_count: legs.0,
            array_position: legs.1,
            events: legs.2,
            failed: match &extended {
                Some(_) => failed.into_iter().collect(),
                None => failed.into_iter().filter(|leg| *leg < 64).collect(),
            },
            disk_recovery_offset: recovery,
            array_resync_offset: resync,
            level: layout.0,
            layout: layout.1,
            stripe_sectors: layout.2,
            extended,
        },
    )
}

proptest! {
    /// What is encoded decodes to the same.
    #[test]
    fn round_trip(superblock in superblock()) {
        prop_assert_eq!(decode(&superblock.encode()), superblock);
    }

    /// Any change of a superblock is refused or read, and what is read is written so that it reads
    /// the same again.
    #[test]
    fn mutated_bytes_never_panic(
        changes in proptest::collection::vec((0_usize..160, any::<u8>()), 0..6),
        cut in 0_usize..600,
    ) {
        let mut bytes = sector(RAID5).to_vec();
        for (at, byte) in changes {
            bytes[at] = byte;
        }
        bytes.resize(bytes.len().max(cut), 0);
        if let Ok(Some(read)) = Superblock::decode(&bytes) {
            prop_assert_eq!(decode(&read.encode()), read);
        }
        prop_assert_eq!(Superblock::decode(&bytes[..cut.min(511)]).is_err(), true);
    }

    /// Failed legs are a set of numbers.
    #[test]
    fn failed_legs_are_a_set(legs in proptest::collection::btree_set(0_usize..256, 0..40)) {
        let failed: FailedDevices = legs.iter().copied().collect();
        prop_assert_eq!(failed.is_empty(), legs.is_empty());
        for leg in 0..300 {
            prop_assert_eq!(failed.contains(leg), legs.contains(&leg));
        }
        prop_assert_eq!(failed.iter().collect::<Vec<_>>(), Vec::from_iter(legs));
    }
}
