//! The bitmap as it is on the disk: whose bit is set has checksums that a loss of power may make
//! wrong.
//!
//! ```text
//!   write ─▸ its bit is set, durably ─▸ data and checksum, in any order ─▸ …
//!   later    no writes for a while ─▸ flushed ─▸ bits are cleared, but for what has no checksum
//! ```
//!
//! What is in memory is what the disk holds, or is being told. Whole sectors of it are written.

use std::collections::BTreeSet;

use block::{Buffer, Range};

use super::places::{JOURNAL_START, Places};
use super::trust::Trust;

/// See the module.
#[derive(Debug)]
pub(super) struct Marks {
    bits: Vec<u8>,
    /// Bytes that are written at once.
    unit: u64,
}

impl Marks {
    /// What the disk holds, which is written so many bytes at once.
    pub(super) fn new(places: &Places, bits: Vec<u8>, unit: u64) -> Self {
        assert_eq!(bits.len() as u64, places.bitmap_len(), "a bit for each");
        assert!(places.bitmap_len().is_multiple_of(unit), "of whole units");
        Self { bits, unit }
    }

    /// What has to be written, and where, before these blocks are: nothing if it is there.
    pub(super) fn set(
        &mut self,
        places: &Places,
        blocks: impl Iterator<Item = std::ops::Range<u64>>,
    ) -> Vec<(u64, Buffer)> {
        let mut units = BTreeSet::new();
        for blocks in blocks {
            assert!(!blocks.is_empty(), "something is written");
            for bit in places.bit_of(blocks.start)..=places.bit_of(blocks.end - 1) {
                let byte = &mut self.bits[(bit / 8) as usize];
                let mask = 1 << (bit % 8);
                if *byte & mask == 0 {
                    *byte |= mask;
                    units.insert(bit / 8 / self.unit);
                }
            }
        }
        units.into_iter().map(|unit| self.unit_of(unit)).collect()
    }

    /// What has to be written so that only those are set that have no checksum; all else is in
    /// place, durably.
    pub(super) fn settle(&mut self, places: &Places, trust: &Trust) -> Vec<(u64, Buffer)> {
        let mut units = BTreeSet::new();
        for (at, byte) in self.bits.iter_mut().enumerate() {
            let old = *byte;
            for bit in 0..8 {
                let number = at as u64 * 8 + bit;
                let is_there = !places.blocks_of_bit(number).is_empty();
                if !is_there || !trust.lacks_in(places, number) {
                    *byte &= !(1 << bit);
                } else {
                    *byte |= 1 << bit;
                }
            }
            if *byte != old {
                units.insert(at as u64 / self.unit);
            }
        }
        units.into_iter().map(|unit| self.unit_of(unit)).collect()
    }

    /// All of it, to be written.
    pub(super) fn all(&self) -> Vec<(u64, Buffer)> {
        let units = self.bits.len() as u64 / self.unit;
        (0..units).map(|unit| self.unit_of(unit)).collect()
    }

    fn unit_of(&self, unit: u64) -> (u64, Buffer) {
        let range = Range::new(unit * self.unit, self.unit);
        let bytes = &self.bits[range.start() as usize..range.end() as usize];
        (JOURNAL_START + range.start(), Buffer::copy_of(bytes))
    }
}
