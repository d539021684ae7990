//! What an export is known by: bytes that a server which comes back must still have.
//!
//! Whoever uses a disk knows where something stands that no other disk has (an identity), and
//! something that no older copy of it has (what changes with each change of its contents). Each
//! such place is a mark. A mark follows what is written over it: a write that was acknowledged and
//! not flushed may be there or not, so both contents are right until a flush covers it.
//!
//! ```text
//!   learned ─ write ─▶ old | new ─ flush ─▶ new
//!                        ╰─ failed, discarded ─▶ forgotten: nothing is known any more
//! ```
//!
//! Does not: read or compare anything by itself; `owner/reconnect.rs` does, before it writes.

use block::{Durability, Range};

/// Contents that are right at the same time; a place that is written more often without a flush
/// is no mark.
const VERSIONS_MAX: usize = 16;

/// The marks of an export.
#[derive(Debug, Default)]
pub(super) struct Marks(Vec<Mark>);

/// A place, and what may stand there.
#[derive(Debug)]
struct Mark {
    range: Range,
    /// What it means if something else stands there.
    otherwise: String,
    /// The oldest first, each with the stamp of the write that made it.
    versions: Vec<(u64, Vec<u8>)>,
}

/// A write: where, and what; `None`: zeros.
pub(super) type Written<'a> = (Range, Option<&'a [u8]>);

impl Marks {
    /// Makes a mark of `bytes` at byte `start`. One that is there already knows better: it has
    /// followed what was written.
    pub(super) fn learn(&mut self, start: u64, bytes: Vec<u8>, otherwise: String) {
        let range = Range::new(start, bytes.len() as u64);
        if self.0.iter().all(|mark| mark.range != range) {
            self.0.push(Mark {
                range,
                otherwise,
                versions: vec![(0, bytes)],
            });
        }
    }

    /// The places.
    pub(super) fn ranges(&self) -> Vec<Range> {
        self.0.iter().map(|mark| mark.range).collect()
    }

    /// A write was acknowledged, as the one with this stamp.
    pub(super) fn wrote(&mut self, written: Written<'_>, stamp: u64, durability: Durability) {
        for mark in self.touched(written.0) {
            if durability == Durability::Fua {
                for (_, bytes) in &mut mark.versions {
                    overlay(bytes, mark.range, written);
                }
            } else if let Some((_, last)) = mark.versions.last() {
                let mut bytes = last.clone();
                overlay(&mut bytes, mark.range, written);
                mark.versions.push((stamp, bytes));
            }
        }
        self.0.retain(|mark| mark.versions.len() <= VERSIONS_MAX);
    }

    /// A flush covered all writes up to `stamp`.
    pub(super) fn settle(&mut self, stamp: u64) {
        for mark in &mut self.0 {
            let covered = mark.versions.iter().rposition(|(of, _)| *of <= stamp);
            mark.versions.drain(..covered.unwrap_or(0));
        }
    }

    /// Nobody knows what stands in `range` now.
    pub(super) fn forget(&mut self, range: Range) {
        self.0
            .retain(|mark| mark.range.intersection(range).is_none());
    }

    /// What it means that `found` stands at the mark at `range`, if it should not; `pending` are
    /// writes that may or may not have been done.
    pub(super) fn judge(
        &self,
        range: Range,
        found: &[u8],
        pending: &[Written<'_>],
    ) -> Option<String> {
        let mark = self.0.iter().find(|mark| mark.range == range)?;
        let mut right: Vec<Vec<u8>> = mark.versions.iter().map(|(_, v)| v.clone()).collect();
        for written in pending {
            if range.intersection(written.0).is_none() {
                continue;
            }
            if right.len() > VERSIONS_MAX {
                return None;
            }
            let mut more = right.clone();
            for bytes in &mut more {
                overlay(bytes, range, *written);
            }
            right.append(&mut more);
        }
        let is_right = right.iter().any(|bytes| bytes == found);
        (!is_right).then(|| mark.otherwise.clone())
    }

    fn touched(&mut self, range: Range) -> impl Iterator<Item = &mut Mark> {
        self.0
            .iter_mut()
            .filter(move |mark| mark.range.intersection(range).is_some())
    }
}

/// Puts what of a write lies in `place` into `bytes`, which stand there.
fn overlay(bytes: &mut [u8], place: Range, (range, content): Written<'_>) {
    let Some(both) = place.intersection(range) else {
        return;
    };
    let part = |of: Range| (both.start() - of.start()) as usize..(both.end() - of.start()) as usize;
    match content {
        Some(content) => bytes[part(place)].copy_from_slice(&content[part(range)]),
        None => bytes[part(place)].fill(0),
    }
}
