//! What differs between two moments of one volume: what a backup, a stream or a client reads who
//! has the older one already.
//!
//! ```text
//!   monday ─────── tuesday ─────── vg0/data
//!      └ its store    └ its store       both list what the origin lost since: nothing that
//!                                       differs between the three is in neither of them
//! ```
//!
//! A moment is a snapshot, or the volume as it is now. Between a snapshot and its origin differs
//! what the snapshot's store holds; between two snapshots of one origin what either holds. A store
//! only grows, so this holds more than differs, never less, also for a snapshot that was written:
//! the chunks that were written to it are in it, too.
//!
//! A snapshot is known by the UUID of the hidden volume that joins it to its origin (`snapshot0`),
//! not by that of its store: the store can be split off, emptied, and joined again, and is another
//! moment then (`lvconvert --splitsnapshot`, `-s`).

use block::Range;
use lvm2::model::{LvId, Relations, SnapshotState, VolumeGroup};
use lvm2::{Sectors, Uuid};

use super::activator::Activator;
use crate::scan::FoundVg;
use crate::{Error, Kind, Result};

/// Whether a moment can be found again as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permanence {
    /// A snapshot that nobody may write.
    Lasting,
    /// A volume that goes on, or a snapshot that may be written.
    Passing,
}

/// A volume as it was once, or as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    /// What it is called: `vg0/monday`.
    pub name: String,
    /// Which one it is: of a snapshot, the volume that joins it; else the volume itself.
    pub uuid: Uuid,
    /// The volume of which it is a moment.
    pub volume: Uuid,
    /// Whether it stays what it is.
    pub permanence: Permanence,
}

/// Where a moment may differ from an older one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The volume of which both are moments: `vg0/data`.
    pub origin_name: String,
    /// Bytes of the older one.
    pub since_size: u64,
    /// Bytes of the newer one.
    pub size: u64,
    /// The largest pieces in which the stores keep what differs; 0: they hold nothing yet.
    pub chunk: u64,
    /// Where bytes that both have may differ: in order, none beside the one before.
    pub ranges: Vec<Range>,
}

impl Moment {
    /// The moment that the volume `lv` shows.
    pub fn of(group: &FoundVg, lv: LvId) -> Self {
        let model = &group.model;
        let volume = model.lv(lv);
        let name = format!("{}/{}", group.name, volume.name());
        match joined(model, lv) {
            Some((holder, origin)) => Self {
                name,
                uuid: model.lv(holder).uuid,
                volume: model.lv(origin).uuid,
                permanence: if volume.is_writable() {
                    Permanence::Passing
                } else {
                    Permanence::Lasting
                },
            },
            None => Self {
                name,
                uuid: volume.uuid,
                volume: volume.uuid,
                permanence: Permanence::Passing,
            },
        }
    }

    /// The volume of the group that shows the moment called `uuid`, if it has one.
    pub fn find(group: &FoundVg, uuid: Uuid) -> Option<LvId> {
        let mut all = group.model.lvs().map(|(id, _)| id);
        all.find(|id| Self::of(group, *id).uuid == uuid)
    }

    /// Whether it is the volume itself, as it was when it was looked at.
    pub fn is_volume(&self) -> bool {
        self.uuid == self.volume
    }
}

/// The volume that joins the snapshot `lv` to its origin, and the origin.
fn joined(model: &VolumeGroup, lv: LvId) -> Option<(LvId, LvId)> {
    let relations = Relations::of(model);
    let snapshot = relations.snapshot_of_cow(model, lv)?;
    Some((relations.parent(lv)?, snapshot.origin))
}

/// The two that are compared for whoever reads `lv`: a snapshot, and what it is compared with. That
/// is `since`, if it is a snapshot of the same volume; else a snapshot is compared with its origin.
pub fn compared(model: &VolumeGroup, lv: LvId, since: Option<LvId>) -> Option<(LvId, LvId)> {
    let origin = |lv: LvId| joined(model, lv).map(|(_, origin)| origin);
    let is_related = |since: &LvId| {
        let of = origin(*since);
        *since != lv && of.is_some() && (of == Some(lv) || of == origin(lv))
    };
    match since.filter(is_related) {
        Some(since) => Some((since, lv)),
        None => Some((lv, origin(lv)?)),
    }
}

