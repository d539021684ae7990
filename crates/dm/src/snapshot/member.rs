//! One of the snapshots: what its store holds, what is on the way there, and how it is.

use std::collections::BTreeMap;
use std::sync::Arc;

use block::Range;

use super::commit::Round;
use super::config::SnapshotConfig;
use super::entries::Entries;
use super::exceptions::Exceptions;
use super::kept::Kept;
use super::operation::Waiter;
use super::store::{ENTRIES_MAX, EntryRun, FIRST_DATA, Geometry, Stored, needed};
use crate::{Error, Kind, Result};

/// A snapshot, with all that changes of it.
#[derive(Debug)]
pub(super) struct Member {
    /// What it is made of; what the store held has become the fields below.
    pub(super) config: SnapshotConfig,
    pub(super) geometry: Geometry,
    pub(super) health: Health,
    /// Why it is not valid.
    pub(super) why: String,
    /// Whether the store has a header.
    pub(super) header: Header,
    /// What the store holds durably, unless it was only read.
    pub(super) exceptions: Exceptions,
    /// The same, for those who ask without the home.
    pub(super) kept: Arc<Kept>,
    /// The same, in the order of its entries.
    pub(super) entries: Entries,
    /// What is on its way there, by the first chunk.
    pub(super) pending: BTreeMap<u64, Pending>,
    /// Entries that have a chunk and are not durable.
    pub(super) reserved: u64,
    /// The first chunk of the store behind all that is used, and no area.
    next_free: u64,
    /// What is in the store and has no entry.
    pub(super) copied: Vec<EntryRun>,
    /// What is being written of the areas or the header.
    pub(super) round: Option<Round>,
    /// Writes to the origin that wait until the store says that it is not valid.
    pub(super) mourners: Vec<Waiter>,
    /// Whether it was told that it is not valid.
    pub(super) is_mourned: bool,
    pub(super) is_overflowed: bool,
    /// Whether it was told that the store fills.
    pub(super) is_told: bool,
}

/// Whether a snapshot is what it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Health {
    Valid,
    /// Not any more; its store is about to say so.
    Invalidating,
    /// Its store says so, or is gone.
    Invalid,
    /// It is not, but its store says that it is, as it could not be written.
    Unmarked,
}

/// Whether a store was used before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Header {
    Missing,
    /// It has one, and all that is known of the store was read: it may be in a cache only.
    Read,
    /// It is durable, as all that is known of the store.
    Written,
}

/// Chunks in a row that are becoming exceptions.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) count: u64,
    /// How many of them are not durable yet.
    pub(super) left: u64,
    pub(super) waiters: Vec<Waiter>,
}

/// Chunks of which a store holds nothing durably.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gap {
    /// Nothing is on the way either.
    Missing { old: u64, count: u64 },
    /// They are on the way, with the others of [`Member::pending`] under this chunk.
    Pending(u64),
}

impl Member {
    pub(super) fn new(mut config: SnapshotConfig) -> Result<Self> {
        let geometry = Geometry::new(config.chunk(), config.store_size, config.size);
        let stored = std::mem::replace(&mut config.stored, Stored::Fresh);
        let mut member = Self {
            geometry,
            health: Health::Valid,
            why: String::new(),
            header: Header::Missing,
            exceptions: Exceptions::default(),
            kept: Arc::new(Kept::new(geometry.chunk, geometry.origin_chunks)),
            entries: Entries::default(),
            pending: BTreeMap::new(),
            reserved: 0,
            next_free: FIRST_DATA,
            copied: Vec::new(),
            round: None,
            mourners: Vec::new(),
            is_mourned: false,
            is_overflowed: false,
            is_told: false,
            config,
        };
        match stored {
            Stored::Fresh => {}
            Stored::Overflowed if member.config.merging => {
                let what = format!(
                    "{} is invalid, so it cannot be merged; of its origin only a part may be there",
                    member.config.name
                );
                return Err(Error::new(Kind::Damaged, what));
            }
            Stored::Overflowed => {
                member.health = Health::Invalid;
                member.header = Header::Read;
                member.kept.invalidate();
                member.is_mourned = true;
                "its store was full, or failed".clone_into(&mut member.why);
            }
            Stored::Changes(changes) => {
                let is_old = |run: &EntryRun| run.old + run.count <= geometry.origin_chunks;
                if !changes.entries.iter().all(is_old) {
                    let what = format!("{}: its store is one of more", member.config.name);
                    return Err(Error::new(Kind::InvalidLayout, what));
                }
                member.header = Header::Read;
                member.next_free = changes.next_free;
                for run in &changes.entries {
                    member.exceptions.insert(run.old, run.new, run.count);
                    member.kept.insert(*run);
                }
                member.entries = Entries::new(changes.entries);
                member.fits(&geometry)?;
            }
        }
        member.check();
        Ok(member)
    }

