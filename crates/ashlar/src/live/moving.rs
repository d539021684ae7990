//! Moves of extents that are under way: the owner of the group goes on with them.
//!
//! ```text
//!   begun, or found        the owner uses pvmove0 by itself, which copies its first piece
//!   the piece is copied    thread "move": change: locks, scan, piece_moved, commit
//!                            suspend ─▸ the target becomes durable ─▸ commit ─▸ the next piece
//!   the last one           the volumes lie on the target, pvmove0 is gone
//! ```
//!
//! Nothing of a move is kept but the metadata: whoever owns the group next goes on from there, and
//! copies at most one piece again.

use std::sync::Arc;
use std::time::Duration;

use dm::volume::Access;
use lvm2::plan::physical::{Move, abort_move, moves, piece_moved};
use lvm2::{Extents, Uuid};

use super::bench::{End, Job};
use super::group::LiveGroup;
use super::order::GroupUpdater;
use super::owner::{Active, Facts};
use crate::activate::{MissingPolicy, Options};
use crate::apply::Planned;
use crate::{Error, Result};

/// The words that a version's text has for who made it.
const MOVED: &str = "extents were moved";
/// How long to wait before it is written down that a piece is moved, where that failed; each time
/// twice as long, up to an hour: a target that is lost comes back when somebody brings it.
const RETRY: Duration = Duration::from_secs(30);
const RETRY_MAX: Duration = Duration::from_hours(1);

impl LiveGroup {
    /// What was begun in the group goes on: extents are moved, and stores looked at. To be called
    /// when people can be told of what fails.
    pub fn go_on(&self) {
        self.watch_stores();
        // Most groups have none, and need not wait for their turn.
        if self.owner().facts.resting_moves().is_empty() {
            return;
        }
        let failed = self.job().begin_moves();
        for error in failed {
            self.tell_people(&format!(
                "WARNING: what is being moved stands still: {error}"
            ));
        }
    }
}

impl Job<'_> {
    /// Goes on with the moves that are under way; those that cannot, and why.
    fn begin_moves(&mut self) -> Vec<Error> {
        let facts = self.facts();
        let mut failed = Vec::new();
        for one in facts.resting_moves() {
            match self.begin_move(one.uuid) {
                Ok(active) => self.owner().facts.add(active),
                Err(error) => failed.push(error),
            }
            if one.running.is_none()
                && let Some(updater) = &self.updater
            {
                // All is moved, and only that was not written down.
                Arc::clone(updater).copied((one.uuid, Extents::ZERO), one.name);
            }
        }
        failed
    }

    fn begin_move(&mut self, uuid: Uuid) -> Result<Active> {
        let facts = self.facts();
        let is_active = facts.active.iter().any(|active| active.lv == uuid);
        assert!(!is_active, "a move begins once");
        let nodes = self.nodes(facts.nodes())?;
        let options = Options {
            access: Access::ReadWrite,
            missing: MissingPolicy::Partial,
        };
        let group = facts.group().expect("it was found above");
        let lv = group.model.lv_by_uuid(&uuid).expect("it was found above");
        let (activated, _) = self.with_activator(&facts.scan, nodes, true, |activator| {
            activator.activate(group, lv, options)
        });
        let mut active = Active::new(uuid, options, activated?);
        active.is_move = true;
        Ok(active)
    }
}

impl Facts {
    /// The moves that were begun and that nobody goes on with.
    fn resting_moves(&self) -> Vec<Move> {
        let mut all = self
            .group()
            .map_or_else(|_| Vec::new(), |group| moves(&group.model));
        all.retain(|one| self.active.iter().all(|active| active.lv != one.uuid));
        all
    }

    /// Lets go of what is moved, or moved no more.
    pub(super) fn end_moves(&mut self) -> (Vec<Active>, Vec<End>) {
        let Ok(group) = self.group() else {
            return (Vec::new(), Vec::new());
        };
        let model = Arc::clone(&group.model);
        self.remove(|active| active.is_move && model.lv_by_uuid(&active.lv).is_none())
    }
}

impl GroupUpdater {
    /// Writes down that a piece is moved, until that is done or somebody else has changed it. Where
    /// it cannot be, people are told once, and of another reason again.
    pub(super) fn follow(self: Arc<Self>, piece: (Uuid, Extents), name: &str) {
        let (mut told, mut pause) = (String::new(), RETRY);
        while let Some(shared) = self.shared.upgrade() {
            let group = LiveGroup::of(shared);
            match self.piece_moved(&group, piece) {
                Ok(()) => return,
                Err(error) => {
                    let why = super::order::one_line(&error);
                    if why != told {
                        self.tell(&format!(
                            "WARNING: {name} STANDS STILL: a piece of it is copied, and that \
                             cannot be written down: {why}. Nothing is lost, and what is not moved \
                             is where it was. It is tried again, less and less often; end it \
                             (pvmove --abort) if the disk that it moves to does not come back."
                        ));
                        told = why;
                    }
                }
            }
            drop(group);
            std::thread::sleep(pause);
            pause = (2 * pause).min(RETRY_MAX);
        }
    }

    fn piece_moved(&self, group: &LiveGroup, (mover, start): (Uuid, Extents)) -> Result<()> {
        self.change(group, MOVED, |vg, author| {
            let all = moves(vg);
            match all
                .iter()
                .find(|one| one.uuid == mover)
                .map(|one| &one.running)
            {
                Some(Some(piece)) if piece.start == start => {
                    Ok(piece_moved(vg, &mover, start, author)?.into())
                }
                // Nothing is left to be moved: that ends it.
                Some(None) => Ok(abort_move(vg, &mover, author)?.into()),
                // It is moved, ended or aborted.
                Some(Some(_)) | None => Ok(Planned::default()),
            }
        })
    }
}

#[cfg(test)]
mod tests;
