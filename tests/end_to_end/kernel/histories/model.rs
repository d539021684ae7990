//! What every volume holds, kept beside the disks.
//!
//! A snapshot is a copy of its origin and the set of chunks that its store has by now: each chunk
//! that was written, there or in the origin, takes the next place in the store. How full a store
//! is, and when it is full, follow from that.

use std::collections::{BTreeMap, BTreeSet};

/// Bytes of an extent, and of a step of sizes.
pub(super) const MIB: u64 = 1 << 20;
/// Bytes of an entry of a store.
const ENTRY: u64 = 16;

/// All volumes, by name.
#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) volumes: BTreeMap<String, Volume>,
    /// Volumes made so far: no name is used twice.
    made: u32,
}

/// A volume.
#[derive(Debug, Clone)]
pub(super) struct Volume {
    pub(super) bytes: Vec<u8>,
    pub(super) layout: Layout,
    /// If it is a snapshot.
    pub(super) snapshot: Option<Snapshot>,
}

/// What a volume is made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    /// Of `lvcreate`.
    pub(super) options: &'static str,
    /// Its size is a multiple of so many MiB.
    pub(super) stripes: u64,
}

/// The simplest one, which stores have.
pub(super) const LINEAR: Layout = Layout {
    options: "",
    stripes: 1,
};

/// What makes a volume a snapshot.
#[derive(Debug, Clone)]
pub(super) struct Snapshot {
    pub(super) origin: String,
    pub(super) chunk: u64,
    /// Bytes of its store.
    pub(super) store: u64,
    /// Chunks in its store.
    pub(super) copied: BTreeSet<u64>,
    pub(super) state: State,
}

/// What a snapshot is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Kept,
    /// It overflowed.
    Full,
    /// It is told to be merged; the origin does not show that yet.
    Told,
    /// The origin holds what it held; it goes away.
    Merging,
}

impl Model {
    /// A name that no volume had.
    pub(super) fn name(&mut self, start: &str) -> String {
        self.made += 1;
        format!("{start}{}", self.made)
    }

    pub(super) fn volume(&self, name: &str) -> &Volume {
        &self.volumes[name]
    }

    pub(super) fn snapshot(&self, name: &str) -> &Snapshot {
        let snapshot = self.volume(name).snapshot.as_ref();
        snapshot.unwrap_or_else(|| panic!("{name} is a snapshot"))
    }

    pub(super) fn snapshot_mut(&mut self, name: &str) -> &mut Snapshot {
        let volume = self.volumes.get_mut(name).expect("it is there");
        volume.snapshot.as_mut().expect("a snapshot")
    }

    /// The names of an origin's snapshots.
    pub(super) fn snapshots_of(&self, origin: &str) -> Vec<String> {
        let is_of = |volume: &Volume| {
            let snapshot = volume.snapshot.as_ref();
            snapshot.is_some_and(|snapshot| snapshot.origin == origin)
        };
        let of = self.volumes.iter().filter(|(_, volume)| is_of(volume));
        of.map(|(name, _)| name.clone()).collect()
    }

    /// Whether something is merged into it, or will be.
    pub(super) fn is_merged_into(&self, origin: &str) -> bool {
        let snapshots = self.snapshots_of(origin);
        let mut states = snapshots.iter().map(|name| self.snapshot(name).state);
        states.any(|state| matches!(state, State::Told | State::Merging))
    }

    /// The names of all that can be read.
    pub(super) fn readable(&self) -> Vec<String> {
        let can = |volume: &Volume| {
            let snapshot = volume.snapshot.as_ref();
            snapshot.is_none_or(|snapshot| snapshot.state == State::Kept)
        };
        let all = self.volumes.iter().filter(|(_, volume)| can(volume));
        all.map(|(name, _)| name.clone()).collect()
    }

    /// The names of snapshots that overflowed.
    pub(super) fn full(&self) -> Vec<String> {
        let is = |volume: &Volume| {
            let snapshot = volume.snapshot.as_ref();
            snapshot.is_some_and(|snapshot| snapshot.state == State::Full)
        };
        let all = self.volumes.iter().filter(|(_, volume)| is(volume));
        all.map(|(name, _)| name.clone()).collect()
    }

    /// The names of those that are being merged, or will be, and of their origins.
    pub(super) fn merging(&self) -> Vec<(String, String)> {
        let merging = |volume: &Volume| {
            let snapshot = volume.snapshot.as_ref()?;
            let is = matches!(snapshot.state, State::Told | State::Merging);
            is.then(|| snapshot.origin.clone())
        };
        let all = self.volumes.iter();
        all.filter_map(|(name, volume)| Some((name.clone(), merging(volume)?)))
            .collect()
    }

