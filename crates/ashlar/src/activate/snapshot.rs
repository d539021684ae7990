//! Snapshots, read: the origin, with what the store holds in front of it.
//!
//! The store is read once, when the volume is activated. That is enough as long as nobody writes
//! the origin or the snapshot: what the kernel has active is not read (`permit.rs`), nor what
//! another process serves (nor does anybody serve it meanwhile), and who serves it himself has
//! `origin.rs`. An origin into which a snapshot is being merged is seen through that snapshot, as
//! the kernel shows it from the moment on at which the merge may begin.

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use block::Range;
use block::file::LockMode;
use dm::snapshot::{Changes, Stored, view};
use dm::table::Layout;
use dm::volume::Access;
use lvm2::model::{LvId, Relations, Snapshot};
use lvm2::{Bytes, Sectors, Uuid};

use super::access::decide;
use super::activator::{Activator, Options};
use super::layout::Builder;
use super::permit::permit;
use crate::lock::lock_owner;
use crate::scan::FoundVg;
use crate::{Error, Kind, Result};

/// How long the last requests of a killed owner may be on their way to a busy disk. Where this
/// process owns the group itself, it is waited for in vain.
const DYING_MAX: Duration = Duration::from_secs(5);
const DYING_RETRY: Duration = Duration::from_millis(50);

/// What a snapshot is put together from.
pub(super) struct Parts {
    origin: Arc<Layout>,
    store: Arc<Layout>,
    /// Bytes of what is seen.
    size: u64,
    /// With chunks of 0 bytes: the store was never used.
    changes: Changes,
}

impl Parts {
    fn sources(&self) -> (&Arc<Layout>, &Arc<Layout>) {
        (&self.origin, &self.store)
    }
}

/// Where a snapshot may differ from its origin.
#[derive(Debug)]
pub(super) struct Difference {
    /// The origin's UUID.
    pub(super) origin: Uuid,
    /// Its name: `vg0/data`.
    pub(super) origin_name: String,
    /// Bytes of the snapshot, and of its origin when it was taken.
    pub(super) size: u64,
    /// What was kept is kept in pieces of so many bytes; 0 where nothing was kept yet.
    pub(super) chunk: u64,
    /// The bytes that may differ, in order, none beside the one before; all others are the same.
    pub(super) changed: Vec<Range>,
}

impl Activator<'_> {
    /// Where a snapshot may differ from its origin. Reads the store, and neither of the two.
    pub(super) fn difference(&mut self, group: &FoundVg, lv: LvId) -> Result<Difference> {
        let model = &group.model;
        let snapshot = Relations::of(model).snapshot_of_cow(model, lv);
        let snapshot = snapshot.ok_or_else(|| {
            let what = format!("{}/{} is no snapshot", group.name, model.lv(lv).name());
            Error::new(Kind::Request, what)
        })?;
        let origin_name = format!("{}/{}", group.name, model.lv(snapshot.origin).name());
        let through = Relations::of(model).seen_through(model, snapshot.origin);
        if through.is_some_and(|merging| merging.cow != lv) {
            let what = format!(
                "{origin_name} is seen through the snapshot that is being merged into it, so that \
                 the store of {}/{} does not tell where they differ; serve {origin_name}, which \
                 ends the merge",
                group.name,
                model.lv(lv).name()
            );
            return Err(Error::new(Kind::Refused, what));
        }
        permit(group, lv, Access::ReadOnly, self.host())?;
        decide(model, &group.name, lv, Access::ReadOnly)?;
        let mut builder = self.builder(group, Options::default());
        let parts = builder.parts(lv, snapshot)?;
        let mut changed: Vec<Range> = Vec::new();
        for run in parts.changes.runs {
            match changed.last_mut() {
                Some(last) if last.end() == run.range.start() => {
                    *last = Range::new(last.start(), last.len() + run.range.len());
                }
                _ => changed.push(run.range),
            }
        }
        let are_apart = changed
            .windows(2)
            .all(|pair| pair[0].end() < pair[1].start());
        assert!(are_apart, "runs that meet are one");
        let end = changed.last().map_or(0, |last| last.end());
        assert!(end <= parts.size, "nothing differs behind the end");
        Ok(Difference {
            origin: model.lv(snapshot.origin).uuid,
            origin_name,
            size: parts.size,
            chunk: parts.changes.chunk,
            changed,
        })
    }
}

impl Activator<'_> {
    /// How much of a snapshot's store is in use, from its start; `None` for what is no store.
    pub fn store_used(&mut self, group: &FoundVg, lv: LvId) -> Result<Option<Sectors>> {
        let model = &group.model;
        let relations = Relations::of(model);
        let Some(snapshot) = relations.snapshot_of_cow(model, lv) else {
            return Ok(None);
        };
        permit(group, lv, Access::ReadOnly, self.host())?;
        decide(model, &group.name, lv, Access::ReadOnly)?;
        let mut builder = self.builder(group, Options::default());
        let parts = builder.parts(lv, snapshot)?;
        Ok(Some(Bytes(parts.changes.used()).whole_sectors()))
    }
}

