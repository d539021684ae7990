//! Entries of partial parity, in md's logs: see `md/partial`.
//!
//! ```text
//!   strokes ─▸ header, partial parity, on the legs of their parity ─▸ data, parity ─▸ flushed
//!                   ╰───────────────────── the next header is over the last one ◂────────╯
//! ```
//!
//! A header stands at the beginning of each log, never behind another one, and zeros stand behind
//! what it has: whoever looks for a later one finds none. So a log has room for one batch. A leg
//! whose log has entries of strokes that are under way gets no others; all strokes end, and legs
//! are flushed, before its next header.
//!
//! What is entered of a piece is the sum of what nobody writes: that of all that *is* written,
//! parity included. Where a leg of them is missing, what is written of the others counts alone;
//! what that leg holds is part of the sum then, and is right whatever becomes of them.
//!
//! As long as something is in doubt besides, and until what mended it is durable, each header has
//! an entry that nobody can recover: who finds it brings all in sync, and does not take the array
//! for clean because of the others.

use block::parity;

use super::super::array::Array;
use super::super::config::ArrayConfig;
use super::super::md::partial::{Entry, HEADER, Header};
use super::super::strokes::Entered;
use super::super::update::members;
use super::format::BLOCK;
use super::state::{Journal, SECTOR};
use crate::crc32c::crc32c;

/// Entries of a header: one is left for what is in doubt.
const ENTRIES_MAX: usize = Header::ENTRIES_MAX - 1;

/// The data chunks of its row that something entered is about, the first one and how many; `None`:
/// parity is written alone.
fn chunks(config: &ArrayConfig, entered: &Entered<'_>) -> Option<(usize, usize)> {
    let geometry = config.geometry();
    let row = geometry.row(entered.run.start() / geometry.chunk());
    let indexes: Vec<usize> = members(entered.legs)
        .filter_map(|leg| row.index(leg))
        .collect();
    let (first, last) = (*indexes.iter().min()?, *indexes.iter().max()?);
    Some((first, last - first + 1))
}

/// Bytes of partial parity of something entered.
fn partial_len(config: &ArrayConfig, entered: &Entered<'_>) -> u64 {
    match chunks(config, entered) {
        Some((_, count)) if count < config.geometry().data_legs() => entered.run.len(),
        Some(_) | None => 0,
    }
}

/// The entry of something, and its partial parity.
fn entry(config: &ArrayConfig, leg: usize, entered: &Entered<'_>) -> Option<(Entry, Vec<u8>)> {
    let (first, count) = chunks(config, entered)?;
    let geometry = config.geometry();
    let (chunk, all) = (geometry.chunk(), geometry.data_legs());
    let (number, inside) = (entered.run.start() / chunk, entered.run.start() % chunk);
    let start = (number * all as u64 + first as u64) * chunk + inside;
    let mut partial = vec![0; partial_len(config, entered) as usize];
    if !partial.is_empty() {
        for (_, bytes) in entered.bytes() {
            parity::xor_into(&mut partial, bytes);
        }
    }
    let data_len = entered.run.len() * count as u64;
    let entry = Entry {
        sector: start / SECTOR,
        parity_len: partial.len() as u32,
        data_len: u32::try_from(data_len).expect("a log has room for a chunk only"),
        leg: leg as u32,
        sum: crc32c(&partial),
    };
    Some((entry, partial))
}

impl Array {
    /// The first of the strokes that wait, as many as there is room for, and how many bytes each
    /// leg gets of them.
    pub(super) fn partial_batch(&self, journal: &Journal) -> (Vec<usize>, Vec<u64>) {
        let mut needs = vec![(0_u64, 0_usize); journal.tails.len()];
        let mut strokes = Vec::new();
        for id in &journal.waiting {
            let mut more = needs.clone();
            for entered in self.entered(*id) {
                for leg in members(entered.journals) {
                    let (bytes, entries) = &mut more[leg];
                    *bytes = (*bytes).max(HEADER) + partial_len(&self.config, &entered);
                    *entries += 1;
                }
            }
            let has_room = |((bytes, entries), tail): (&(u64, usize), &u64)| {
                let is_free = *bytes == 0 || *tail == BLOCK;
                is_free && *bytes <= journal.area.len() && *entries <= ENTRIES_MAX
            };
            if !more.iter().zip(&journal.tails).all(has_room) {
                break;
            }
            needs = more;
            strokes.push(*id);
        }
        (strokes, needs.into_iter().map(|(bytes, _)| bytes).collect())
    }

    /// What legs get of these strokes: leg, first byte, bytes.
    pub(super) fn partial_writes(
        &mut self,
        signature: u32,
        strokes: &[usize],
        needs: &[u64],
    ) -> Vec<(usize, u64, Vec<u8>)> {
        let mut logs = vec![(Vec::new(), Vec::new()); needs.len()];
        for id in strokes {
            for entered in self.entered(*id) {
                for leg in members(entered.journals) {
                    if let Some((entry, partial)) = entry(&self.config, leg, &entered) {
                        logs[leg].0.push(entry);
                        logs[leg].1.extend(partial);
                    }
                }
            }
        }
        let journal = self.journal.as_mut().expect("it has one");
        journal.session.generation += 1;
        let mut writes = Vec::new();
        for (leg, (mut entries, partial)) in logs.into_iter().enumerate() {
            if needs[leg] == 0 {
                continue;
            }
            assert_eq!(needs[leg], HEADER + partial.len() as u64, "it was counted");
            if journal.is_doubtful {
                entries.push(Entry::never(0, leg as u32));
            }
            let header = Header {
                signature,
                generation: journal.session.generation,
                entries,
            };
            let mut bytes = header.encode();
            bytes.extend(partial);
            // A later header would begin here, or at the next block.
            let end = bytes.len().next_multiple_of(BLOCK as usize) + BLOCK as usize;
            bytes.resize(end.min(journal.area.len() as usize), 0);
            writes.push((leg, journal.area.start(), bytes));
        }
        writes
    }
}
