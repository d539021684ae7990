//! The persistent exception store of the kernel's snapshots, read.
//!
//! ```text
//! chunk 0   magic:4 "SnAp"  valid:4  version:4 = 1  chunk size in sectors:4     little-endian
//! area k    at chunk 1 + (n + 1) k, with n = chunk size / 16 entries:
//!             chunk of the origin:8  chunk of the store:8      a store's chunk of 0 ends them all
//! ```
//!
//! All that is read is checked: entries that point outside of the store or the origin, at the
//! header or an area, or twice at the same chunk, are damage. There are as many areas as entries
//! fill, so a list cannot loop. A magic of zero is a store that was never used; one that is not
//! valid overflowed, or could not be written.
//!
//! Whoever goes on writing the store needs more than what differs: the entries in their order, as
//! a merge takes them from the end, and the chunk from which on nothing is used.

use block::Range;

use super::entries::Entries;
use crate::{Error, Kind, Result};

/// How many entries are read: what a snapshot of 64 GiB holds that was written over with chunks of
/// 4 KiB. They take 16 bytes each.
pub const ENTRIES_MAX: usize = 1 << 24;

/// The largest chunk that is served, in bytes. LVM2 stops at 512 KiB.
pub const CHUNK_MAX: u64 = 16 << 20;

pub(super) const MAGIC: u32 = 0x7041_6e53;
pub(super) const VERSION: u32 = 1;
pub(super) const SECTOR: u64 = 512;
pub(super) const ENTRY_LEN: usize = 16;
/// The first chunk that holds data: behind the header and the first area.
pub(super) const FIRST_DATA: u64 = 2;

/// What a store holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stored {
    /// Nothing yet: it was never used.
    Fresh,
    /// Nothing any more: it was full, or failed.
    Overflowed,
    /// What differs from the origin.
    Changes(Changes),
}

/// What differs from an origin.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    /// Bytes of a chunk: a power of two, at least a sector.
    pub chunk: u64,
    /// The bytes that differ, by their places in the origin.
    pub runs: Vec<Run>,
    /// The same as the store has it: its entries, in their order.
    pub entries: Vec<EntryRun>,
    /// The first chunk of the store behind all that is used, and no area.
    pub next_free: u64,
}

/// Entries that follow each other, each a chunk further than the one before in the origin and in
/// the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryRun {
    /// The store's chunk of the first one.
    pub new: u64,
    /// The origin's chunk of the first one.
    pub old: u64,
    /// How many there are, not 0.
    pub count: u64,
}

/// Chunks that follow each other in the origin and in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// The bytes of the origin.
    pub range: Range,
    /// Where the store holds them, in bytes.
    pub start: u64,
}

impl Changes {
    /// The bytes of the store that are in use, from its start: the chunks that it holds, and the
    /// area that ends the list of them. What is behind may be cut off.
    pub fn used(&self) -> u64 {
        if self.chunk == 0 {
            return 0;
        }
        needed(self.chunk / ENTRY_LEN as u64, &self.entries) * self.chunk
    }
}

/// An entry of an area.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    old: u64,
    new: u64,
}

/// Where things are in a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Geometry {
    /// Bytes.
    pub(super) chunk: u64,
    /// Entries of an area.
    pub(super) per_area: u64,
    /// Whole chunks of the store.
    pub(super) chunks: u64,
    /// Chunks of the snapshot; the last one may reach past its end.
    pub(super) origin_chunks: u64,
}

/// Reads a store of `size` bytes, called `name`, of an origin of `origin_size` bytes; `read` gives
/// the store's bytes, whole sectors of them.
pub fn read_store(
    name: &str,
    (size, origin_size): (u64, u64),
    mut read: impl FnMut(Range) -> block::Result<Vec<u8>>,
) -> Result<Stored> {
    let mut read =
        |range| read(range).map_err(|error| Error::device(format!("{name} cannot be read"), error));
    let damaged = |what: String| Error::new(Kind::Damaged, format!("{name}: {what}"));
    if size < SECTOR {
        return Err(damaged(format!("a store of {size} bytes has no header")));
    }
    let head = read(Range::new(0, SECTOR))?;
    let Some(chunk) = decode_header(&head).map_err(&damaged)? else {
        let is_fresh = word(&head, 0) == 0;
        return Ok(if is_fresh {
            Stored::Fresh
        } else {
            Stored::Overflowed
        });
    };
    let geometry = Geometry::new(chunk, size, origin_size);
    let mut entries = Vec::new();
    for area in 0.. {
        let range = geometry.area(area).ok_or_else(|| {
            damaged(format!(
                "its list of changes is cut off behind {} of them",
                entries.len()
            ))
        })?;
        let bytes = read(range)?;
        let is_whole = geometry
            .decode_area(&bytes, &mut entries)
            .map_err(&damaged)?;
        if !is_whole {
            break;
        }
        if entries.len() > ENTRIES_MAX {
            let what = format!("{name}: more than {ENTRIES_MAX} chunks differ from the origin");
            return Err(Error::new(Kind::TooComplex, what));
        }
    }
    let mut in_order = Entries::default();
    for Entry { old, new } in entries.iter().copied() {
        in_order.push(EntryRun { new, old, count: 1 });
    }
    let last = entries.iter().map(|entry| entry.new).max();
    let next_free = geometry.skip_area(last.map_or(FIRST_DATA, |last| last + 1));
    let runs = geometry.runs(entries, origin_size).map_err(&damaged)?;
    Ok(Stored::Changes(Changes {
        chunk,
        runs,
        entries: in_order.into_runs(),
        next_free,
    }))
}

