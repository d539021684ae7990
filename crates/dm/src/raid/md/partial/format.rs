//! What stands in a log of partial parity: a header, and behind it partial parity.
//!
//! ```text
//!     0  ff:512                       512  signature   516  zeros
//!   520  generation                   528  entries     532  CRC-32C, counted with zeros here
//!   536  entries, of 24 bytes each:     0  sector of the array   8  bytes of partial parity
//!                                      12  bytes of data        16  leg of the parity
//!                                      20  CRC-32C of the partial parity
//!  4096  the partial parity of each entry that has some, one behind the other
//!                                                                        all little-endian
//! ```
//!
//! An entry is about data chunks of a row that follow one another, of which the same run of bytes
//! is written, from its sector on. Without partial parity it is about whole rows. The signature is
//! a CRC-32C of the array's UUID.
//!
//! A log may hold several headers, each behind what the one before it has. They have rising
//! generations, and the last one of them counts.

use crate::crc32c::crc32c;

/// Bytes of a header.
pub const HEADER: u64 = 4096;
const RESERVED: usize = 512;
const SIGNATURE_AT: usize = 512;
const GENERATION_AT: usize = 520;
const COUNT_AT: usize = 528;
const SUM_AT: usize = 532;
const ENTRIES_AT: usize = 536;
const ENTRY_LEN: usize = 24;

/// What stands before partial parity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Which array it is of.
    pub signature: u32,
    /// Of two headers the later one has more.
    pub generation: u64,
    /// What was about to be written.
    pub entries: Vec<Entry>,
}

/// What was about to be written, of one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The first sector of the array.
    pub sector: u64,
    /// Bytes of partial parity: the run of bytes of a leg; 0 where all data are written.
    pub parity_len: u32,
    /// Bytes of data.
    pub data_len: u32,
    /// Which leg gets the parity.
    pub leg: u32,
    /// The sum of the partial parity.
    pub sum: u32,
}

impl Entry {
    /// One that nobody can recover: whoever finds it brings all in sync that is not clean.
    pub fn never(sector: u64, leg: u32) -> Self {
        Self {
            sector,
            parity_len: 0,
            data_len: 0,
            leg,
            // The sum of nothing is zero.
            sum: u32::MAX,
        }
    }
}

impl Header {
    /// Entries that there is room for.
    pub const ENTRIES_MAX: usize = (HEADER as usize - ENTRIES_AT) / ENTRY_LEN;

    /// As it is written.
    pub fn encode(&self) -> Vec<u8> {
        assert!(
            self.entries.len() <= Self::ENTRIES_MAX,
            "there is no more room"
        );
        let mut bytes = vec![0; HEADER as usize];
        bytes[..RESERVED].fill(0xff);
        put(&mut bytes, SIGNATURE_AT, &self.signature.to_le_bytes());
        put(&mut bytes, GENERATION_AT, &self.generation.to_le_bytes());
        let count = self.entries.len() as u32;
        put(&mut bytes, COUNT_AT, &count.to_le_bytes());
        for (number, entry) in self.entries.iter().enumerate() {
            let at = ENTRIES_AT + number * ENTRY_LEN;
            put(&mut bytes, at, &entry.sector.to_le_bytes());
            put(&mut bytes, at + 8, &entry.parity_len.to_le_bytes());
            put(&mut bytes, at + 12, &entry.data_len.to_le_bytes());
            put(&mut bytes, at + 16, &entry.leg.to_le_bytes());
            put(&mut bytes, at + 20, &entry.sum.to_le_bytes());
        }
        let sum = crc32c(&bytes);
        put(&mut bytes, SUM_AT, &sum.to_le_bytes());
        bytes
    }

    /// Reads one; `None`: it is none.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..HEADER as usize)?;
        let mut summed = bytes.to_vec();
        put(&mut summed, SUM_AT, &[0; 4]);
        if crc32c(&summed) != word(bytes, SUM_AT) {
            return None;
        }
        let count = word(bytes, COUNT_AT) as usize;
        if count > Self::ENTRIES_MAX {
            return None;
        }
        let entry = |number: usize| {
            let at = ENTRIES_AT + number * ENTRY_LEN;
            Entry {
                sector: long(bytes, at),
                parity_len: word(bytes, at + 8),
                data_len: word(bytes, at + 12),
                leg: word(bytes, at + 16),
                sum: word(bytes, at + 20),
            }
        };
        Some(Self {
            signature: word(bytes, SIGNATURE_AT),
            generation: long(bytes, GENERATION_AT),
            entries: (0..count).map(entry).collect(),
        })
    }
}

/// A log of so many bytes in which nothing is: headers that stood behind the first one would count.
pub fn empty(signature: u32, generation: u64, len: u64) -> Vec<u8> {
    assert!(len >= HEADER, "a log has room for a header");
    let header = Header {
        signature,
        generation,
        entries: Vec::new(),
    };
    let mut bytes = header.encode();
    bytes.resize(len as usize, 0);
    bytes
}

/// Bytes that a log needs so that any run of a row with such chunks has room.
pub fn room_for(chunk: u64) -> u64 {
    HEADER.saturating_add(chunk.max(HEADER))
}

/// What the headers of an array of this UUID are signed with.
pub fn signature(uuid: &[u8; 16]) -> u32 {
    crc32c(uuid)
}

/// The sum of partial parity, as entries have it.
pub fn sum(partial: &[u8]) -> u32 {
    crc32c(partial)
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests;