    /// Bytes are written to a volume.
    pub(super) fn write(&mut self, name: &str, at: u64, bytes: &[u8]) {
        let end = at + bytes.len() as u64;
        let volume = self.volumes.get_mut(name).expect("it is there");
        volume.bytes[at as usize..end as usize].copy_from_slice(bytes);
        match &mut volume.snapshot {
            Some(snapshot) => snapshot.keep(at..end),
            None => {
                for other in self.snapshots_of(name) {
                    self.keep(&other, at..end);
                }
            }
        }
    }

    fn keep(&mut self, name: &str, range: std::ops::Range<u64>) {
        let len = self.volume(name).bytes.len() as u64;
        let end = range.end.min(len);
        // An origin may have grown: its snapshots show nothing of that.
        if range.start < end {
            self.snapshot_mut(name).keep(range.start..end);
        }
    }

    /// A snapshot of an origin is made.
    pub(super) fn take(&mut self, origin: &str, name: &str, chunk: u64, store: u64) {
        let bytes = self.volume(origin).bytes.clone();
        let store_layout = self.volumes.get(name).map_or(LINEAR, |store| store.layout);
        let snapshot = Snapshot {
            origin: origin.to_owned(),
            chunk,
            store,
            copied: BTreeSet::new(),
            state: State::Kept,
        };
        let snapshot = Some(snapshot);
        let volume = Volume {
            bytes,
            layout: store_layout,
            snapshot,
        };
        self.volumes.insert(name.to_owned(), volume);
    }

    /// The origins show what is merged into them.
    pub(super) fn begin_merges(&mut self) {
        for (name, origin) in self.merging() {
            self.begin_merge(&name, &origin);
        }
    }

    fn begin_merge(&mut self, name: &str, origin: &str) {
        let merged = self.volume(name).clone();
        let snapshot = merged.snapshot.expect("it is a snapshot");
        if snapshot.state == State::Merging {
            return;
        }
        self.snapshot_mut(name).state = State::Merging;
        let into = self.volumes.get_mut(origin).expect("it is there");
        into.bytes[..merged.bytes.len()].copy_from_slice(&merged.bytes);
        let others = self.snapshots_of(origin);
        for other in others.iter().filter(|other| *other != name) {
            for chunk in &snapshot.copied {
                let start = chunk * snapshot.chunk;
                self.keep(other, start..start + snapshot.chunk);
            }
        }
    }

    /// What was merged is gone.
    pub(super) fn end_merges(&mut self) {
        for (_, origin) in self.merging() {
            self.end_merges_into(&origin);
        }
    }

    /// What was merged into this origin is gone.
    pub(super) fn end_merges_into(&mut self, origin: &str) {
        for (name, into) in self.merging() {
            if into == origin {
                self.begin_merge(&name, origin);
                self.volumes.remove(&name);
            }
        }
    }

    /// A volume and its snapshots are removed.
    pub(super) fn remove(&mut self, name: &str) {
        for snapshot in self.snapshots_of(name) {
            self.volumes.remove(&snapshot);
        }
        self.volumes.remove(name);
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) {
        for snapshot in self.snapshots_of(from) {
            to.clone_into(&mut self.snapshot_mut(&snapshot).origin);
        }
        let volume = self.volumes.remove(from).expect("it is there");
        self.volumes.insert(to.to_owned(), volume);
    }
}

impl Snapshot {
    /// The chunks in a range are in the store from now on, or it is full.
    fn keep(&mut self, range: std::ops::Range<u64>) {
        if !matches!(self.state, State::Kept | State::Told) {
            return;
        }
        let chunks = range.start / self.chunk..range.end.div_ceil(self.chunk);
        self.copied.extend(chunks);
        if self.copied.len() as u64 > self.room(self.store) {
            self.state = State::Full;
        }
    }

    /// Chunks that a store of this size takes.
    pub(super) fn room(&self, store: u64) -> u64 {
        let chunks = store / self.chunk;
        let areas = (chunks - 1).div_ceil(self.chunk / ENTRY + 1);
        chunks - 1 - areas
    }

    /// Bytes of the store that are in use, and how full it is, in percent: the kernel counts the
    /// area that comes next as soon as one is full, but not again after it was read.
    pub(super) fn fill(&self) -> (u64, Vec<f64>) {
        let (count, entries) = (self.copied.len() as u64, self.chunk / ENTRY);
        let areas = count.div_ceil(entries).max(1);
        let used = (1 + areas + count) * self.chunk;
        let percent = |used: u64| used as f64 * 100.0 / self.store as f64;
        match count {
            0 => (used, vec![0.0]),
            _ if count.is_multiple_of(entries) => {
                (used, vec![percent(used), percent(used + self.chunk)])
            }
            _ => (used, vec![percent(used)]),
        }
    }
}
