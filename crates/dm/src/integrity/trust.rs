//! Which blocks have a checksum that means something.
//!
//! ```text
//!   block     0 … │ … until … │ … the end
//!             have one         not computed yet      the superblock says how far they are
//!                  └ but those whose bit is set: they were being written when all ended
//! ```
//!
//! A block whose checksum means nothing is read as it is: nothing is known against it. What the
//! journal holds is compared with its checksums there, and needs none here.

use std::ops::Range;

use super::places::{Places, SECTOR};
use super::superblock::Superblock;

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trust {
    /// The first block that has none.
    until: u64,
    /// A bit for each run of blocks, least significant first: set, they have none.
    bits: Vec<u8>,
    /// Where `until` was at first: only behind it is known that what comes is computed whole.
    began: u64,
}

impl Trust {
    /// Nobody has used it: there are none.
    pub(super) fn nothing() -> Self {
        Self {
            until: 0,
            bits: Vec::new(),
            began: 0,
        }
    }

    /// What a superblock says, and the bitmap where it has one.
    pub(super) fn new(superblock: &Superblock, places: &Places, bits: &[u8]) -> Self {
        assert!(
            bits.is_empty() || bits.len() as u64 == places.bitmap_len(),
            "a bitmap has a bit for each block"
        );
        let sectors = places.block / SECTOR;
        let computed = superblock.recalculated.unwrap_or(u64::MAX);
        // What was added since is computed by whoever uses it next.
        let until = computed.min(superblock.provided_sectors) / sectors;
        let until = until.min(places.blocks);
        Self {
            until,
            bits: bits.to_vec(),
            began: until,
        }
    }

    /// Whether a block has one.
    pub(super) fn has(&self, places: &Places, block: u64) -> bool {
        if block >= self.until {
            return false;
        }
        let bit = places.bit_of(block);
        let byte = self.bits.get((bit / 8) as usize);
        byte.is_none_or(|byte| byte >> (bit % 8) & 1 == 0)
    }

    /// The first block from which on no block has one.
    pub(super) fn until(&self) -> u64 {
        self.until
    }

    /// Whether a block of this bit has none.
    pub(super) fn lacks_in(&self, places: &Places, bit: u64) -> bool {
        let byte = self.bits.get((bit / 8) as usize);
        let is_set = byte.is_some_and(|byte| byte >> (bit % 8) & 1 == 1);
        is_set || places.blocks_of_bit(bit).end > self.until
    }

    /// Some blocks that have none, at most so many; `done` of those that come first are computed.
    pub(super) fn next(&self, places: &Places, done: u64, most: u64) -> Option<Range<u64>> {
        let all = if self.until < places.blocks {
            self.until..places.blocks
        } else {
            let at = self.bits.iter().position(|byte| *byte != 0)?;
            let bit = at as u64 * 8 + u64::from(self.bits[at].trailing_zeros());
            places.blocks_of_bit(bit)
        };
        let start = all.start + done;
        (start < all.end).then(|| start..all.end.min(start + most))
    }

    /// These blocks have one from now on, which [`Trust::next`] named; how many of those that come
    /// next are computed, which is to be said to it.
    pub(super) fn computed(&mut self, places: &Places, blocks: &Range<u64>) -> u64 {
        assert!(
            !blocks.is_empty() && blocks.end <= places.blocks,
            "they are there"
        );
        if blocks.start == self.until {
            self.until = blocks.end;
            for bit in places.bit_of(self.began)..=places.bit_of(blocks.end - 1) {
                let of = places.blocks_of_bit(bit);
                if of.start >= self.began && of.end <= self.until {
                    self.clear(bit);
                }
            }
            return 0;
        }
        let bit = places.bit_of(blocks.start);
        let of = places.blocks_of_bit(bit);
        assert!(blocks.end <= of.end, "it is of one bit");
        if blocks.end < of.end {
            return blocks.end - of.start;
        }
        self.clear(bit);
        0
    }

    fn clear(&mut self, bit: u64) {
        if let Some(byte) = self.bits.get_mut((bit / 8) as usize) {
            *byte &= !(1 << (bit % 8));
        }
    }

    /// How many of these blocks have none.
    pub(super) fn lacking(&self, places: &Places) -> u64 {
        let mut lacking = places.blocks - self.until;
        let set = self.bits.iter().enumerate().flat_map(|(at, byte)| {
            let bits = (0..8).filter(move |bit| byte >> bit & 1 == 1);
            bits.map(move |bit| at as u64 * 8 + bit)
        });
        for bit in set {
            let blocks = places.blocks_of_bit(bit);
            lacking += blocks.end.min(self.until).saturating_sub(blocks.start);
        }
        assert!(lacking <= places.blocks, "each is counted once");
        lacking
    }
}
