//! What goes wrong, besides the power.

use block::sim::Random;

use super::run::Run;
use super::shape::SLOTS;
use crate::explore::Sort;

/// A failure.
#[derive(Debug, Clone, Copy)]
pub(super) enum Mishap {
    /// A store vanishes.
    StoreGone(usize),
    /// One request to a store fails.
    StoreFails(usize, Sort),
    /// One request to the origin's disk fails.
    OriginFails(Sort),
    OriginGone,
}

impl Mishap {
    /// One of them; if `again`, one of those that may follow each other.
    pub(super) fn chosen(random: &mut Random, again: bool) -> Self {
        let slot = random.index(SLOTS);
        let sort = [Sort::Read, Sort::Write, Sort::Write, Sort::Flush][random.index(4)];
        match random.below(12) {
            _ if again => Self::StoreFails(slot, [Sort::Read, Sort::Write][random.index(2)]),
            0..=3 => Self::StoreGone(slot),
            4..=8 => Self::StoreFails(slot, sort),
            9 | 10 => Self::OriginFails(sort),
            _ => Self::OriginGone,
        }
    }
}

impl Run {
    /// Something goes wrong.
    pub(super) fn suffer(&mut self, mishap: Mishap) {
        let merging = self.oracle.merging_leg().map(|leg| leg - 1);
        let known = &mut self.oracle;
        // A merge is what goes on longest with a store that fails.
        let mishap = match mishap {
            Mishap::StoreFails(slot, sort) => Mishap::StoreFails(merging.unwrap_or(slot), sort),
            mishap => mishap,
        };
        match mishap {
            Mishap::StoreGone(slot) | Mishap::StoreFails(slot, _)
                if known.snapshots[slot].is_none() => {}
            Mishap::StoreGone(slot) => {
                let taken = known.snapshots[slot].as_mut().expect("it is there");
                taken.store_gone = true;
                self.world.disks[1 + slot].vanish();
            }
            Mishap::StoreFails(slot, sort) => {
                let taken = known.snapshots[slot].as_mut().expect("it is there");
                taken.store_fails = true;
                self.world.arrange(1 + slot, sort);
            }
            Mishap::OriginFails(sort) => {
                known.origin_fails = true;
                self.world.arrange(0, sort);
            }
            Mishap::OriginGone => {
                known.origin_fails = true;
                self.world.disks[0].vanish();
            }
        }
    }
}
