//! Which blocks the journal of ext3 and ext4 holds copies of, and of what kind they are.
//!
//! ```text
//!   log   │superblock│ descriptor: block numbers │ copy │ copy │ … │ commit │ descriptor │ …
//! ```
//!
//! A block that was made and removed again within a run is free before and after it, but if it was
//! metadata the log has its copies: a directory, or a block of pointers. Transactions of all ages
//! lie in the log one behind the other; a number says how old each is.
//!
//! Numbers are big-endian here. A copy that would look like a block of the log's own has its first
//! four bytes cleared; that does not matter for telling what it is.

use std::collections::BTreeMap;

use super::big_endian::{half, word};
use crate::trace::record::Class;

const MAGIC: u64 = 0xc03b_3998;
const DESCRIPTOR: u64 = 1;
const SUPERBLOCKS: [u64; 2] = [3, 4];
/// Bytes at the head of each block of the log's own.
const HEADER: usize = 12;
const IDENTIFIER: usize = 16;

const WIDE: u64 = 0x2;
const SUMS_2: u64 = 0x8;
const SUMS_3: u64 = 0x10;
const FAST_COMMITS: u64 = 0x20;
const FAST_COMMIT_BLOCKS: u64 = 256;

/// Where an entry of a descriptor has its flags.
const FLAGS: usize = 6;
const SAME_IDENTIFIER: u64 = 0x2;
const LAST: u64 = 0x8;

/// How a block of extended attributes begins.
const ATTRIBUTES_MAGIC: u64 = 0xea02_0000;

/// What the log says of itself.
#[derive(Debug, Clone, Copy)]
struct Log {
    /// Blocks that are used in turn.
    first: u64,
    end: u64,
    next: u32,
    features: u64,
}

/// What a descriptor says of one copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Copied {
    /// The block that was copied.
    block: u64,
    /// Where in the log its copy is.
    place: u64,
    /// In which transaction.
    sequence: u32,
}

impl Log {
    /// Reads the first block of a log that has `blocks` blocks of this size. `None` if it is none.
    fn decode(bytes: &[u8], blocks: u64) -> Option<Self> {
        if bytes.len() < 1024 || word(bytes, 0) != MAGIC || !SUPERBLOCKS.contains(&word(bytes, 4)) {
            return None;
        }
        let features = match word(bytes, 4) {
            // The first version has none.
            3 => 0,
            _ => word(bytes, 0x28),
        };
        let fast = match word(bytes, 0x54) {
            _ if features & FAST_COMMITS == 0 => 0,
            0 => FAST_COMMIT_BLOCKS,
            count => count,
        };
        let end = word(bytes, 0x10).min(blocks).checked_sub(fast)?;
        let log = Self {
            first: word(bytes, 0x14),
            end,
            next: word(bytes, 0x18) as u32,
            features,
        };
        let sound = word(bytes, 0xc) == bytes.len() as u64 && log.first > 0 && log.first < end;
        sound.then_some(log)
    }

    /// The copies that follow the block at `place` of the log, if it is a descriptor.
    fn copies(&self, place: u64, bytes: &[u8]) -> Vec<Copied> {
        let mut copies = Vec::new();
        if place < self.first
            || place >= self.end
            || word(bytes, 0) != MAGIC
            || word(bytes, 4) != DESCRIPTOR
        {
            return copies;
        }
        let sequence = word(bytes, 8) as u32;
        let (length, high_at) = self.entry();
        let tail = if self.features & (SUMS_2 | SUMS_3) == 0 {
            0
        } else {
            4
        };
        let (mut at, mut copy) = (HEADER, place);
        while at + length + tail <= bytes.len() {
            let flags = half(bytes, at + FLAGS);
            let high = high_at.map_or(0, |high_at| word(bytes, at + high_at) << 32);
            copy += 1;
            if copy == self.end {
                copy = self.first;
            }
            copies.push(Copied {
                block: word(bytes, at) | high,
                place: copy,
                sequence,
            });
            at += length;
            if flags & SAME_IDENTIFIER == 0 {
                at += IDENTIFIER;
            }
            if flags & LAST != 0 || copies.len() as u64 >= self.end - self.first {
                break;
            }
        }
        copies
    }

