//! Snapshots, read: the origin, with what the store holds in front of it.
//!
//! The store is read once, when the volume is activated. That is enough as long as nobody writes
//! the origin or the snapshot: this program does not yet, and what the kernel has active is not
//! read (`permit.rs`). An origin into which a snapshot is being merged is seen through that
//! snapshot, as the kernel shows it from the moment on at which the merge may begin.

use std::sync::Arc;

use block::BlockingDevice;
use dm::snapshot::{Stored, read_store, view};
use dm::table::Layout;
use lvm2::model::{LvId, Relations, Snapshot};

use super::layout::Builder;
use crate::{Error, Kind, Result};

impl Builder<'_> {
    /// The layout of what people see of a volume.
    pub(super) fn seen(&mut self, lv: LvId) -> Result<Arc<Layout>> {
        let model = Arc::clone(&self.group.model);
        match Relations::of(&model).seen_through(&model, lv) {
            Some(snapshot) => self.snapshot(lv, snapshot),
            None => self.layout(lv, 0),
        }
    }

    fn snapshot(&mut self, lv: LvId, snapshot: &Snapshot) -> Result<Arc<Layout>> {
        let name = self.name(lv);
        let origin = self.layout(snapshot.origin, 0)?;
        let store = self.whole(snapshot.cow, 0).map_err(|error| {
            if error.kind() != Kind::Missing {
                return error;
            }
            let what = format!("{name} lacks what differs from its origin; bring that back");
            Error::new(Kind::Missing, what).because(error)
        })?;
        let device = self.device(snapshot.cow, &store)?;
        let unread = |error: dm::Error| {
            let kind = match error.kind() {
                dm::Kind::Damaged => Kind::Damaged,
                dm::Kind::TooComplex => Kind::Unsupported,
                _ => Kind::Device,
            };
            let what = if lv == snapshot.origin {
                format!("{name} cannot be read through the snapshot that is being merged into it")
            } else {
                let origin = self.name(snapshot.origin);
                format!("{name} cannot be read; what it has of its origin {origin} can")
            };
            Error::new(kind, what).because(error)
        };
        let mut reader = BlockingDevice::open(&*device).map_err(|error| {
            let what = format!("{name} cannot be read");
            Error::new(Kind::Device, what).because(error)
        })?;
        let sizes = (store.size(), origin.size());
        let stored = read_store(store.name(), sizes, |range| reader.read(range)).map_err(unread)?;
        match stored {
            Stored::Fresh => Ok(origin),
            Stored::Overflowed => Err(self.overflowed(lv, snapshot)),
            Stored::Changes(changes) => view(&name, &origin, &store, &changes).map_err(unread),
        }
    }

    fn overflowed(&self, lv: LvId, snapshot: &Snapshot) -> Error {
        let origin = self.name(snapshot.origin);
        let what = if lv == snapshot.origin {
            format!(
                "{origin} is not read: the snapshot that is being merged into it is invalid, so \
                 that only a part of it may be there; see what LVM2 says of it (lvs -a)"
            )
        } else {
            let name = self.name(lv);
            format!(
                "{name} is an invalid snapshot: its store was full, or failed, and what it kept \
                 is lost. {origin} is unharmed; remove {name} (lvremove {name})"
            )
        };
        Error::new(Kind::Refused, what)
    }
}

#[cfg(test)]
mod tests;
