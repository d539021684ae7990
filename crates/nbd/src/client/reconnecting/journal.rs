//! Writes that the server has acknowledged and not yet flushed.
//!
//! A map without overlaps: what is written later takes the place of what was there, so that the
//! entries can be written again in any order. Each entry carries the stamp of its write, which
//! grows; a flush settles all entries up to the stamp of the moment in which it was sent.

use std::collections::BTreeMap;

use block::{Buffer, Range, Request, Unmap};

/// What an entry costs besides its data, in bytes.
const ENTRY_COST: usize = 128;

/// What was written.
#[derive(Debug, Clone)]
pub(super) enum Content {
    Data(Box<[u8]>),
    Zeros(Unmap),
}

#[derive(Debug)]
struct Entry {
    len: u64,
    stamp: u64,
    content: Content,
}

/// The writes, by their first byte.
#[derive(Debug, Default)]
pub(super) struct Journal {
    entries: BTreeMap<u64, Entry>,
    cost: usize,
}

impl Journal {
    /// What a write of `len` bytes of data would add, at most.
    pub(super) fn cost_of(len: usize) -> usize {
        // What it cuts in two becomes an entry more.
        2 * ENTRY_COST + len
    }

    /// The memory in use, in bytes.
    pub(super) fn cost(&self) -> usize {
        self.cost
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Remembers a write.
    pub(super) fn record(&mut self, range: Range, content: Content, stamp: u64) {
        if range.is_empty() {
            return;
        }
        self.forget(range);
        let entry = Entry {
            len: range.len(),
            stamp,
            content,
        };
        self.insert(range.start(), entry);
    }

    /// Forgets whatever lies in `range`: it was written durably.
    pub(super) fn forget(&mut self, range: Range) {
        while let Some(start) = self.first_in(range) {
            let entry = self.remove(start);
            let end = start + entry.len;
            if start < range.start() {
                let keep = 0..range.start() - start;
                self.insert(start, part(&entry, keep));
            }
            if end > range.end() {
                let keep = range.end() - start..entry.len;
                self.insert(range.end(), part(&entry, keep));
            }
        }
    }

    /// Forgets all writes with stamps up to this one: they were flushed.
    pub(super) fn settle(&mut self, stamp: u64) {
        let mut cost = 0;
        self.entries.retain(|_, entry| {
            let stays = entry.stamp > stamp;
            if !stays {
                cost += cost_of(entry);
            }
            stays
        });
        self.cost -= cost;
    }

    /// The requests that write all of it again, from the entry at byte `from` on.
    pub(super) fn requests(&self) -> impl Iterator<Item = Request> {
        self.entries.iter().map(|(&start, entry)| {
            let volatile = block::Durability::Volatile;
            match &entry.content {
                Content::Data(data) => {
                    Request::write(start, start, volatile, Buffer::copy_of(data))
                }
                Content::Zeros(unmap) => {
                    let range = Range::new(start, entry.len);
                    Request::bare(start, block::Operation::WriteZeroes(*unmap), range)
                }
            }
        })
    }

    /// The start of the first entry that shares a byte with `range`.
    fn first_in(&self, range: Range) -> Option<u64> {
        let before = self.entries.range(..=range.start()).next_back();
        if let Some((&start, entry)) = before
            && start + entry.len > range.start()
            && !range.is_empty()
        {
            return Some(start);
        }
        let inside = self.entries.range(range.start()..range.end()).next();
        inside.map(|(&start, _)| start)
    }

    fn insert(&mut self, start: u64, entry: Entry) {
        self.cost += cost_of(&entry);
        let old = self.entries.insert(start, entry);
        assert!(old.is_none(), "entries do not overlap");
    }

    fn remove(&mut self, start: u64) -> Entry {
        let entry = self.entries.remove(&start).expect("it was just found");
        self.cost -= cost_of(&entry);
        entry
    }

    /// Fails where an invariant does not hold.
    #[cfg(test)]
    pub(super) fn check(&self) {
        let mut end = 0;
        let mut cost = 0;
        for (&start, entry) in &self.entries {
            assert!(start >= end && entry.len > 0, "no overlaps");
            if let Content::Data(data) = &entry.content {
                assert_eq!(data.len() as u64, entry.len);
            }
            end = start + entry.len;
            cost += cost_of(entry);
        }
        assert_eq!(cost, self.cost);
    }
}

fn cost_of(entry: &Entry) -> usize {
    ENTRY_COST
        + match &entry.content {
            Content::Data(data) => data.len(),
            Content::Zeros(_) => 0,
        }
}

/// The bytes `keep` of an entry.
fn part(entry: &Entry, keep: std::ops::Range<u64>) -> Entry {
    let content = match &entry.content {
        Content::Data(data) => Content::Data(data[keep.start as usize..keep.end as usize].into()),
        Content::Zeros(unmap) => Content::Zeros(*unmap),
    };
    Entry {
        len: keep.end - keep.start,
        stamp: entry.stamp,
        content,
    }
}
