//! Where what is kept beside the data lies: superblock, journal or bitmap, checksums.
//!
//! ```text
//!   data        block 0 │ block 1 │ block 2 │ …                     as they are, nothing between
//!
//!   metadata    superblock │ section 0 │ section 1 │ … │ checksum of block 0, of block 1, …
//!               4 KiB      └ or one bitmap over all ─┘   4 bytes each
//!
//!   section     8 sectors of entries │ data of entry 0 │ data of entry 1 │ …
//!                                      a block each
//!   sector      entries, or data: 504 bytes │ its commit id, 8 bytes
//!   entry       sector of the block, 8 │ the last 8 bytes of each of its sectors │ checksum, 4
//!               rounded up to a multiple of 8; entry n is in sector n % 8, and there the n / 8 th
//! ```
//!
//! Everything is computed from the superblock and the sizes of the two devices, which need not fit:
//! what does not lie on them is refused here, and nothing behind this asks again. Of the 504 bytes
//! of a sector of entries the last 8 are kept free for a sum with a key, which LVM2 never asks for;
//! how many entries fit in is not changed by that.

use block::Range;

use super::sums::TAG;
use super::superblock::Superblock;
use crate::{Error, Kind, Result};

/// Bytes of a sector.
pub(super) const SECTOR: u64 = 512;
/// Sectors of entries of a section.
pub(super) const ENTRY_SECTORS: u64 = 8;
/// Bytes of a commit id, at the end of each sector of the journal.
pub(super) const COMMIT: usize = 8;
/// Bytes of a sector in front of its commit id.
pub(super) const SECTOR_DATA: usize = SECTOR as usize - COMMIT;
/// Bytes of an entry's sector number.
pub(super) const ENTRY_HEAD: usize = 8;
/// The longest journal that is read, in bytes: twice what a kernel makes by itself. It is held in
/// memory while it is looked at.
const JOURNAL_MAX: u64 = 128 << 20;
/// Where the journal begins on the metadata.
pub(super) const JOURNAL_START: u64 = Superblock::LEN as u64;
/// What a bitmap is written in, in bytes.
pub(super) const BITMAP_BLOCK: u64 = 4096;

/// See the module. All is in bytes unless it says otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// Bytes of a block.
    pub(super) block: u64,
    /// Blocks that have a checksum.
    pub(super) blocks: u64,
    /// Sections of the journal.
    pub(super) sections: u64,
    /// Sectors of a section.
    pub(super) section_sectors: u64,
    /// Entries of a section.
    pub(super) section_entries: u64,
    /// Bytes of an entry.
    pub(super) entry: usize,
    /// log2 of the blocks of a bit.
    log2_bit: u8,
}

impl Places {
    /// Where all of it is, on devices of so many bytes.
    ///
    /// # Errors
    ///
    /// They have no room for it; which, and for what.
    pub fn new(superblock: &Superblock, data: u64, metadata: u64) -> Result<Self> {
        let sectors = 1_u64 << superblock.log2_block;
        let block = sectors * SECTOR;
        let entry = ENTRY_HEAD + COMMIT * sectors as usize + TAG;
        let entry = entry.next_multiple_of(8);
        let section_entries = (SECTOR_DATA / entry) as u64 * ENTRY_SECTORS;
        let places = Self {
            block,
            blocks: data / block,
            sections: u64::from(superblock.journal_sections),
            section_sectors: section_entries * sectors + ENTRY_SECTORS,
            section_entries,
            entry,
            log2_bit: superblock.log2_bit,
        };
        assert!(section_entries > 0, "each section has entries");
        if places.blocks == 0 {
            return Err(small("data", data, block));
        }
        if places.journal_len() > JOURNAL_MAX {
            let what = format!(
                "its journal has {} bytes; {JOURNAL_MAX} are read at most",
                places.journal_len()
            );
            return Err(Error::new(Kind::TooComplex, what));
        }
        let end = places.tags_start().saturating_add(places.tags_len());
        if end > metadata {
            return Err(small("checksums", metadata, end));
        }
        if superblock.has_bitmap && places.bitmap_len() > places.journal_len() {
            return Err(small("a bitmap", places.journal_len(), places.bitmap_len()));
        }
        Ok(places)
    }

    /// Blocks that have a checksum.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Bytes of the journal.
    pub fn journal_len(&self) -> u64 {
        // Both are of 32 bits at most.
        self.sections * self.section_sectors * SECTOR
    }

    /// Bytes of a section.
    pub(super) fn section_len(&self) -> u64 {
        self.section_sectors * SECTOR
    }

    /// Where a section begins on the metadata.
    pub(super) fn section_start(&self, section: u64) -> u64 {
        assert!(section < self.sections, "it is in the ring");
        JOURNAL_START + section * self.section_len()
    }

    /// Where the checksums begin on the metadata.
    pub(super) fn tags_start(&self) -> u64 {
        JOURNAL_START + self.journal_len()
    }

    /// Bytes of all checksums, with what they are written in.
    fn tags_len(&self) -> u64 {
        let len = self.blocks.checked_mul(TAG as u64);
        len.and_then(|len| len.checked_next_multiple_of(BITMAP_BLOCK))
            .unwrap_or(u64::MAX)
    }

    /// The blocks of some bytes of the data, which begin and end with one: the first one, and how
    /// many.
    pub(super) fn blocks_of(&self, range: Range) -> (u64, u64) {
        assert!(range.is_aligned(self.block), "requests are of whole blocks");
        let (first, count) = (range.start() / self.block, range.len() / self.block);
        assert!(
            first + count <= self.blocks,
            "requests are of what is there"
        );
        (first, count)
    }

    /// Where the checksums of these blocks are on the metadata.
    pub(super) fn tags_of(&self, first: u64, count: u64) -> Range {
        assert!(first + count <= self.blocks, "each has one");
        Range::new(self.tags_start() + first * TAG as u64, count * TAG as u64)
    }

    /// The sector at which a block begins.
    pub(super) fn sector_of(&self, block: u64) -> u64 {
        block * (self.block / SECTOR)
    }

    /// Which bit is about a block.
    pub(super) fn bit_of(&self, block: u64) -> u64 {
        block >> self.log2_bit
    }

    /// The blocks that a bit is about.
    pub(super) fn blocks_of_bit(&self, bit: u64) -> std::ops::Range<u64> {
        let of = |bit: u128| u64::try_from(bit << self.log2_bit).unwrap_or(u64::MAX);
        let (start, end) = (of(bit.into()), of(u128::from(bit) + 1));
        start.min(self.blocks)..end.min(self.blocks)
    }

    /// Bytes of the bitmap, with what it is written in.
    pub(super) fn bitmap_len(&self) -> u64 {
        let bits = self.bit_of(self.blocks - 1) + 1;
        bits.div_ceil(8).next_multiple_of(BITMAP_BLOCK)
    }
}

fn small(what: &str, has: u64, needs: u64) -> Error {
    let what = format!("it has {has} bytes for {what}, which need {needs}");
    Error::new(Kind::DeviceTooSmall, what)
}

#[cfg(test)]
pub(crate) mod tests;
