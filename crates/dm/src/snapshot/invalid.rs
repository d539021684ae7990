//! The end of a snapshot: its store is full or failed, so that it cannot follow its origin.
//!
//! The store says so before the origin is written: a store that called itself valid after a
//! restart would show bytes of the origin that were never the snapshot's. Where the store cannot
//! be written there are two cases. If it is gone, the origin goes on: it must not depend on a disk
//! that only a snapshot needs, and who brings that disk back finds its snapshot damaged. If it is
//! there, writes to the origin that would change the snapshot fail, each after one more attempt to
//! mark the store, until it can be marked or the snapshot is removed. The kernel goes on in both
//! cases.

use block::Kind;

use super::Origin;
use super::control::{Notice, Step, Steps};
use super::member::{Header, Health};

impl Origin {
    /// A snapshot is not valid any more: what it was about to keep is dropped, and who asked for
    /// it fails. Writes to the origin wait until its store says so.
    pub(super) fn invalidate(&mut self, index: usize, why: &str) {
        let member = self.member_mut(index);
        if !member.is_valid() {
            return;
        }
        assert!(!member.config.merging, "nothing is kept for what is merged");
        member.health = Health::Invalidating;
        member.kept.invalidate();
        why.clone_into(&mut member.why);
        member.copied.clear();
        member.reserved = 0;
        let refusal = member.refusal();
        for (_, pending) in std::mem::take(&mut member.pending) {
            for waiter in pending.waiters {
                if self.is_of_origin(waiter) {
                    self.member_mut(index).mourners.push(waiter);
                } else {
                    self.release(waiter, Some(refusal.clone()));
                }
            }
        }
    }

    /// The store says that its snapshot is not valid, or cannot be written.
    pub(super) fn marked(&mut self, index: usize, result: block::Result<()>, steps: &mut Steps) {
        let member = self.members[index].as_mut().expect("it was marked");
        assert_eq!(member.health, Health::Invalidating);
        // What was read of it does not matter any more.
        member.header = Header::Written;
        let waiters = std::mem::take(&mut member.mourners);
        let error = match result {
            Err(error) if error.kind() != Kind::Gone => {
                member.health = Health::Unmarked;
                let what = format!(
                    "{}: its snapshot {} cannot follow ({}), and its store cannot be marked as \
                     invalid; remove the snapshot",
                    self.shape.name, member.config.name, member.why
                );
                Some(error.within(what))
            }
            _ => {
                member.health = Health::Invalid;
                member.forget();
                None
            }
        };
        if !member.is_mourned {
            member.is_mourned = true;
            let (id, why) = (member.config.id, member.why.clone());
            steps.push(Step::Notice(Notice::Invalid { id, why }));
        }
        for waiter in waiters {
            self.release(waiter, error.clone());
        }
    }
}
