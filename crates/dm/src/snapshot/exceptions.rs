//! Which chunks of an origin a store holds, and where: runs of them, by their place in the origin.

use std::collections::BTreeMap;

/// Chunks of the origin, and the store's chunks that hold them instead.
///
/// Neighbours in both are one run, so a volume that was written from end to end takes a run for
/// each area of its store.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Exceptions {
    /// By the first chunk of the origin.
    runs: BTreeMap<u64, Held>,
    /// Chunks in all.
    count: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Held {
    /// The store's first chunk.
    new: u64,
    count: u64,
}

/// What is the case from some chunk on, for `count` chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stretch {
    /// The store's chunk of the first one; `None`: they are the origin's.
    pub(super) new: Option<u64>,
    /// Not 0.
    pub(super) count: u64,
}

impl Exceptions {
    /// Chunks that the store holds.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// What is the case from chunk `old` on, for at most `count_max` chunks.
    pub(super) fn stretch(&self, old: u64, count_max: u64) -> Stretch {
        assert!(count_max > 0, "a stretch has a length");
        if let Some((start, held)) = self.runs.range(..=old).next_back()
            && start + held.count > old
        {
            return Stretch {
                new: Some(held.new + (old - start)),
                count: (start + held.count - old).min(count_max),
            };
        }
        let next = self.runs.range(old..).next();
        Stretch {
            new: None,
            count: next.map_or(count_max, |(start, _)| (start - old).min(count_max)),
        }
    }

    /// The stretches that make up `count` chunks from `old` on, with the first chunk of each.
    pub(super) fn stretches(&self, old: u64, count: u64) -> impl Iterator<Item = (u64, Stretch)> {
        let end = old + count;
        let mut at = old;
        std::iter::from_fn(move || {
            (at < end).then(|| {
                let first = at;
                let stretch = self.stretch(at, end - at);
                at += stretch.count;
                (first, stretch)
            })
        })
    }

    /// The store holds `count` chunks from `old` on, of which it held none, from `new` on.
    pub(super) fn insert(&mut self, mut old: u64, mut new: u64, mut count: u64) {
        let absent = Stretch { new: None, count };
        assert_eq!(
            self.stretch(old, count),
            absent,
            "a chunk has one exception"
        );
        self.count += count;
        if let Some((start, held)) = self.runs.range(..old).next_back()
            && start + held.count == old
            && held.new + held.count == new
        {
            (old, new, count) = (*start, held.new, held.count + count);
        }
        if let Some(held) = self.runs.get(&(old + count)).copied()
            && held.new == new + count
        {
            self.runs.remove(&(old + count));
            count += held.count;
        }
        self.runs.insert(old, Held { new, count });
    }

    /// The origin holds `count` chunks from `old` on again, all of which the store held in a row.
    pub(super) fn remove(&mut self, old: u64, count: u64) {
        let found = self.runs.range(..=old).next_back();
        let (start, held) = found
            .map(|(start, held)| (*start, *held))
            .expect("it is held");
        let (before, after) = (old - start, (start + held.count).checked_sub(old + count));
        let after = after.expect("all of them are held in a row");
        self.count -= count;
        self.runs.remove(&start);
        if before > 0 {
            let (new, count) = (held.new, before);
            self.runs.insert(start, Held { new, count });
        }
        if after > 0 {
            let new = held.new + before + count;
            self.runs.insert(old + count, Held { new, count: after });
        }
    }

    /// What is always so.
    pub(super) fn check(&self) {
        let mut end: Option<(u64, u64)> = None;
        let mut count = 0;
        for (start, held) in &self.runs {
            assert!(held.count > 0, "a run has chunks");
            if let Some((old, new)) = end {
                assert!(*start >= old, "runs do not overlap");
                assert!((*start, held.new) != (old, new), "neighbours are one run");
            }
            end = Some((start + held.count, held.new + held.count));
            count += held.count;
        }
        assert_eq!(count, self.count, "the chunks are counted");
    }
}

#[cfg(test)]
mod tests;