    /// Whether all that the store holds lies within `geometry`.
    pub(super) fn fits(&self, geometry: &Geometry) -> Result<()> {
        // `next_free` may lie behind the end of a store that is full to its last chunk.
        let needed = if self.header == Header::Missing || !self.is_valid() {
            let ends = self.entries.iter().map(|run| run.new + run.count);
            ends.max().unwrap_or(0)
        } else {
            needed(geometry.per_area, self.entries.iter())
        };
        if needed <= geometry.chunks {
            return Ok(());
        }
        let what = format!(
            "{}: {} bytes of its store are used; it cannot have {}",
            self.config.name,
            needed * geometry.chunk,
            geometry.chunks * geometry.chunk
        );
        Err(Error::new(Kind::DeviceTooSmall, what))
    }

    pub(super) fn is_valid(&self) -> bool {
        self.health == Health::Valid
    }

    /// Whether what is written to the origin is first copied to it.
    pub(super) fn is_protected(&self) -> bool {
        !self.config.merging && self.health != Health::Invalid
    }

    /// Why requests to it fail.
    pub(super) fn refusal(&self) -> block::Error {
        let name = &self.config.name;
        let what = format!("{name} is an invalid snapshot: {}; remove it", self.why);
        block::Error::new(block::Kind::Io, what)
    }

    /// The chunks that have bytes of `range` and of the snapshot: the first one, and how many.
    pub(super) fn chunks(&self, range: Range) -> Option<(u64, u64)> {
        let range = range.intersection(Range::new(0, self.config.size))?;
        let first = range.start() / self.geometry.chunk;
        Some((first, range.end().div_ceil(self.geometry.chunk) - first))
    }

    /// The bytes of chunks that the snapshot has.
    pub(super) fn bytes(&self, old: u64, count: u64) -> Range {
        let start = old * self.geometry.chunk;
        let end = ((old + count) * self.geometry.chunk).min(self.config.size);
        assert!(end > start, "a chunk of a snapshot has bytes");
        Range::new(start, end - start)
    }

    /// The chunks with bytes of `range` that the store does not hold durably.
    pub(super) fn gaps(&self, range: Range) -> Vec<Gap> {
        let mut gaps = Vec::new();
        let Some((old, count)) = self.chunks(range) else {
            return gaps;
        };
        for (first, stretch) in self.exceptions.stretches(old, count) {
            if stretch.new.is_some() {
                continue;
            }
            let (mut at, end) = (first, first + stretch.count);
            while at < end {
                if let Some((start, pending)) = self.pending_at(at) {
                    gaps.push(Gap::Pending(start));
                    at = end.min(start + pending.count);
                    continue;
                }
                let next = self.pending.range(at..).next();
                let until = next.map_or(end, |(start, _)| end.min(*start));
                let (old, count) = (at, until - at);
                gaps.push(Gap::Missing { old, count });
                at = until;
            }
        }
        gaps
    }

    /// Up to which byte of `range` nothing is missing.
    pub(super) fn held_until(&self, range: Range) -> u64 {
        let Some((old, count)) = self.chunks(range) else {
            return range.end();
        };
        let mut stretches = self.exceptions.stretches(old, count);
        let first = stretches.find(|(_, stretch)| stretch.new.is_none());
        let until = first.map_or(range.end(), |(old, _)| old * self.geometry.chunk);
        until.clamp(range.start(), range.end())
    }

    /// What is on its way and has this chunk.
    pub(super) fn pending_at(&self, old: u64) -> Option<(u64, &Pending)> {
        let (start, pending) = self.pending.range(..=old).next_back()?;
        (start + pending.count > old).then_some((*start, pending))
    }

