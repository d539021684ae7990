//! Makes exceptions durable, one round per store at a time.
//!
//! ```text
//!   a fresh store   area 0 zeroed, durable ─▸ header, durable ─▸ as any other
//!   one just read   flush ─▸ its last areas as they were read, and its header, durable (`mend.rs`)
//!   any other       (next area zeroed, if this one fills) ─▸ flush ─▸ area, durable
//!   an invalid one  header that says so, durable
//! ```
//!
//! What is copied while a round is being written goes into the next one, so many first writes at
//! once cost one flush and one write of an area. The flush is for the copies, and for the zeros of
//! the next area; it goes to all disks under the store. Entries of a round are sorted by their
//! place in the store, so that copies that overtook each other make long runs all the same.

use block::{Durability, Request};

use super::Origin;
use super::control::{Notice, Step, Steps};
use super::entries::{Validity, encode_header};
use super::member::{Header, Health, Member};
use super::operation::Sub;
use super::store::EntryRun;

/// A round of a store.
#[derive(Debug)]
pub(super) struct Round {
    stage: Stage,
    group: Vec<EntryRun>,
}

/// What is being done, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The first area becomes zeros.
    FirstArea,
    /// The header says that the store is used.
    Header,
    /// The area behind the present one becomes zeros.
    NextArea,
    /// What the entries point at becomes durable.
    Flush,
    /// The entries are written.
    Area,
    /// What entries that were read point at becomes durable.
    MendFlush,
    /// The area that ends the list is written as it was read.
    MendLast,
    /// The full one before it.
    MendFull,
    /// The header, too.
    MendHeader,
    /// The header says that the store is not valid.
    Mark,
}

impl Round {
    /// Entries of the round.
    pub(super) fn count(&self) -> u64 {
        self.group.iter().map(|run| run.count).sum()
    }
}

impl Member {
    /// The entries of the next round: as many as the present area has room for.
    fn take_group(&mut self) -> Vec<EntryRun> {
        let per_area = self.geometry.per_area;
        let mut room = per_area - self.entries.count() % per_area;
        self.copied.sort_unstable();
        let mut group = Vec::new();
        let mut left = Vec::new();
        for run in self.copied.drain(..) {
            let count = run.count.min(room);
            room -= count;
            if count > 0 {
                group.push(EntryRun { count, ..run });
            }
            if count < run.count {
                left.push(EntryRun {
                    new: run.new + count,
                    old: run.old + count,
                    count: run.count - count,
                });
            }
        }
        self.copied = left;
        group
    }

    /// Whether these entries fill the present area.
    fn fills_area(&self, group: &[EntryRun]) -> bool {
        let count: u64 = group.iter().map(|run| run.count).sum();
        let per_area = self.geometry.per_area;
        let inside = self.entries.count() % per_area + count;
        assert!(
            count > 0 && inside <= per_area,
            "a round fits into its area"
        );
        inside == per_area
    }

    /// The number of the area that is being filled.
    fn area(&self) -> u64 {
        self.entries.count() / self.geometry.per_area
    }
}

impl Origin {
    /// Begins a round for each store that has something to write and none running.
    pub(super) fn pump_commits(&mut self, steps: &mut Steps) {
        for index in 0..self.members.len() {
            let Some(member) = &self.members[index] else {
                continue;
            };
            if member.round.is_some() {
                continue;
            }
            let stage = match member.health {
                Health::Invalidating => Stage::Mark,
                Health::Valid if self.is_doubted(member) => Stage::MendFlush,
                Health::Valid if !member.copied.is_empty() => match member.header {
                    Header::Missing => Stage::FirstArea,
                    Header::Written => Stage::Header,
                    Header::Read => unreachable!("what was read is relied on when it is durable"),
                },
                _ => continue,
            };
            let member = self.member_mut(index);
            let group = match stage {
                Stage::Mark | Stage::MendFlush => Vec::new(),
                _ => member.take_group(),
            };
            member.round = Some(Round { stage, group });
            if stage == Stage::Header {
                // It is written already.
                self.end_stage(index, steps);
            } else {
                self.write_stage(index, steps);
            }
        }
    }