    /// Of an entry of a descriptor: its length, and where the high half of the number is.
    fn entry(&self) -> (usize, Option<usize>) {
        let wide = self.features & WIDE != 0;
        let short = if wide { 12 } else { 8 };
        let length = match self.features {
            features if features & SUMS_3 != 0 => 16,
            // Two bytes follow that nobody uses.
            features if features & SUMS_2 != 0 => short + 2,
            _ => short,
        };
        (length, wide.then_some(8))
    }
}

/// A log that is being read, block by block.
#[derive(Debug)]
pub(super) struct Reader {
    log: Log,
    /// Of each place: what is there by its looks, and whose copy it is.
    places: Vec<(Class, Option<Copied>)>,
}

impl Reader {
    /// Of a log of so many blocks, from its first one.
    pub(super) fn new(first: &[u8], blocks: u64) -> Option<Self> {
        let log = Log::decode(first, blocks)?;
        let places = vec![(Class::Unknown, None); log.end as usize];
        Some(Self { log, places })
    }

    /// Takes the block at a place of the log.
    pub(super) fn take(&mut self, place: u64, content: &[u8]) {
        if place >= self.log.end {
            return;
        }
        self.places[place as usize].0 = class_of(content);
        for copied in self.log.copies(place, content) {
            let owner = &mut self.places[copied.place as usize].1;
            if owner.is_none_or(|before| age(copied.sequence, before.sequence) >= 0) {
                *owner = Some(copied);
            }
        }
    }

    /// What was found.
    pub(super) fn finish(self) -> Logged {
        let mut classes: BTreeMap<u64, Vec<(u32, Class)>> = BTreeMap::new();
        for (class, copied) in self.places {
            if let Some(copied) = copied {
                let entry = (copied.sequence, class);
                classes.entry(copied.block).or_default().push(entry);
            }
        }
        Logged {
            next: self.log.next,
            classes,
        }
    }
}

/// How many transactions `sequence` is younger; numbers begin again after 2^32.
fn age(sequence: u32, than: u32) -> i32 {
    sequence.wrapping_sub(than).cast_signed()
}

/// What the log knows of blocks.
#[derive(Debug, Clone, Default)]
pub(super) struct Logged {
    /// The number of the transaction that would come next, if the log is empty.
    pub(super) next: u32,
    /// Of each block: in which transactions, and what it was.
    classes: BTreeMap<u64, Vec<(u32, Class)>>,
}

impl Logged {
    /// What a block was in the youngest transaction that is not older than `since`.
    pub(super) fn class(&self, block: u64, since: Option<u32>) -> Option<Class> {
        let since = since.unwrap_or(self.next.wrapping_add(1 << 31));
        let entries = self.classes.get(&block)?.iter();
        let young = entries.filter(|(sequence, _)| age(*sequence, since) >= 0);
        let youngest = young.max_by_key(|(sequence, _)| age(*sequence, since));
        youngest.map(|(_, class)| *class)
    }

    /// The first block from `block` on that has a copy.
    pub(super) fn next(&self, block: u64) -> Option<u64> {
        self.classes.range(block..).next().map(|(&block, _)| block)
    }
}

/// What metadata is in a block that has no place of its own.
fn class_of(content: &[u8]) -> Class {
    if is_directory(content) {
        Class::Directory
    } else if super::superblock::word(content, 0) == ATTRIBUTES_MAGIC {
        Class::Auxiliary
    } else {
        Class::BlockMap
    }
}

/// Whether records of a directory fill the block to its end.
fn is_directory(content: &[u8]) -> bool {
    let mut at = 0;
    while at + 8 <= content.len() {
        let length = super::superblock::half(content, at + 4) as usize;
        let name = usize::from(content[at + 6]);
        if length < 8 || !length.is_multiple_of(4) || name + 8 > length {
            return false;
        }
        at += length;
    }
    at == content.len()
}
