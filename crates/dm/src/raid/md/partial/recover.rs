//! Sums parity anew after a cut, from logs of partial parity.
//!
//! ```text
//!   log of each leg ─▸ last header ─▸ entries ─▸ Σ data that were being written ⊕ partial = parity
//! ```
//!
//! It may be done again, whenever it was cut short: nothing that it reads is written. What does
//! not add up is counted and left as it is: who asks must bring all in sync then, as the kernel
//! does. Where a leg is missing of those whose data were being written, nothing is known, and
//! parity stays.
//!
//! Bytes of a log are believed as little as any: what an entry says must lie in one row whose
//! parity is on that leg, else it counts as one that does not add up.

use block::{Range, parity};

use super::format::{Entry, HEADER, Header};
use crate::Result;
use crate::crc32c::crc32c;
use crate::raid::geometry::{Geometry, Scheme};
use crate::raid::rotation::{Parity, Row};

const SECTOR: u64 = 512;
/// Bytes of each leg that are summed at a time.
const PIECE: u64 = 64 << 10;

/// How the legs of an array are reached.
pub trait Logs {
    /// Bytes of a leg's log.
    ///
    /// # Errors
    ///
    /// They cannot be read.
    fn log(&mut self, leg: usize, range: Range) -> Result<Vec<u8>>;

    /// Bytes of a leg, from where its data begin.
    ///
    /// # Errors
    ///
    /// They cannot be read.
    fn read(&mut self, leg: usize, range: Range) -> Result<Vec<u8>>;

    /// Writes bytes of a leg, which may not be durable yet.
    ///
    /// # Errors
    ///
    /// They cannot be written.
    fn write(&mut self, leg: usize, start: u64, bytes: &[u8]) -> Result<()>;
}

/// An array whose parity is to be summed anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovery {
    /// How it is laid out.
    pub geometry: Geometry,
    /// What its headers are signed with.
    pub signature: u32,
    /// Its legs, in order: up to which byte each is right, and the bytes of its log; `None`: it is
    /// missing.
    pub legs: Vec<Option<(u64, u64)>>,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Entries that added up.
    pub recovered: usize,
    /// Legs without a header, and entries that did not.
    pub mismatches: usize,
}

/// What an entry is about.
#[derive(Debug)]
struct Run {
    row: Row,
    /// The bytes of each leg.
    bytes: Range,
    /// The data chunks of the row that were being written.
    chunks: std::ops::Range<usize>,
}

impl Outcome {
    /// Whether all that was cut short is right now.
    pub fn is_complete(self) -> bool {
        self.recovered > 0 && self.mismatches == 0
    }
}

impl Recovery {
    /// Does it.
    ///
    /// # Errors
    ///
    /// A leg cannot be read or written.
    pub fn run(&self, io: &mut impl Logs) -> Result<Outcome> {
        let scheme = self.geometry.scheme();
        assert!(
            matches!(scheme, Scheme::Parity(Parity::One, _)),
            "only level 5 has such logs"
        );
        assert_eq!(self.legs.len(), self.geometry.legs(), "each leg is told of");
        let mut outcome = Outcome::default();
        for (leg, known) in self.legs.iter().enumerate() {
            let Some((_, len)) = known else {
                continue;
            };
            let Some((header, at)) = self.last_header(io, leg, *len)? else {
                outcome.mismatches += 1;
                continue;
            };
            let mut at = at + HEADER;
            for entry in &header.entries {
                let partial = Range::checked(at, u64::from(entry.parity_len));
                let partial = partial.filter(|range| range.end() <= *len);
                if self.recover(io, leg, (entry, partial))? {
                    outcome.recovered += 1;
                } else {
                    outcome.mismatches += 1;
                }
                at = at.saturating_add(whole_sectors(entry));
            }
        }
        Ok(outcome)
    }

    /// The header that counts in the log of a leg, and where it is; `None`: there is none.
    fn last_header(
        &self,
        io: &mut impl Logs,
        leg: usize,
        len: u64,
    ) -> Result<Option<(Header, u64)>> {
        let mut last: Option<(Header, u64)> = None;
        let mut at = 0_u64;
        // Behind each header is room for what it is about.
        while at.checked_add(HEADER).is_some_and(|end| end < len) {
            let bytes = io.log(leg, Range::new(at, HEADER))?;
            let header = Header::decode(&bytes);
            let header = header.filter(|header| header.signature == self.signature);
            let Some(header) = header else {
                break;
            };
            let before = last.as_ref().map(|(before, _)| before.generation);
            if before.is_some_and(|before| before > header.generation) {
                break;
            }
            let next = header.entries.iter().map(whole_sectors).sum::<u64>() + HEADER;
            last = Some((header, at));
            at = at.saturating_add(next);
        }
        Ok(last)
    }

    /// Sums the parity anew that an entry is about; whether it adds up.
    fn recover(
        &self,
        io: &mut impl Logs,
        leg: usize,
        (entry, partial): (&Entry, Option<Range>),
    ) -> Result<bool> {
        let (Some(run), Some(partial)) = (self.run_of(entry, leg), partial) else {
            return Ok(false);
        };
        let partial = if partial.is_empty() {
            Vec::new()
        } else {
            io.log(leg, partial)?
        };
        if crc32c(&partial) != entry.sum {
            return Ok(false);
        }
        let legs: Vec<usize> = run.chunks.map(|index| run.row.leg(index)).collect();
        let known = legs.iter().map(|leg| self.legs[*leg].map(|leg| leg.0));
        let known = known.map(|valid| valid.unwrap_or(0).saturating_sub(run.bytes.start()));
        let len = known.min().unwrap_or(0).min(run.bytes.len());
        for at in (0..len).step_by(PIECE as usize) {
            let piece = Range::new(run.bytes.start() + at, PIECE.min(len - at));
            let mut sum = match partial.get(at as usize..(at + piece.len()) as usize) {
                Some(partial) => partial.to_vec(),
                None => vec![0; piece.len() as usize],
            };
            for leg in &legs {
                parity::xor_into(&mut sum, &io.read(*leg, piece)?);
            }
            io.write(leg, piece.start(), &sum)?;
        }
        Ok(true)
    }

    /// What an entry in the log of a leg is about; `None`: nothing that can be.
    fn run_of(&self, entry: &Entry, leg: usize) -> Option<Run> {
        let (chunk, all) = (self.geometry.chunk(), self.geometry.data_legs() as u64);
        let start = entry.sector.checked_mul(SECTOR)?;
        let (partial, data) = (u64::from(entry.parity_len), u64::from(entry.data_len));
        let (count, len) = match partial {
            0 => (all, data / all),
            len => (data / len, len),
        };
        let is_even = count.checked_mul(len) == Some(data) && len.is_multiple_of(SECTOR);
        let row_len = chunk.checked_mul(all)?;
        let (number, inside) = (start / row_len, start % chunk);
        let index = start % row_len / chunk;
        let is_one_row = len > 0 && inside.checked_add(len)? <= chunk;
        if !is_even || !is_one_row || count == 0 || index + count > all {
            return None;
        }
        let rows = self.geometry.leg_size() / chunk;
        if number >= rows {
            return None;
        }
        let row = self.geometry.row(number);
        let is_here = row.p == leg && entry.leg as usize == leg;
        is_here.then(|| Run {
            row,
            bytes: Range::new(number * chunk + inside, len),
            chunks: index as usize..(index + count) as usize,
        })
    }
}

/// What an entry takes of a log.
fn whole_sectors(entry: &Entry) -> u64 {
    u64::from(entry.parity_len) / SECTOR * SECTOR
}

#[cfg(test)]
mod tests;
