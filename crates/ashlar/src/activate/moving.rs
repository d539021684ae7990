//! Moves of extents (pvmove), piece by piece: the one that is being copied is a mirror.
//!
//! ```text
//!   pvmove0   ├─ moved ─┼─ being copied ─┼─ not yet ─┤
//!   is at       target     source, and      source
//!                          target beside
//! ```
//!
//! The source of a piece is right until the metadata say that the piece is moved, so whoever does
//! not copy has the source alone. Who serves the group copies: writes go to both, and when all is
//! the same on both and durable, the metadata are changed (`MetadataUpdater::copied`) and the next
//! piece is begun. Killed at any moment, the next one who serves the group begins the piece again;
//! so does LVM2.

use std::sync::Arc;

use dm::home::NoticeHandler;
use dm::mirror::{Access, CopyStart, Mirror as Machine, MirrorConfig, Notice, Primary, Sync};
use lvm2::model::{Area, LvFlag, LvId, Mirror, Segment, SegmentType};

use super::layout::Builder;
use super::nodes::NodeId;
use crate::Result;

/// Where a description gives no regions that work, in bytes.
const REGION: u64 = 2 << 20;

/// What a mirrored segment is to a move.
pub(super) enum Moving {
    /// It is none of it.
    No,
    /// It is here, and nobody copies it now.
    At(Area),
    /// It is being copied.
    Now,
}

impl Builder<'_> {
    /// What a mirrored segment is to a move.
    pub(super) fn moving(
        &mut self,
        lv: LvId,
        segment: &Segment,
        mirror: &Mirror,
    ) -> Result<Moving> {
        let model = Arc::clone(&self.group.model);
        let volume = model.lv(lv);
        debug_assert!(
            segment.end() <= volume.extents(),
            "it is a piece of the volume"
        );
        if !volume.flags.has(LvFlag::Pvmove) {
            return Ok(Moving::No);
        }
        let [source, target] = mirror.images[..] else {
            return Err(self.damaged(lv, "it is moved from or to nowhere"));
        };
        if is_moved(segment) {
            return Ok(Moving::At(target));
        }
        let first = volume.segments.iter().find(|segment| !is_moved(segment));
        let is_next = first.is_some_and(|first| first.start == segment.start);
        // Without somebody who writes down that it is moved, it is moved for nothing.
        let is_followed = self.is_live && self.updater.is_some();
        if is_next && is_followed && self.is_there(source) {
            return Ok(Moving::Now);
        }
        if !self.is_live && self.locks.is_empty() {
            // Whoever copies it gives its source to others when it is moved.
            self.require_unserved(lv)?;
        }
        Ok(Moving::At(source))
    }

    /// Whether the disk of an area of a move is there.
    fn is_there(&self, area: Area) -> bool {
        let Area::Pv { pv, .. } = area else {
            return true;
        };
        let member = self.group.member(pv);
        member.is_some_and(|member| member.presence.usable().is_some())
    }

    /// Makes a mirror of `config` the move of a piece.
    pub(super) fn as_move(config: &mut MirrorConfig) {
        config.primary = Primary::Source;
        // Its target may be anybody's until the metadata say whose it is.
        config.copy_start = CopyStart::WhenTold;
        config.sync = Sync::AsLogged;
        // Its volumes may be served read-only; it is copied all the same.
        config.access = Access::ReadWrite;
        // Regions are known in memory only: any will do.
        if !config.region_size.is_power_of_two() || config.region_size < 512 {
            config.region_size = REGION;
        }
    }

    /// What hears the notices of the piece of the move `lv` that begins at `id`.
    pub(super) fn handler_of_move(&self, lv: LvId, id: NodeId) -> NoticeHandler<Machine> {
        let updater = self.updater.clone();
        let name = self.name(lv);
        Box::new(move |notice, _| {
            let Some(updater) = &updater else { return };
            let stays = "nothing is lost: what is not moved is where it was";
            match notice {
                Notice::Copied => Arc::clone(updater).copied((id.lv, id.start), name.clone()),
                Notice::Lost(_) => Arc::clone(updater).warn(format!(
                    "WARNING: {name} stands still, since the disk that it moves to failed; \
                     {stays}. End it (pvmove --abort), and move it elsewhere."
                )),
                Notice::Stuck(range) => Arc::clone(updater).warn(format!(
                    "WARNING: {name} does not come to its end: bytes {} to {} of it cannot be read \
                     where they are; {stays}. Mend that, or end it (pvmove --abort).",
                    range.start(),
                    range.end()
                )),
                Notice::Persist(_) => unreachable!("the source of a move is never lost"),
            }
        })
    }
}

/// Whether a piece of a move is moved.
pub(crate) fn is_moved(segment: &Segment) -> bool {
    match &segment.kind {
        SegmentType::Mirror(mirror) => mirror.extents_moved == Some(segment.length),
        _ => false,
    }
}
