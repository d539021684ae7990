//! Bitmaps that a kernel wrote, and any others beside a naive list of regions.

use block::Range;
use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, proptest};

use super::{Bitmap, Dirty, REGIONS_MAX, len_for};
use crate::Kind;

/// The first 64 bytes of the bitmap on leg 0 of the golden `raid5`, and its first byte of bits:
/// zeros lie between, ones behind up to the end of the sector.
const RAID5: (&str, u8) = (
    "6269746d04000000000000000000000000000000000000001400000000000000\
     1400000000000000001800000000000000000000000020000500000000000000",
    0xfc,
);
/// The same of `raid10`.
const RAID10: (&str, u8) = (
    "6269746d04000000000000000000000000000000000000001300000000000000\
     1300000000000000003000000000000000000000000020000500000000000000",
    0xf8,
);

const REGION: u64 = 2 << 20;

fn sector((hex, bits): (&str, u8)) -> Vec<u8> {
    let mut bytes = vec![0; 256];
    for (index, byte) in bytes.iter_mut().take(hex.len() / 2).enumerate() {
        *byte = u8::from_str_radix(&hex[2 * index..2 * index + 2], 16).unwrap();
    }
    bytes.push(bits);
    bytes.resize(512, 0xff);
    bytes
}

fn decode(bytes: &[u8]) -> Bitmap {
    Bitmap::decode(bytes).unwrap().expect("there is one")
}

fn list(dirty: &Dirty) -> Vec<u64> {
    let regions = 0..dirty.regions();
    regions.filter(|region| dirty.is_dirty(*region)).collect()
}

/// Stock's bitmaps are clean but for what is behind their end, and come out of the encoder byte for
/// byte.
#[test]
fn golden_bitmaps_are_read_and_written() {
    let raid5 = decode(&sector(RAID5));
    assert_eq!((raid5.events, raid5.events_cleared), (20, 20));
    assert_eq!(raid5.sync_size, 3 << 20, "bytes of a leg");
    assert_eq!((raid5.dirty.region(), raid5.dirty.regions()), (REGION, 2));
    assert_eq!(raid5.dirty.count(), 0);
    assert!(raid5.is_current(20) && !raid5.is_current(21));
    let raid10 = decode(&sector(RAID10));
    assert_eq!(raid10.sync_size, 6 << 20, "bytes of the array");
    assert_eq!((raid10.dirty.count(), raid10.dirty.regions()), (0, 3));
    assert_eq!(raid5.encode(), sector(RAID5));
    assert_eq!(raid10.encode(), sector(RAID10));
    let made = Bitmap::new(3 << 20, 20, Dirty::clean(REGION, 3 << 20).unwrap());
    assert_eq!(made, raid5);
}

/// A one is a dirty region.
#[test]
fn ones_are_dirty() {
    let mut bytes = sector(RAID5);
    bytes[256] = 0xfe;
    let dirty = decode(&bytes).dirty;
    assert_eq!(list(&dirty), [1]);
    assert!(!dirty.overlaps(Range::new(0, REGION)));
    assert!(dirty.overlaps(Range::new(REGION - 1, 2)));
    assert!(!dirty.overlaps(Range::new(REGION, 0)));
}

/// A bitmap that says that it is out of date, or that could not be written, is not relied on.
#[test]
fn stale_bitmaps_are_not_current() {
    for state in [2, 4] {
        let mut bytes = sector(RAID5);
        bytes[48] = state;
        assert!(!decode(&bytes).is_current(20));
    }
}

/// Zeros are no bitmap, whatever is behind them.
#[test]
fn zeros_are_no_bitmap() {
    let mut bytes = vec![0; 512];
    assert_eq!(Bitmap::decode(&bytes).unwrap(), None);
    bytes[256] = 1;
    assert_eq!(Bitmap::decode(&bytes).unwrap(), None);
}

/// Each thing that cannot be is refused, and the sentence names it.
#[test]
fn nonsense_is_refused() {
    let refused = |at: usize, value: &[u8], word: &str| {
        let mut bytes = sector(RAID5);
        bytes[at..at + value.len()].copy_from_slice(value);
        let error = Bitmap::decode(&bytes).expect_err(word);
        assert_eq!(error.kind(), Kind::Damaged);
        assert!(error.to_string().contains(word), "{error}");
    };
    refused(0, b"Bitm", "begins with");
    for version in [3, 5, 6] {
        refused(4, &[version], &format!("version {version}"));
    }
    refused(47, &[1], "sectors");
    refused(46, &[1], "regions; make them larger");
    refused(43, &[1], "cut off behind 256 bytes");
    refused(52, &[1], "regions of 2097153 bytes");
    refused(52, &[0, 1, 0], "regions of 256 bytes");
    refused(56, &[0], "nobody looks");
    refused(61, &[0x40], "16384 writes");
    let error = Bitmap::decode(&[1; 255]).expect_err("too short");
    assert!(error.to_string().contains("255 bytes"), "{error}");
}