    /// Asks for what the present stage of a round needs.
    fn write_stage(&mut self, index: usize, steps: &mut Steps) {
        let member = self.members[index].as_ref().expect("it has a round");
        let round = member.round.as_ref().expect("it has a round");
        let (geometry, leg) = (member.geometry, member.config.store);
        if matches!(round.stage, Stage::Flush | Stage::MendFlush) {
            self.ask(leg, Sub::Round(index), Request::flush(0), steps);
            return;
        }
        let mut buffer = self.pool.get(geometry.chunk as usize);
        let area = |number| {
            geometry
                .area(number)
                .expect("room for it was checked")
                .start()
        };
        let (start, durability) = match round.stage {
            Stage::FirstArea => {
                buffer.fill(0);
                (area(0), Durability::Fua)
            }
            Stage::NextArea => {
                buffer.fill(0);
                // The flush that follows is for this, too.
                (area(member.area() + 1), Durability::Volatile)
            }
            Stage::Area | Stage::MendLast | Stage::MendFull => {
                let is_before = round.stage == Stage::MendFull;
                let number = member.area() - u64::from(is_before);
                let (entries, count) = (&member.entries, member.entries.count());
                entries.encode_area(&geometry, number, count, &round.group, &mut buffer);
                (area(number), Durability::Fua)
            }
            Stage::Header | Stage::MendHeader => {
                encode_header(Validity::Valid, &mut buffer);
                (0, Durability::Fua)
            }
            Stage::Mark => {
                encode_header(Validity::Invalid, &mut buffer);
                (0, Durability::Fua)
            }
            Stage::Flush | Stage::MendFlush => unreachable!("has no bytes"),
        };
        let request = Request::write(0, start, durability, buffer);
        self.ask(leg, Sub::Round(index), request, steps);
    }

    pub(super) fn round_answered(
        &mut self,
        index: usize,
        result: block::Result<()>,
        steps: &mut Steps,
    ) {
        let member = self.member_mut(index);
        let round = member.round.as_ref().expect("it has a round");
        if round.stage == Stage::Mark {
            member.round = None;
            return self.marked(index, result, steps);
        }
        if let Err(error) = result {
            member.round = None;
            if member.config.merging {
                return self.merge_not_mended(&error, steps);
            }
            let is_read = member.header == Header::Read;
            self.invalidate(index, &format!("its store cannot be written ({error})"));
            if is_read {
                // Each entry may be one that is lost, so none lets a write to the origin pass.
                self.member_mut(index).forget();
            }
            return;
        }
        if matches!(round.stage, Stage::Header | Stage::MendHeader) {
            member.header = Header::Written;
        }
        if !member.is_valid() {
            // Something else failed meanwhile.
            member.round = None;
            return;
        }
        self.end_stage(index, steps);
    }

    /// A stage is over; begins the next one.
    fn end_stage(&mut self, index: usize, steps: &mut Steps) {
        let member = self.member_mut(index);
        let round = member.round.as_ref().expect("it has a round");
        let next = match round.stage {
            Stage::FirstArea => Stage::Header,
            Stage::Header if member.fills_area(&round.group) => Stage::NextArea,
            Stage::Header | Stage::NextArea => Stage::Flush,
            Stage::Flush => Stage::Area,
            Stage::Area => return self.committed(index),
            Stage::MendFlush => Stage::MendLast,
            Stage::MendLast if member.ends_with_full_area() => Stage::MendFull,
            Stage::MendLast | Stage::MendFull => Stage::MendHeader,
            Stage::MendHeader => return self.mended(index),
            Stage::Mark => unreachable!("comes alone"),
        };
        member.round.as_mut().expect("it has a round").stage = next;
        self.write_stage(index, steps);
    }

    /// The entries of a round are durable; who waited for the last of them goes on.
    fn committed(&mut self, index: usize) {
        let member = self.member_mut(index);
        let round = member.round.take().expect("it has a round");
        assert_eq!(member.header, Header::Written, "entries follow a header");
        let mut released = Vec::new();
        for run in round.group {
            member.exceptions.insert(run.old, run.new, run.count);
            member.kept.insert(run);
            member.entries.push(run);
            member.reserved -= run.count;
            let start = member.pending_at(run.old).expect("it was waited for").0;
            let pending = member.pending.get_mut(&start).expect("was just found");
            pending.left -= run.count;
            if pending.left == 0 {
                let pending = member.pending.remove(&start).expect("was just found");
                released.extend(pending.waiters);
            }
        }
        for waiter in released {
            self.release(waiter, None);
        }
    }

    /// Tells of stores that fill.
    pub(super) fn pump_notices(&mut self, steps: &mut Steps) {
        for member in self.members.iter_mut().flatten() {
            let at = member.config.notify_at.unwrap_or(u64::MAX);
            let is_due = member.is_valid() && !member.config.merging && member.used() >= at;
            if is_due && !member.is_told {
                member.is_told = true;
                let id = member.config.id;
                steps.push(Step::Notice(Notice::Filled { id }));
            }
        }
    }
}
