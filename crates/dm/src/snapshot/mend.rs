//! Makes durable what stores were read as, before anything relies on it.
//!
//! What is read from a store may be in a cache only: whoever wrote it was killed before it was
//! durable, or was told that it failed. A write to a chunk whose entry is lost later, or whose
//! cleared entry comes back, would be seen where it does not belong. So a store is written once as
//! it was read, and all requests, and a merge, wait for that.
//!
//! ```text
//!   valid    flush ─▸ area that ends the list ─▸ the one before, if that ends it ─▸ header
//!   invalid  header that says so
//! ```
//!
//! No more than that was in flight. A round writes entries of one area, and before that zeros
//! behind it, which are durable then; a merge clears entries of one area, and the next ones when
//! that is durable. An area without entries that ends the list may be what a merge has left, and
//! the full one before it what was filled last. What a torn write left behind the last entry is
//! gone by the same write.
//!
//! A store that nobody can write to is not written: nothing can rely on it either. One that was
//! never used has nothing to lose. Costs: a flush and two or three writes a store at each start.

use super::Origin;
use super::member::{Header, Health, Member};
use super::operation::Waiter;
use crate::volume::Access;

impl Member {
    /// Whether the last area is without entries and follows a full one.
    pub(super) fn ends_with_full_area(&self) -> bool {
        let count = self.entries.count();
        count > 0 && count.is_multiple_of(self.geometry.per_area)
    }
}

impl Origin {
    /// Whether anything relies on what the store of a snapshot was read as.
    fn is_relied_on(&self, member: &Member) -> bool {
        let is_written = self.shape.access == Access::ReadWrite || self.merge.is_some();
        is_written || member.config.access == Access::ReadWrite
    }

    /// Whether a store has to be made what it was read as.
    pub(super) fn is_doubted(&self, member: &Member) -> bool {
        let is_open = match member.health {
            Health::Valid if member.config.merging => {
                // It is tried again when the merge is.
                self.merge.as_ref().is_some_and(|merge| !merge.is_failed())
            }
            Health::Valid | Health::Invalidating => true,
            Health::Invalid | Health::Unmarked => false,
        };
        is_open && member.header == Header::Read && self.is_relied_on(member)
    }

    /// The same for any store.
    pub(super) fn is_doubting(&self) -> bool {
        let mut members = self.members.iter().flatten();
        members.any(|member| self.is_doubted(member))
    }

    /// Invalid snapshots that are new here have to be marked once more.
    pub(super) fn doubt_marks(&mut self) {
        for index in 0..self.members.len() {
            let Some(member) = &self.members[index] else {
                continue;
            };
            // A store without a whole chunk never had a header.
            let is_read = member.header == Header::Read && member.geometry.chunks > 0;
            if member.health == Health::Invalid && is_read && self.is_relied_on(member) {
                self.member_mut(index).health = Health::Invalidating;
            }
        }
    }

    /// A store is what it was read as, durably.
    pub(super) fn mended(&mut self, index: usize) {
        let member = self.member_mut(index);
        let round = member.round.take().expect("it has a round");
        assert_eq!(round.count(), 0, "it is mended before it keeps things");
        assert_eq!(member.header, Header::Written);
        if member.config.merging {
            self.merge_mut().is_mended();
        }
    }

    /// Nothing is doubted any more: who waited for that goes on.
    pub(super) fn admit(&mut self) {
        for waiter in std::mem::take(&mut self.early) {
            self.release(waiter, None);
        }
    }

    /// A request has come, and goes on when nothing is doubted.
    pub(super) fn wait_for_doubts(&mut self, waiter: Waiter) {
        if self.is_doubting() {
            self.block(waiter);
            self.early.push(waiter);
        } else {
            self.ready.push_back(waiter);
        }
    }
}