/// As many bytes are read and written as the regions need, in whole sectors.
#[test]
fn lengths_are_whole_sectors() {
    assert_eq!(len_for(0), 512);
    assert_eq!(len_for(256 * 8), 512);
    assert_eq!(len_for(256 * 8 + 1), 1024);
    assert_eq!(len_for(REGIONS_MAX), (1 << 25) + 512);
    assert!(Dirty::clean(512, REGIONS_MAX * 512).is_ok());
    assert!(Dirty::clean(512, REGIONS_MAX * 512 + 1).is_err());
}

fn regions() -> impl Strategy<Value = (u64, Vec<u64>)> {
    (1_u64..300).prop_flat_map(|regions| {
        let dirty = proptest::collection::vec(0..regions, 0..40);
        dirty.prop_map(move |dirty| (regions, dirty))
    })
}

fn dirty(regions: u64, set: &[u64]) -> Dirty {
    let mut dirty = Dirty::clean(1024, regions * 1024 - 512).unwrap();
    for region in set {
        dirty.set(*region);
    }
    dirty
}

proptest! {
    /// What is encoded decodes to the same, and the bits are where they are said to be.
    #[test]
    fn round_trip((regions, set) in regions(), numbers in any::<(u64, u64, bool, [u8; 16])>()) {
        let mut bitmap = Bitmap::new(regions * 1024 - 512, numbers.0, dirty(regions, &set));
        (bitmap.events_cleared, bitmap.is_stale, bitmap.uuid) = (numbers.1, numbers.2, numbers.3);
        let bytes = bitmap.encode();
        prop_assert_eq!(bytes.len() as u64, len_for(regions));
        for bit in 0..8 * (bytes.len() as u64 - 256) {
            let is_set = bytes[256 + (bit / 8) as usize] >> (bit % 8) & 1 == 1;
            prop_assert_eq!(is_set, bit >= regions || set.contains(&bit));
        }
        prop_assert_eq!(decode(&bytes), bitmap);
    }

    /// Any change of a bitmap is refused or read; what is read reads the same again.
    #[test]
    fn mutated_bytes_never_panic(
        changes in proptest::collection::vec((0_usize..260, any::<u8>()), 0..6),
        len in 0_usize..600,
    ) {
        let mut bytes = sector(RAID10);
        for (at, byte) in changes {
            bytes[at] = byte;
        }
        bytes.resize(len, 0);
        if let Ok(Some(read)) = Bitmap::decode(&bytes) {
            prop_assert_eq!(decode(&read.encode()), read);
        }
    }

    /// Regions behave as a list of booleans does.
    #[test]
    fn regions_are_a_list(
        (regions, set) in regions(),
        cleared in proptest::collection::vec(0_u64..300, 0..20),
        (start, len) in (0_u64..300 * 1024, 0_u64..8 * 1024),
    ) {
        let mut dirty = dirty(regions, &set);
        let mut naive = vec![false; regions as usize];
        for region in &set {
            naive[*region as usize] = true;
        }
        for region in cleared.into_iter().filter(|region| *region < regions) {
            dirty.clear(region);
            naive[region as usize] = false;
        }
        let listed = (0..regions).filter(|region| naive[*region as usize]);
        prop_assert_eq!(list(&dirty), listed.collect::<Vec<_>>());
        prop_assert_eq!(dirty.count(), list(&dirty).len() as u64);
        for from in 0..=regions {
            let mut rest = from..regions;
            prop_assert_eq!(dirty.next(from), rest.find(|region| naive[*region as usize]));
        }
        let (start, end) = (start.min(regions * 1024), (start + len).min(regions * 1024));
        let touched = (start..end).any(|byte| naive[(byte / 1024) as usize]);
        prop_assert_eq!(dirty.overlaps(Range::new(start, end - start)), touched);
    }

    /// A merge is dirty where either was, and of two shapes it is nothing.
    #[test]
    fn merges_are_unions(
        (regions, set) in regions(),
        other in proptest::collection::vec(0_u64..300, 0..9),
    ) {
        let other: Vec<u64> = other.into_iter().filter(|region| *region < regions).collect();
        let mut merged = dirty(regions, &set);
        prop_assert!(merged.merge(&dirty(regions, &other)));
        let mut both = [set, other].concat();
        both.sort_unstable();
        both.dedup();
        prop_assert_eq!(merged.count(), both.len() as u64);
        prop_assert_eq!(list(&merged), both);
        let before = merged.clone();
        prop_assert!(!merged.merge(&dirty(regions + 1, &[])));
        prop_assert_eq!(merged, before);
        let full = Dirty::full(1024, regions * 1024 - 512).unwrap();
        prop_assert_eq!(full.count(), regions);
    }
}