/// The chunks that a store with areas of `per_area` entries has at least, to hold these: those with
/// data, and the area that ends the list.
pub(super) fn needed<'a>(per_area: u64, entries: impl IntoIterator<Item = &'a EntryRun>) -> u64 {
    let (mut count, mut end) = (0, 0);
    for run in entries {
        count += run.count;
        end = end.max(run.new + run.count);
    }
    end.max(area_chunk(per_area, count / per_area) + 1)
}

/// The chunk that area `number` is.
fn area_chunk(per_area: u64, number: u64) -> u64 {
    let areas = (per_area + 1).saturating_mul(number);
    areas.saturating_add(1)
}

/// The bytes of a chunk; `None`: the store is not in use, or not any more.
fn decode_header(head: &[u8]) -> std::result::Result<Option<u64>, String> {
    let [magic, valid, version, sectors] = [0, 4, 8, 12].map(|at| word(head, at));
    if magic == 0 {
        return Ok(None);
    }
    if magic != MAGIC {
        return Err(format!("{magic:#010x} is not the magic number of a store"));
    }
    if version != VERSION {
        return Err(format!(
            "version {version} of the store's format is not known"
        ));
    }
    if valid == 0 {
        return Ok(None);
    }
    let chunk = u64::from(sectors) * SECTOR;
    if !sectors.is_power_of_two() || chunk > CHUNK_MAX {
        return Err(format!(
            "chunks of {sectors} sectors; a power of two up to {} is served",
            CHUNK_MAX / SECTOR
        ));
    }
    Ok(Some(chunk))
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

impl Geometry {
    /// Of a store of `size` bytes in chunks of `chunk`, for a snapshot of `origin_size`.
    pub(super) fn new(chunk: u64, size: u64, origin_size: u64) -> Self {
        assert!(chunk >= SECTOR && chunk.is_power_of_two());
        Self {
            chunk,
            per_area: chunk / ENTRY_LEN as u64,
            chunks: size / chunk,
            origin_chunks: origin_size.div_ceil(chunk),
        }
    }

    /// The bytes of the area with this number; `None`: the store ends before it does.
    pub(super) fn area(&self, number: u64) -> Option<Range> {
        let chunk = area_chunk(self.per_area, number);
        (chunk < self.chunks).then(|| Range::new(chunk * self.chunk, self.chunk))
    }

    pub(super) fn is_area(&self, chunk: u64) -> bool {
        chunk % (self.per_area + 1) == 1
    }

    /// The next chunk from `chunk` on that may hold data.
    pub(super) fn skip_area(&self, chunk: u64) -> u64 {
        chunk + u64::from(self.is_area(chunk))
    }

    /// Takes the entries of an area; whether it is full, so that another one follows.
    fn decode_area(
        &self,
        bytes: &[u8],
        entries: &mut Vec<Entry>,
    ) -> std::result::Result<bool, String> {
        for entry in bytes.chunks_exact(ENTRY_LEN) {
            let half =
                |at: usize| u64::from_le_bytes(entry[at..at + 8].try_into().expect("eight bytes"));
            let (old, new) = (half(0), half(8));
            if new == 0 {
                return Ok(false);
            }
            if new >= self.chunks || self.is_area(new) {
                return Err(format!(
                    "change {} lies at chunk {new}, where the store has none",
                    entries.len()
                ));
            }
            if old >= self.origin_chunks {
                return Err(format!(
                    "change {} is one of chunk {old}, which the origin does not have",
                    entries.len()
                ));
            }
            entries.push(Entry { old, new });
        }
        Ok(true)
    }

    /// The entries as runs, in the order of the origin.
    fn runs(
        &self,
        mut entries: Vec<Entry>,
        origin_size: u64,
    ) -> std::result::Result<Vec<Run>, String> {
        entries.sort_unstable_by_key(|entry| entry.new);
        if let Some(pair) = entries.windows(2).find(|pair| pair[0].new == pair[1].new) {
            return Err(format!("two changes lie at chunk {}", pair[0].new));
        }
        entries.sort_unstable();
        if let Some(pair) = entries.windows(2).find(|pair| pair[0].old == pair[1].old) {
            return Err(format!("chunk {} has two changes", pair[0].old));
        }
        let mut runs: Vec<Run> = Vec::new();
        for Entry { old, new } in entries {
            let (at, start) = (old * self.chunk, new * self.chunk);
            let len = self.chunk.min(origin_size - at);
            match runs.last_mut() {
                Some(run) if run.range.end() == at && run.start + run.range.len() == start => {
                    run.range = Range::new(run.range.start(), run.range.len() + len);
                }
                _ => runs.push(Run {
                    range: Range::new(at, len),
                    start,
                }),
            }
        }
        Ok(runs)
    }
}

#[cfg(test)]
mod tests;
