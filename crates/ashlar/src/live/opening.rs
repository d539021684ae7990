//! Volumes come into use, and leave it.
//!
//! Who uses what is in use already is counted, and no more. The first user of a volume has a job:
//! it is activated. The last one makes durable what was written while others go on, and takes the
//! volume away afterwards, unless somebody has come meanwhile.

use dm::volume::Access;
use lvm2::Uuid;

use super::bench::Job;
use super::group::LiveGroup;
use super::owner::Active;
use crate::Result;
use crate::activate::{MissingPolicy, Options};
use crate::apply::replaced;
use crate::lock::FileId;

impl LiveGroup {
    /// One more user of the volume called `name`, which is made ready for the first one. It is open
    /// for writing, unless its own permission is read-only.
    pub(super) fn enter(&self, name: &str, missing: MissingPolicy) -> Result<Active> {
        self.require_in_place()?;
        if let Some(active) = self.owner().share(name, missing)? {
            return Ok(active.clone());
        }
        let mut job = self.job();
        // Somebody may have been faster.
        if let Some(active) = job.owner().share(name, missing)? {
            return Ok(active.clone());
        }
        let active = job.activate(name, missing)?;
        job.owner().facts.add(active.clone());
        Ok(active)
    }

    /// One user less of a volume: it goes with its last one, when what was written is durable.
    pub(super) fn leave(&self, lv: Uuid) -> Result<()> {
        let Some(active) = self.owner().leave(lv) else {
            return Ok(());
        };
        let flushed = active.flush();
        // What it stands on ends with it.
        drop(active);
        self.job().remove_unused(lv);
        flushed
    }

    /// Fails where a path of what is held leads to another file by now: who asks for a volume
    /// means what is there.
    fn require_in_place(&self) -> Result<()> {
        let places = self.owner().places.clone();
        let owned = self.owned();
        for place in &*places {
            let found = place.path().and_then(|path| FileId::at(path).ok());
            if found.is_some_and(|found| !owned.holds_file(found)) {
                return Err(replaced(&place.to_string()));
            }
        }
        Ok(())
    }
}

impl Job<'_> {
    /// Makes a volume ready for use.
    fn activate(&mut self, name: &str, missing: MissingPolicy) -> Result<Active> {
        let facts = self.facts();
        let group = facts.group()?;
        let lv = group.find_lv(name)?;
        let volume = group.model.lv(lv);
        let access = if volume.is_writable() {
            Access::ReadWrite
        } else {
            Access::ReadOnly
        };
        let options = Options { access, missing };
        let nodes = self.nodes(facts.nodes())?;
        let (activated, _) = self.with_activator(&facts.scan, nodes, false, |activator| {
            activator.activate(group, lv, options)
        });
        Ok(Active::new(volume.uuid, options, activated?))
    }

    /// Takes a volume away that nobody uses any more. Mirrors that go away mark their regions
    /// clean.
    fn remove_unused(&mut self, lv: Uuid) {
        let is_unused = |active: &mut Active| active.lv == lv && active.users == 0;
        let (over, ends) = self.owner().facts.remove(is_unused);
        self.leave(ends);
        drop(over);
    }
}
