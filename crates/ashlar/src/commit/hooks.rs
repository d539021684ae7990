//! What happens to volumes in use while a commit is under way.

use lvm2::model::VolumeGroup;
use lvm2::plan::Change;
use lvm2::{Bytes, Uuid};

use crate::Result;
use crate::host::Location;
use crate::scan::Scan;

/// How far a commit came, from which there is no way back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// It is durable on all areas.
    All,
    /// It may be on some only: nobody knows what is on the others.
    Some,
}

/// Called by a commit at the moments that matter to whoever serves volumes of the group.
pub trait Hooks {
    /// The volumes that are in use.
    fn in_use(&self) -> Vec<Uuid> {
        Vec::new()
    }

    /// How much of the store of a snapshot at work is in use; `None`: it is not at work here.
    fn store_used(&self, store: Uuid) -> Option<Bytes> {
        let _ = store;
        None
    }

    /// The arrays that are at work, and how they are; one that does not say so in time has `None`.
    /// Any others write nothing any more.
    fn arrays(&self) -> Result<Vec<(Uuid, Option<dm::raid::Status>)>> {
        Ok(Vec::new())
    }

    /// A change was planned from what `scan` found, and nothing asked or written. An error ends it.
    /// If it is made after all, the disks of its groups hold what they held in that look.
    fn permit(&mut self, scan: &Scan, change: &Change) -> Result<()> {
        let _ = (scan, change);
        Ok(())
    }

    /// The disk called `name`, of those in `scan`, is open and will be written by the change. An
    /// error ends it.
    fn permit_disk(&mut self, scan: &Scan, name: &str, location: &Location) -> Result<()> {
        let _ = (scan, name, location);
        Ok(())
    }

    /// The texts are durable, and no header was written: the group is about to become `vg`. Hold
    /// new requests whose volumes change, and wait, within a limit, for those in flight. An error
    /// ends the commit: nothing changed.
    fn suspend(&mut self, vg: &VolumeGroup) -> Result<()>;

    /// The commit is done: load the new tables and go on.
    fn publish(&mut self, reach: Reach);

    /// The commit failed before any header was submitted: go on with the old tables.
    fn resume(&mut self);
}

/// Nothing of the group is in use by this process.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHooks;

impl Hooks for NoHooks {
    fn suspend(&mut self, _vg: &VolumeGroup) -> Result<()> {
        Ok(())
    }

    fn publish(&mut self, _reach: Reach) {}

    fn resume(&mut self) {}
}
