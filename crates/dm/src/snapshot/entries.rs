//! The entries of a store in their order, and the bytes of its areas.

use super::store::{ENTRY_LEN, EntryRun, Geometry, MAGIC, SECTOR, VERSION};

/// The entries of a store, the oldest first. A merge takes them from the end.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Entries {
    /// Neighbours in the origin and in the store are one run, unless they came from a caller that
    /// had two.
    runs: Vec<EntryRun>,
    count: u64,
}

impl Entries {
    pub(super) fn new(runs: Vec<EntryRun>) -> Self {
        let count = runs.iter().map(|run| run.count).sum();
        Self { runs, count }
    }

    pub(super) fn into_runs(self) -> Vec<EntryRun> {
        self.runs
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &EntryRun> {
        self.runs.iter()
    }

    /// Appends entries.
    pub(super) fn push(&mut self, run: EntryRun) {
        assert!(run.count > 0, "a run has entries");
        self.count += run.count;
        match self.runs.last_mut() {
            Some(last) if last.old + last.count == run.old && last.new + last.count == run.new => {
                last.count += run.count;
            }
            _ => self.runs.push(run),
        }
    }

    /// The last entries, as many as follow each other in the origin and in the store, of the last
    /// area with any (of `per_area`), but at most `count_max`.
    pub(super) fn last(&self, per_area: u64, count_max: u64) -> Option<EntryRun> {
        assert!(count_max > 0);
        let last = self.runs.last()?;
        let in_area = (self.count - 1) % per_area + 1;
        let count = last.count.min(in_area).min(count_max);
        let skipped = last.count - count;
        Some(EntryRun {
            new: last.new + skipped,
            old: last.old + skipped,
            count,
        })
    }

    /// Takes away the last `count` entries, which are of one run.
    pub(super) fn pop(&mut self, count: u64) {
        let last = self.runs.last_mut().expect("there is a last run");
        assert!(
            count <= last.count,
            "entries are taken from one run at a time"
        );
        last.count -= count;
        self.count -= count;
        if last.count == 0 {
            self.runs.pop();
        }
    }

    /// Fills `bytes` with what area `number` holds when the entries end at number `count`, and
    /// `more` follow them.
    pub(super) fn encode_area(
        &self,
        geometry: &Geometry,
        number: u64,
        count: u64,
        more: &[EntryRun],
        bytes: &mut [u8],
    ) {
        assert_eq!(bytes.len() as u64, geometry.chunk, "an area is a chunk");
        assert!(count <= self.count);
        bytes.fill(0);
        let first = number * geometry.per_area;
        assert!(first <= count, "areas are filled in order");
        let mut end = self.count;
        for run in self.runs.iter().rev() {
            let start = end - run.count;
            for at in start.max(first)..end.min(count) {
                let (old, new) = (run.old + (at - start), run.new + (at - start));
                put(bytes, at - first, old, new);
            }
            end = start;
            if end <= first {
                break;
            }
        }
        let mut at = count - first;
        for run in more {
            for further in 0..run.count {
                put(bytes, at, run.old + further, run.new + further);
                at += 1;
            }
        }
        assert!(at <= geometry.per_area, "what follows has room in the area");
    }

    /// What is always so of the entries of a store.
    pub(super) fn check(&self, geometry: &Geometry) {
        let mut count = 0;
        for run in &self.runs {
            assert!(run.count > 0, "a run has entries");
            assert!(
                run.new + run.count <= geometry.chunks,
                "entries lie in the store"
            );
            assert!(
                run.old + run.count <= geometry.origin_chunks,
                "and in the origin"
            );
            let areas = |chunk: u64| (chunk + geometry.per_area - 1) / (geometry.per_area + 1);
            assert!(!geometry.is_area(run.new), "data lies in no area");
            assert_eq!(
                areas(run.new),
                areas(run.new + run.count - 1),
                "nor crosses one"
            );
            count += run.count;
        }
        assert_eq!(count, self.count, "the entries are counted");
    }
}

/// Writes an entry at its place in an area.
fn put(area: &mut [u8], at: u64, old: u64, new: u64) {
    assert!(
        new > 1,
        "an entry never points at the header or the first area"
    );
    let entry = &mut area[at as usize * ENTRY_LEN..][..ENTRY_LEN];
    entry[..8].copy_from_slice(&old.to_le_bytes());
    entry[8..].copy_from_slice(&new.to_le_bytes());
}

/// Whether a header says that its store may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Validity {
    Valid,
    /// For good.
    Invalid,
}

/// Fills `bytes`, which are a chunk, with a header.
pub(super) fn encode_header(validity: Validity, bytes: &mut [u8]) {
    bytes.fill(0);
    let sectors = (bytes.len() as u64 / SECTOR) as u32;
    assert!(sectors.is_power_of_two(), "a chunk is a power of two");
    let valid = u32::from(validity == Validity::Valid);
    for (at, word) in [MAGIC, valid, VERSION, sectors].into_iter().enumerate() {
        bytes[4 * at..][..4].copy_from_slice(&word.to_le_bytes());
    }
}

#[cfg(test)]
mod tests;
