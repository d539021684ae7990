//! What a journal is on a metadata leg: a head, and behind it entries.
//!
//! It stands behind the bitmap, from a multiple of 4 KiB on, where device-mapper's arrays have
//! nothing.
//!
//! ```text
//!   block 0     head          which array, which leg, mark, generation, open or ended
//!   block 1 …   entries       one behind the other, each from a sector on; what was written once
//!                             begins in a new block
//! ```
//!
//! A head, in its block; the rest is zeros:
//!
//! ```text
//!    0  magic "AshJourn"     8  mark         12  state (1: open, 2: ended)
//!   16  generation          24  array        32  place of the leg
//!   36  CRC-32 of bytes 0 to 35
//! ```
//!
//! An entry: what the legs of a row get in one run of bytes.
//!
//! ```text
//!    0  magic "AshE"         4  CRC-32 of what is behind, to the end of the bytes
//!    8  mark                12  bytes of the run
//!   16  generation          24  number        32  first byte, of each leg   40  legs, a bit each
//!   48  zeros               64  the bytes of each leg, in order             all little-endian
//! ```
//!
//! Hostile bytes are no entry, and end what is read: they were never answered for. Nothing here
//! does I/O, and nothing is believed because of its sum alone: who reads says which mark and which
//! generation count.

use block::Range;

use super::super::geometry::LEGS_MAX;
use super::super::update::{all_legs, members};
use super::super::view::LegSet;

const HEAD_MAGIC: [u8; 8] = *b"AshJourn";
const ENTRY_MAGIC: [u8; 4] = *b"AshE";
/// The bytes of a head that its sum is of.
const HEAD_SUMMED: usize = 36;
/// Where the bytes of legs begin in an entry.
const BYTES_AT: usize = 64;
/// Where what an entry's sum is of begins.
const SUMMED_AT: usize = 8;
const ZEROS: std::ops::Range<usize> = 48..BYTES_AT;
const SECTOR: u64 = 512;
/// A journal is written in blocks of so many bytes, which suits every disk.
pub(super) const BLOCK: u64 = 4096;
/// Bytes of a run at most: an entry counts them in 32 bits.
const RUN_MAX: u64 = 1 << 30;

/// Whose a journal is, and which of it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Session {
    /// The number that legs carry in their bitmaps while it counts.
    pub mark: u32,
    /// Entries of other generations are over.
    pub generation: u64,
}

/// What stands before entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Which entries behind it count.
    pub session: Session,
    /// Whether some do.
    pub state: State,
    /// Which array it is of: a sum over its identity and its shape.
    pub array: u64,
    /// Which leg it is of.
    pub leg: u32,
}

/// Whether entries count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// They do.
    Open,
    /// None does: all legs hold what they should.
    Ended,
}

/// What the legs of a row get in one run of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'b> {
    /// Counts all entries of an array: of two about the same bytes the later one holds.
    pub number: u64,
    /// The bytes of each leg, from where its data begin.
    pub run: Range,
    /// The legs that get some.
    pub legs: u64,
    /// The bytes of each of them, in order, one behind the other.
    pub bytes: &'b [u8],
}

/// What entries of an array can be about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Its legs.
    pub legs: usize,
    /// Bytes of each.
    pub leg_size: u64,
    /// Bytes of a chunk: an entry is about one row.
    pub chunk: u64,
}

impl Head {
    /// As it is written.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; BLOCK as usize];
        bytes[..8].copy_from_slice(&HEAD_MAGIC);
        bytes[8..12].copy_from_slice(&self.session.mark.to_le_bytes());
        let state: u32 = match self.state {
            State::Open => 1,
            State::Ended => 2,
        };
        bytes[12..16].copy_from_slice(&state.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.session.generation.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.array.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.leg.to_le_bytes());
        let sum = crc32fast::hash(&bytes[..HEAD_SUMMED]);
        bytes[HEAD_SUMMED..HEAD_SUMMED + 4].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reads one; `None`: it is none.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let head = bytes.first_chunk::<{ HEAD_SUMMED + 4 }>()?;
        let sum = crc32fast::hash(&head[..HEAD_SUMMED]);
        if head[..8] != HEAD_MAGIC || word(head, HEAD_SUMMED) != sum {
            return None;
        }
        let state = match word(head, 12) {
            1 => State::Open,
            2 => State::Ended,
            _ => return None,
        };
        Some(Self {
            session: Session {
                mark: word(head, 8),
                generation: long(head, 16),
            },
            state,
            array: long(head, 24),
            leg: word(head, 32),
        })
    }
}

