//! Which places are for what, and what that says of a request.

use std::collections::BTreeMap;

use super::ext;
use super::journal::Logged;
use super::source::Source;
use super::xfs;
use crate::error::{Error, Kind, Result};
use crate::trace::record::{Certainty, Class, Label, Operation, Trace};

/// Consecutive blocks of 512 bytes that are for the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Area {
    /// The first one.
    pub start: u64,
    /// The one after the last.
    pub end: u64,
    /// What they are for.
    pub class: Class,
}

/// The kinds of file system whose layout is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileSystem {
    /// ext2: no journal.
    Ext2,
    /// ext3: a journal, and indirect blocks.
    Ext3,
    /// ext4: any of what ext3 does not know.
    Ext4,
    /// XFS.
    Xfs,
}

/// What the places of a volume are for, at one time.
#[derive(Debug, Clone)]
pub struct Map {
    /// Which file system.
    pub file_system: FileSystem,
    /// Its identity.
    pub uuid: [u8; 16],
    /// What was odd about it.
    pub remarks: Vec<String>,
    pub(super) areas: Vec<Area>,
    pub(super) log: Option<Log>,
}

/// What the journal of a file system has copies of.
#[derive(Debug, Clone)]
pub(super) struct Log {
    pub(super) logged: Logged,
    /// Blocks of 512 bytes in one of the file system.
    pub(super) sectors: u64,
}

/// What the places of a volume are for, while a trace was taken.
#[derive(Debug, Clone)]
pub struct Labels {
    before: Option<Map>,
    after: Map,
}

/// Which way the bytes of a request go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// From the device, or nowhere.
    Read,
    /// To it.
    Written,
}

impl Way {
    fn of(operation: Operation) -> Self {
        match operation {
            Operation::Write | Operation::WriteZeroes => Self::Written,
            Operation::Read | Operation::Discard | Operation::Flush => Self::Read,
        }
    }
}

/// Blocks of 512 bytes that were read and written; those that were asked for twice count twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Touched {
    /// Read.
    pub read: u64,
    /// Written.
    pub written: u64,
}

impl Map {
    /// Reads the layout of the file system on a volume. `name` is what messages call it.
    pub fn read(name: &str, source: &mut dyn Source) -> Result<Self> {
        let read = if xfs::is_one(source)? {
            xfs::read(source)
        } else {
            ext::read(source)
        };
        read.map_err(|error| match error.kind() {
            Kind::Io => error,
            kind => Error::new(kind, format!("{name}: {error}")),
        })
    }

    /// All areas, in order. What is not in any lies outside.
    pub fn areas(&self) -> &[Area] {
        &self.areas
    }

    /// What the 512-byte block `at` is for.
    pub fn class_at(&self, at: u64) -> Class {
        let index = self.areas.partition_point(|area| area.end <= at);
        match self.areas.get(index) {
            Some(area) if area.start <= at => area.class,
            _ => Class::Outside,
        }
    }

    /// Where the class may change after `at`.
    fn border_after(&self, at: u64) -> u64 {
        let index = self.areas.partition_point(|area| area.end <= at);
        match self.areas.get(index) {
            Some(area) if area.start <= at => area.end,
            Some(area) => area.start,
            None => u64::MAX,
        }
    }
}

impl Labels {
    /// From the layout after a run, and the one before it where somebody looked.
    pub fn new(before: Option<Map>, after: Map) -> Self {
        Self { before, after }
    }

    /// The layout after the run.
    pub fn after(&self) -> &Map {
        &self.after
    }

    /// What one place is for, and how sure that is.
    fn at(&self, block: u64, way: Way) -> Label {
        let after = self.after.class_at(block);
        let before = self.before.as_ref().map(|map| map.class_at(block));
        let (class, certainty) = match before {
            // Whatever was there was made and removed within the run.
            Some(Class::Free) | None if after == Class::Free => {
                (self.passing(block, way), Certainty::Sometimes)
            }
            Some(class) if class == after => (after, Certainty::Always),
            Some(class) if after == Class::Free => (class, Certainty::Sometimes),
            Some(_) => (after, Certainty::Sometimes),
            None => (after, Certainty::Always),
        };
        Label { class, certainty }
    }

    /// What a place was for that is free before and after: the log knows metadata, and only what
    /// was in use is written.
    fn passing(&self, block: u64, way: Way) -> Class {
        let Some(log) = &self.after.log else {
            return Class::Free;
        };
        match (log.logged.class(block / log.sectors, self.since()), way) {
            (Some(class), _) => class,
            (None, Way::Written) => Class::FileData,
            (None, Way::Read) => Class::Free,
        }
    }

    /// The first transaction of the run.
    fn since(&self) -> Option<u32> {
        let log = self.before.as_ref()?.log.as_ref()?;
        Some(log.logged.next)
    }

    /// Where what the log knows may change after `at`.
    fn log_border_after(&self, at: u64) -> u64 {
        let Some(log) = &self.after.log else {
            return u64::MAX;
        };
        let block = at / log.sectors;
        match log.logged.next(block) {
            Some(next) if next == block => (block + 1).saturating_mul(log.sectors),
            Some(next) => next.saturating_mul(log.sectors),
            None => u64::MAX,
        }
    }

    /// What `count` blocks from `start` that are read are for: the class of most of them.
    pub fn label(&self, start: u64, count: u64) -> Label {
        self.most(start, count, Way::Read)
    }

    fn most(&self, start: u64, count: u64, way: Way) -> Label {
        let shares = self.shares(start, count, way);
        let Some(&(mut label, _)) = shares.iter().rev().max_by_key(|share| share.1) else {
            return Label::default();
        };
        if shares.iter().any(|share| share.0.class != label.class) {
            label.certainty = Certainty::Mixed;
        }
        label
    }

    /// The labels of `count` blocks from `start`, and how many blocks have each.
    fn shares(&self, start: u64, count: u64, way: Way) -> Vec<(Label, u64)> {
        let end = start.saturating_add(count);
        let mut shares: Vec<(Label, u64)> = Vec::new();
        let mut at = start;
        while at < end {
            let label = self.at(at, way);
            let before = self
                .before
                .as_ref()
                .map_or(u64::MAX, |map| map.border_after(at));
            let log = self.log_border_after(at);
            let border = self.after.border_after(at).min(before).min(log).min(end);
            match shares.iter_mut().find(|share| share.0 == label) {
                Some(share) => share.1 += border - at,
                None => shares.push((label, border - at)),
            }
            at = border;
        }
        shares
    }

    /// The blocks of 512 bytes of each class that requests of a trace read and wrote, each block by
    /// its own place. The label of a request that touched places of several classes is that of
    /// most; this is exact.
    pub fn count(&self, trace: &Trace) -> BTreeMap<Class, Touched> {
        let mut counts: BTreeMap<Class, Touched> = BTreeMap::new();
        for record in trace.records.iter().filter(|record| !record.failed) {
            if matches!(record.operation, Operation::Discard | Operation::Flush) {
                continue;
            }
            let way = Way::of(record.operation);
            for (label, blocks) in self.shares(record.start, record.count, way) {
                let touched = counts.entry(label.class).or_default();
                match way {
                    Way::Read => touched.read += blocks,
                    Way::Written => touched.written += blocks,
                }
            }
        }
        counts
    }

    /// Labels all requests of a trace, and notes which file system it was.
    pub fn apply(&self, trace: &mut Trace) {
        for record in &mut trace.records {
            let way = Way::of(record.operation);
            record.label = self.most(record.start, record.count, way);
        }
        trace.header.file_system = Some(self.after.uuid);
    }
}
