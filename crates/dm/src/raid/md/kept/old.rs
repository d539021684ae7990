//! A superblock of the format 0.90, as it is written next.

use super::{Kept, KeptSuperblock};
use crate::raid::keeping::Said;
use crate::raid::md::superblock090::{Descriptor, STATE_CLEAN, Superblock090};
use crate::raid::superblock::Position;

impl Kept {
    pub(super) fn old_superblock(
        &self,
        leg: usize,
        own: &Superblock090,
        said: &Said<'_>,
    ) -> Superblock090 {
        let mut next = Superblock090 {
            events: said.superblock.events,
            updated: self.updated(said) as u32,
            state: own.state & !STATE_CLEAN,
            checkpoint_events: 0,
            checkpoint: 0,
            descriptors: self.descriptors(own, said),
            ..own.clone()
        };
        match Self::resync(said) {
            Position::End => {
                next.state |= STATE_CLEAN;
                (next.checkpoint_events, next.checkpoint) = (next.events, u32::MAX);
            }
            Position::Sector(sector) => {
                next.checkpoint_events = next.events;
                // What has no place there is brought in sync from the start.
                next.checkpoint = u32::try_from(sector).unwrap_or(0);
            }
        }
        let is_in_sync = said.recovered[leg] == Position::End;
        let number = if is_in_sync {
            leg as u32
        } else {
            own.this.number
        };
        next.this = next.descriptors[number as usize];
        next.counts = counts(&next.descriptors);
        next.nr_disks = next.counts[0] + next.counts[3];
        next
    }

    /// What each device is: legs by their positions, others behind them.
    fn descriptors(
        &self,
        own: &Superblock090,
        said: &Said<'_>,
    ) -> [Descriptor; Superblock090::DESCRIPTORS] {
        let KeptSuperblock::Old(freshest) = &self.freshest else {
            unreachable!("all are of one format");
        };
        let mut all = freshest.descriptors;
        for leg in 0..own.device_count as usize {
            let number = leg as u32;
            let is_failed = said.superblock.failed.contains(leg);
            let removed = Descriptor {
                number,
                leg: number,
                state: Descriptor::REMOVED | Descriptor::FAULTY,
                ..Descriptor::default()
            };
            let kept = self.legs.get(leg).and_then(Option::as_ref);
            let Some(KeptSuperblock::Old(theirs)) = kept.map(|kept| &kept.superblock) else {
                if is_failed {
                    all[leg] = removed;
                }
                continue;
            };
            let is_in_sync = said.recovered[leg] == Position::End;
            if is_failed || !is_in_sync {
                all[leg] = removed;
            }
            if is_failed {
                continue;
            }
            let mostly = theirs.own().state & Descriptor::WRITE_MOSTLY;
            let old = theirs.this.number as usize;
            if old >= own.device_count as usize {
                all[old] = Descriptor::default();
            }
            let (number, state) = if is_in_sync {
                (number, Descriptor::ACTIVE | Descriptor::SYNC)
            } else {
                (theirs.this.number, 0)
            };
            all[number as usize] = Descriptor {
                number,
                leg: number,
                state: state | mostly,
                ..theirs.this
            };
        }
        all
    }
}

/// Devices that are active, that work, that failed, that wait.
fn counts(all: &[Descriptor]) -> [u32; 4] {
    let mut counts = [0; 4];
    for one in all {
        let is_empty = *one == Descriptor::default();
        let [active, working, failed, spare] = &mut counts;
        if one.state & Descriptor::FAULTY != 0 {
            *failed += 1;
        } else if one.state & Descriptor::SYNC != 0 {
            *active += 1;
            *working += 1;
        } else if !is_empty {
            *spare += 1;
            *working += 1;
        }
    }
    counts
}