/// How many bytes an entry takes in which so many legs get a run of so many bytes.
pub(super) fn entry_len(legs: u32, run: u64) -> u64 {
    let bytes = u64::from(legs).saturating_mul(run);
    bytes
        .saturating_add(BYTES_AT as u64)
        .next_multiple_of(SECTOR)
}

/// Appends an entry of `session`: number, run, and the bytes of legs, in order.
pub(super) fn append<'b>(
    journal: &mut Vec<u8>,
    session: Session,
    (number, run): (u64, Range),
    legs: impl Iterator<Item = (usize, &'b [u8])>,
) {
    let start = journal.len();
    assert!(run.len() <= RUN_MAX, "a run is of one chunk of a row");
    journal.resize(start + BYTES_AT, 0);
    let mut set: LegSet = 0;
    for (leg, bytes) in legs {
        assert_eq!(bytes.len() as u64, run.len(), "a run is as long everywhere");
        assert_eq!(set >> leg, 0, "legs are in order");
        set |= 1 << leg;
        journal.extend_from_slice(bytes);
    }
    assert!(set != 0, "some leg gets something");
    let entry = &mut journal[start..];
    entry[..4].copy_from_slice(&ENTRY_MAGIC);
    entry[8..12].copy_from_slice(&session.mark.to_le_bytes());
    entry[12..16].copy_from_slice(&(run.len() as u32).to_le_bytes());
    entry[16..24].copy_from_slice(&session.generation.to_le_bytes());
    entry[24..32].copy_from_slice(&number.to_le_bytes());
    entry[32..40].copy_from_slice(&run.start().to_le_bytes());
    entry[40..48].copy_from_slice(&set.to_le_bytes());
    let sum = crc32fast::hash(&entry[SUMMED_AT..]);
    entry[4..8].copy_from_slice(&sum.to_le_bytes());
    let len = entry_len(set.count_ones(), run.len()) as usize;
    journal.resize(start + len, 0);
}

impl<'b> Entry<'b> {
    /// The bytes of each leg that gets some.
    pub fn legs(&self) -> impl Iterator<Item = (usize, &'b [u8])> {
        members(self.legs).zip(self.bytes.chunks_exact(self.run.len() as usize))
    }

    /// Reads one that `journal` begins with, and how many bytes it takes; `None`: it is none of
    /// `session`, or of no such array.
    fn decode(journal: &'b [u8], session: Session, bounds: &Bounds) -> Option<(Self, usize)> {
        let head = journal.first_chunk::<BYTES_AT>()?;
        if head[..4] != ENTRY_MAGIC || head[ZEROS].iter().any(|byte| *byte != 0) {
            return None;
        }
        let theirs = Session {
            mark: word(head, 8),
            generation: long(head, 16),
        };
        let (start, len, legs) = (long(head, 32), u64::from(word(head, 12)), long(head, 40));
        let end = start.checked_add(len)?;
        let is_whole = start.is_multiple_of(SECTOR) && len.is_multiple_of(SECTOR) && len > 0;
        let is_one_row = is_whole && start / bounds.chunk == (end - 1) / bounds.chunk;
        let has_legs = legs != 0 && legs & !all_legs(bounds.legs) == 0;
        if theirs != session || !is_one_row || !has_legs || end > bounds.leg_size {
            return None;
        }
        let all = u64::from(legs.count_ones()).checked_mul(len)?;
        let all = usize::try_from(all).ok()?.checked_add(BYTES_AT)?;
        let entry = journal.get(..all)?;
        if crc32fast::hash(&entry[SUMMED_AT..]) != word(head, 4) {
            return None;
        }
        let read = Self {
            number: long(head, 24),
            run: Range::new(start, len),
            legs,
            bytes: &entry[BYTES_AT..],
        };
        Some((read, entry_len(legs.count_ones(), len) as usize))
    }

    /// The entries that `journal`, which begins behind its head, has of `session`: those in front
    /// of the first bytes that are none.
    pub fn read_all(journal: &'b [u8], session: Session, bounds: &Bounds) -> Vec<Self> {
        assert!((1..=LEGS_MAX).contains(&bounds.legs), "an array has some");
        assert!(bounds.chunk > 0, "chunks hold something");
        let mut entries: Vec<Self> = Vec::new();
        let mut at = 0;
        while at < journal.len() {
            let last = entries.last().map(|entry| entry.number);
            let read = Self::decode(&journal[at..], session, bounds);
            let read = read.filter(|(entry, _)| last.is_none_or(|last| last < entry.number));
            if let Some((entry, len)) = read {
                entries.push(entry);
                at += len;
                continue;
            }
            // What was written at once may end before its block does.
            let next = at.next_multiple_of(BLOCK as usize).min(journal.len());
            if next == at || journal[at..next].iter().any(|byte| *byte != 0) {
                break;
            }
            at = next;
        }
        entries
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests;
