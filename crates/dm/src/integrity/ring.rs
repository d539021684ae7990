//! The journal as it is written: which section is next, and how many hold what is not durable in
//! its place yet.
//!
//! ```text
//!   section     0    1    2    3    4    5
//!               └ kept ──┘    └ next
//!                  in place, perhaps not durably: not written again before a flush
//! ```

use block::Buffer;

use super::journal::{Next, Round, section};
use super::places::Places;

/// See the module.
#[derive(Debug)]
pub(super) struct Ring {
    next: u64,
    round: Round,
    kept: u64,
}

impl Ring {
    /// A ring that goes on there; all it holds is in place, durably.
    pub(super) fn new(next: Next) -> Self {
        let (next, round) = match next {
            Next::Section(section, round) => (section, round),
            Next::Emptied(_, round) => (0, round.next()),
        };
        let kept = 0;
        Self { next, round, kept }
    }

    /// Sections that hold so many blocks.
    pub(super) fn needed(places: &Places, blocks: u64) -> u64 {
        assert!(blocks > 0, "something is written");
        blocks.div_ceil(places.section_entries)
    }

    /// Whether what was written so many sections ago has to be durable in its place now.
    pub(super) fn is_full(&self, places: &Places, sections: u64) -> bool {
        assert!(sections <= places.sections, "there are so many");
        self.kept + sections > places.sections
    }

    /// All that is held is in place, durably.
    pub(super) fn reclaim(&mut self) {
        self.kept = 0;
    }

    /// Whether nothing was written since all was durable in its place.
    pub(super) fn is_idle(&self) -> bool {
        self.kept == 0
    }

    /// What has to be written, and where, for these blocks: sections, each whole.
    pub(super) fn write(&mut self, places: &Places, blocks: &[(u64, &[u8])]) -> Vec<(u64, Buffer)> {
        let all = blocks.chunks(places.section_entries as usize);
        let written: Vec<(u64, Buffer)> = all.map(|some| self.section(places, some)).collect();
        self.check(places);
        written
    }

    /// The rest of this round and all that comes before it in the next one become empty: what has
    /// to be written first, and then.
    pub(super) fn wipe(&mut self, places: &Places) -> [Vec<(u64, Buffer)>; 2] {
        assert!(self.is_idle(), "all is in place, durably");
        let first = places.sections - self.next;
        let rest = self.next;
        let steps = [first, rest].map(|count| {
            let some = (0..count).map(|_| self.section(places, &[]));
            some.collect()
        });
        self.kept = 0;
        steps
    }

    fn section(&mut self, places: &Places, blocks: &[(u64, &[u8])]) -> (u64, Buffer) {
        let bytes = section(places, (self.next, self.round), blocks);
        let start = places.section_start(self.next);
        self.next += 1;
        self.kept += 1;
        if self.next == places.sections {
            (self.next, self.round) = (0, self.round.next());
        }
        (start, Buffer::copy_of(&bytes))
    }

    /// What is always so.
    pub(super) fn check(&self, places: &Places) {
        assert!(self.next < places.sections, "it is in the ring");
        assert!(self.kept <= places.sections, "nothing is written over");
    }
}