    /// Chunks for `count` exceptions from `old` on; `None`: there is not enough room.
    pub(super) fn allocate(&mut self, old: u64, count: u64) -> Option<Vec<EntryRun>> {
        let entries = self.entries.count() + self.reserved + count;
        if entries > ENTRIES_MAX as u64 {
            // Who reads the store would refuse it.
            return None;
        }
        // A full area is followed by another one.
        self.geometry.area(entries / self.geometry.per_area)?;
        let mut free = self.next_free;
        let mut runs: Vec<EntryRun> = Vec::new();
        let mut left = count;
        while left > 0 {
            assert!(!self.geometry.is_area(free), "data lies in no area");
            let past = (free - FIRST_DATA) % (self.geometry.per_area + 1);
            let run = left.min(self.geometry.per_area - past);
            runs.push(EntryRun {
                new: free,
                old: old + count - left,
                count: run,
            });
            left -= run;
            free += run;
            if free > self.geometry.chunks {
                return None;
            }
            free = self.geometry.skip_area(free);
        }
        self.next_free = free;
        self.reserved += count;
        Some(runs)
    }

    /// Forgets all that the store holds or was about to.
    pub(super) fn forget(&mut self) {
        assert!(!self.is_valid(), "what is valid is kept");
        self.exceptions = Exceptions::default();
        self.entries = Entries::default();
        self.next_free = FIRST_DATA;
    }

    /// Chunks up to the last one with data, as the kernel counts them.
    fn used_chunks(&self) -> u64 {
        if self.config.merging {
            let area = self.entries.count() / self.geometry.per_area;
            let inside = self.entries.count() % self.geometry.per_area;
            return area * (self.geometry.per_area + 1) + FIRST_DATA + inside;
        }
        self.next_free
    }

    /// Bytes of the store that are used.
    pub(super) fn used(&self) -> u64 {
        self.used_chunks() * self.geometry.chunk
    }

    /// Bytes of the store that are its header and areas.
    pub(super) fn metadata(&self) -> u64 {
        let areas = self.entries.count() / self.geometry.per_area + 1;
        (1 + areas) * self.geometry.chunk
    }

    /// What is always so.
    pub(super) fn check(&self) {
        let name = &self.config.name;
        self.exceptions.check();
        self.entries.check(&self.geometry);
        let (count, entries) = (self.exceptions.count(), self.entries.count());
        assert_eq!(count, entries, "{name}: each exception has an entry");
        let last = self.entries.iter().map(|run| run.new + run.count).max();
        assert!(
            last.is_none_or(|last| last <= self.next_free),
            "{name}: what is used is not free"
        );
        assert!(
            !self.geometry.is_area(self.next_free),
            "{name}: areas are not free"
        );
        assert!(
            self.is_valid() || !self.kept.is_open(),
            "{name}: what is not valid is read by nobody"
        );
        self.entries.iter().for_each(|run| self.kept.check(run));
        let mut end = 0;
        let mut left = 0;
        for (start, pending) in &self.pending {
            assert!(*start >= end, "{name}: a chunk is copied once at a time");
            assert!(0 < pending.left && pending.left <= pending.count);
            assert!(
                !pending.waiters.is_empty(),
                "{name}: somebody waits for a copy"
            );
            end = start + pending.count;
            left += pending.left;
        }
        let copied: u64 = self.copied.iter().map(|run| run.count).sum();
        let round = self.round.as_ref().map_or(0, Round::count);
        if self.is_valid() {
            assert!(
                copied + round <= self.reserved,
                "{name}: what is copied has a chunk"
            );
            assert!(
                self.reserved <= left,
                "{name}: what has a chunk is waited for"
            );
            assert!(self.mourners.is_empty(), "{name}: nobody waits for its end");
        } else {
            assert!(
                self.pending.is_empty(),
                "{name}: nothing is copied any more"
            );
            assert!(self.copied.is_empty(), "{name}: nothing is copied any more");
        }
        let waits = self.health == Health::Invalidating;
        assert!(
            waits || self.mourners.is_empty(),
            "{name}: nobody is forgotten"
        );
        let is_fresh = self.header == Header::Missing;
        assert!(!is_fresh || entries == 0, "{name}: entries follow a header");
    }
}