impl Builder<'_> {
    /// The layout of what people see of a volume.
    pub(super) fn seen(&mut self, lv: LvId) -> Result<Arc<Layout>> {
        if self.is_live
            && let Some(face) = self.face(lv)?
        {
            return Ok(face);
        }
        let model = Arc::clone(&self.group.model);
        match Relations::of(&model).seen_through(&model, lv) {
            Some(snapshot) => self.snapshot(lv, snapshot),
            None => self.layout(lv, 0),
        }
    }

    fn snapshot(&mut self, lv: LvId, snapshot: &Snapshot) -> Result<Arc<Layout>> {
        let parts = self.parts(lv, snapshot)?;
        let seen = view(
            &self.name(lv),
            parts.sources(),
            parts.size,
            &parts.changes.runs,
        );
        seen.map_err(|error| self.unread(lv, snapshot, error))
    }

    /// What a snapshot is put together from, as `lv` shows it.
    pub(super) fn parts(&mut self, lv: LvId, snapshot: &Snapshot) -> Result<Parts> {
        let name = self.name(lv);
        self.require_unserved(lv)?;
        let origin = self.layout(snapshot.origin, 0)?;
        let store = self.whole(snapshot.cow, 0).map_err(|error| {
            if error.kind() != Kind::Missing {
                return error;
            }
            let what = if lv == snapshot.origin {
                self.half_merged(snapshot)
            } else {
                format!("{name} lacks what differs from its origin; bring that back")
            };
            Error::new(Kind::Missing, what).because(error)
        })?;
        let device = self.device(snapshot.cow, &store)?;
        let kept =
            Relations::of(&self.group.model).snapshot_length(&self.group.model, snapshot.cow);
        let kept = self
            .bytes(lv, kept.expect("it is the store of a snapshot"))?
            .0;
        if kept > origin.size() {
            return Err(self.damaged(lv, "it is larger than its origin"));
        }
        let changes = match self.stored(snapshot, &*device, kept)? {
            Stored::Fresh => Changes::default(),
            Stored::Overflowed => return Err(self.overflowed(lv, snapshot)),
            Stored::Changes(changes) => changes,
        };
        // What is merged is as large as it was before.
        let size = if lv == snapshot.origin {
            origin.size()
        } else {
            kept
        };
        Ok(Parts {
            origin,
            store,
            size,
            changes,
        })
    }

    /// Keeps others from serving the group while the volume is read, since what differs, or where
    /// it is, changes while they do. Fails where they serve it.
    pub(super) fn require_unserved(&mut self, lv: LvId) -> Result<()> {
        if self.is_ours {
            return Ok(());
        }
        let present = self
            .group
            .members
            .iter()
            .filter_map(|pv| pv.presence.found());
        for pv in present {
            let device = self.scan.device(self.scan.pv(pv).device);
            let Some(file) = device
                .location
                .path()
                .and_then(|path| File::open(path).ok())
            else {
                continue;
            };
            let files = [(&*device.name, file)];
            let locked = lock_owner(&files, LockMode::Shared, (DYING_RETRY, DYING_MAX));
            let error = match locked {
                Ok(locks) => {
                    self.locks.push(locks);
                    continue;
                }
                Err(error) => error,
            };
            // Where nobody can lock a file, nobody serves it.
            if error.cause().is_none() {
                let name = self.name(lv);
                let what = format!(
                    "{name} is not read here, since whoever serves its group may change it \
                     meanwhile: read it there (ashlar serve {name}, ashlar attach {name}), or \
                     stop that"
                );
                return Err(Error::new(Kind::Locked, what).because(error));
            }
        }
        Ok(())
    }

    pub(super) fn unread(&self, lv: LvId, snapshot: &Snapshot, error: dm::Error) -> Error {
        let kind = match error.kind() {
            dm::Kind::Damaged => Kind::Damaged,
            dm::Kind::TooComplex => Kind::Unsupported,
            _ => Kind::Device,
        };
        let name = self.name(lv);
        let what = if lv == snapshot.origin {
            format!("{name} cannot be read through the snapshot that is being merged into it")
        } else {
            let origin = self.name(snapshot.origin);
            format!("{name} cannot be read; what it has of its origin {origin} can")
        };
        Error::new(kind, what).because(error)
    }

    fn overflowed(&self, lv: LvId, snapshot: &Snapshot) -> Error {
        let origin = self.name(snapshot.origin);
        if lv != snapshot.origin {
            return overflowed(&self.name(lv), &origin);
        }
        let what = format!(
            "{origin} is not read: the snapshot that is being merged into it is invalid, so that \
             only a part of it may be there; see what LVM2 says of it (lvs -a)"
        );
        Error::new(Kind::Refused, what)
    }
}

/// A snapshot of `origin` that holds nothing any more.
pub(super) fn overflowed(name: &str, origin: &str) -> Error {
    let what = format!(
        "{name} is an invalid snapshot: its store was full, or failed, and what it kept is lost. \
         {origin} is unharmed; remove {name} (lvremove {name})"
    );
    Error::new(Kind::Refused, what)
}

#[cfg(test)]
mod tests;
