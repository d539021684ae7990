//! Places against numbers that were counted by hand, and against a naive walk over all bytes.

use block::Range;
use proptest::prelude::{ProptestConfig, proptest};

use super::{Places, SECTOR};
use crate::integrity::Superblock;

pub(crate) fn superblock(log2_block: u8, journal_sections: u32) -> Superblock {
    Superblock {
        version: 2,
        journal_sections,
        provided_sectors: 8192,
        log2_block,
        log2_bit: 15 - log2_block,
        recalculated: None,
        has_bitmap: false,
        has_padding: false,
    }
}

/// Of blocks of 512 and of 4096 bytes, what a kernel counts: 168 entries in 176 sectors, and 48 in
/// 392.
#[test]
fn sections_are_as_long_as_a_kernels() {
    let mib = 1 << 20;
    let small = Places::new(&superblock(0, 11), 4 * mib, 8 * mib).expect("it fits");
    assert_eq!((small.entry, small.section_entries), (24, 168));
    assert_eq!(
        (small.section_sectors, small.tags_start()),
        (176, 4096 + 11 * 176 * 512)
    );
    let large = Places::new(&superblock(3, 5), 4 * mib, 8 * mib).expect("it fits");
    assert_eq!((large.entry, large.section_entries), (80, 48));
    assert_eq!((large.section_sectors, large.blocks), (392, 1024));
    assert_eq!(
        large.tags_of(1023, 1),
        Range::new(large.tags_start() + 4092, 4)
    );
    assert_eq!((small.bit_of(8191), small.bitmap_len()), (0, 4096));
}

/// What has no room is refused, at the byte: data, checksums, bitmaps, and journals that are too
/// long to be read.
#[test]
fn what_does_not_fit_is_refused() {
    let one = superblock(0, 11);
    let end = 4096 + 11 * 176 * 512 + 32768;
    assert!(Places::new(&one, 8192 * 512, end).is_ok());
    assert!(Places::new(&one, 8192 * 512, end - 1).is_err());
    assert!(Places::new(&one, 511, end).is_err());
    assert!(Places::new(&superblock(0, u32::MAX), 4096, u64::MAX).is_err());
    let tiny = Superblock {
        log2_bit: 0,
        has_bitmap: true,
        ..superblock(0, 1)
    };
    // A section is 90112 bytes: bits for so many blocks, and not for 4 KiB more.
    let blocks = 90112 * 8;
    assert!(Places::new(&tiny, blocks * SECTOR, 1 << 40).is_ok());
    assert!(Places::new(&tiny, (blocks + 1) * SECTOR, 1 << 40).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Nothing overlaps: walking over the metadata byte by byte, each checksum comes where the
    /// places say, behind the journal.
    #[test]
    fn checksums_follow_each_other(
        log2_block in 0..4_u8,
        sections in 1..20_u32,
        blocks in 1..3000_u64,
    ) {
        let block = SECTOR << log2_block;
        let superblock = superblock(log2_block, sections);
        let places = Places::new(&superblock, blocks * block, 1 << 30).expect("it fits");
        let mut next = 4096 + u64::from(sections) * places.section_len();
        for at in 0..blocks {
            let tags = places.tags_of(at, 1);
            assert_eq!((tags.start(), tags.len()), (next, 4));
            next = tags.end();
            assert_eq!(places.blocks_of(Range::new(at * block, block)), (at, 1));
            assert_eq!(places.sector_of(at) * SECTOR, at * block);
        }
        assert!(places.section_len() == (places.section_entries * block) + 4096);
    }
}