impl Changed {
    /// What is to be read of the newer one by whoever has the older one: what may differ, and what
    /// the older one did not have.
    pub fn to_read(&self) -> Vec<Range> {
        let mut all: Vec<Range> = self.ranges.clone();
        if self.since_size < self.size {
            let grown = Range::new(self.since_size, self.size - self.since_size);
            all = united(&all, &[grown]);
        }
        all
    }
}

impl Activator<'_> {
    /// The volume of which `lv` is a snapshot.
    pub fn origin_of(group: &FoundVg, lv: LvId) -> Result<LvId> {
        let origin = joined(&group.model, lv).map(|(_, origin)| origin);
        origin.ok_or_else(|| {
            let name = group.model.lv(lv).name();
            let what = format!("{}/{name} is no snapshot", group.name);
            Error::new(Kind::Request, what)
        })
    }

    /// Where the volume `of` may differ from the snapshot `since`: its origin, or another snapshot
    /// of that. Only stores are read.
    pub fn changed(&mut self, group: &FoundVg, since: LvId, of: LvId) -> Result<Changed> {
        let model = &group.model;
        let name = |lv: LvId| format!("{}/{}", group.name, model.lv(lv).name());
        let one = self.difference(group, since)?;
        if model.lv(of).uuid == one.origin {
            require_apart(group, of)?;
            let size = model.lv(of).size(model.extent_size);
            let size = size.and_then(Sectors::to_bytes).ok_or_else(|| {
                let what = format!("{} is larger than 2^64 bytes", name(of));
                Error::new(Kind::Damaged, what)
            })?;
            return Ok(Changed {
                origin_name: one.origin_name,
                since_size: one.size,
                size: size.0,
                chunk: one.chunk,
                ranges: one.changed,
            });
        }
        if joined(model, of).is_none() {
            let what = format!(
                "{} is no snapshot of {}, nor that itself: nothing is known of where it differs \
                 from {}",
                name(of),
                one.origin_name,
                name(since)
            );
            return Err(Error::new(Kind::Request, what));
        }
        let other = self.difference(group, of)?;
        if one.origin != other.origin {
            let what = format!(
                "{} is a snapshot of {}, and {} one of {}: nothing is known of where they differ",
                name(since),
                one.origin_name,
                name(of),
                other.origin_name
            );
            return Err(Error::new(Kind::Request, what));
        }
        let both = Range::new(0, one.size.min(other.size));
        let ranges = united(&one.changed, &other.changed);
        Ok(Changed {
            origin_name: one.origin_name,
            since_size: one.size,
            size: other.size,
            chunk: one.chunk.max(other.chunk),
            ranges: ranges
                .into_iter()
                .filter_map(|range| range.intersection(both))
                .collect(),
        })
    }
}

/// Refuses an origin that shows another volume's bytes.
fn require_apart(group: &FoundVg, origin: LvId) -> Result<()> {
    let relations = Relations::of(&group.model);
    let mut snapshots = relations.snapshots(&group.model, origin);
    if snapshots.all(|snapshot| snapshot.state == SnapshotState::Apart) {
        return Ok(());
    }
    let what = format!(
        "a snapshot is being merged into {}/{}, which changes without a trace in the others: wait \
         for the end of that",
        group.name,
        group.model.lv(origin).name()
    );
    Err(Error::new(Kind::Refused, what))
}

/// The bytes that are in one list or the other, each of which is in order.
fn united(one: &[Range], other: &[Range]) -> Vec<Range> {
    let mut all = [one, other].concat();
    all.sort_by_key(|range| range.start());
    let mut united: Vec<Range> = Vec::new();
    for range in all {
        match united.last_mut() {
            Some(last) if range.start() <= last.end() => {
                let end = last.end().max(range.end());
                *last = Range::new(last.start(), end - last.start());
            }
            _ => united.push(range),
        }
    }
    let are_apart = united.windows(2).all(|two| two[0].end() < two[1].start());
    assert!(
        are_apart,
        "ranges are in order, and none touches the next one"
    );
    united
}

#[cfg(test)]
mod tests;
