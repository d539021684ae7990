//! The volumes of a group that its owner has made active: those with nodes of their own.
//!
//! ```text
//!   Nodes   lv uuid ─▸ Server    FUSE file, loop device and its keeper, record, names
//! ```
//!
//! An owner stays for as long as it has any. Who changes them runs in the owner, and has its turn.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ashlar::activate::MissingPolicy;
use ashlar::live::LiveGroup;
use export::fuse::Access;
use export::loop_device::Frozen;
use lvm2::Uuid;
use lvm2::model::dm_name;

use crate::args::Error;
use crate::attachment::{InUse, Place, Runtime, Server, Source, after_glances};

/// The active volumes of a group. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Nodes(Arc<Mutex<BTreeMap<Uuid, Server>>>);

/// A volume that is to be active.
#[derive(Debug, Clone)]
pub(crate) struct Wanted<'a> {
    pub(crate) uuid: Uuid,
    /// Its name, without its group.
    pub(crate) name: &'a str,
    pub(crate) access: Access,
    /// What may be missing of it.
    pub(crate) missing: MissingPolicy,
    /// The folder for its names.
    pub(crate) dir: &'a Path,
}

impl Nodes {
    /// Whether no volume is active.
    pub(crate) fn is_empty(&self) -> bool {
        self.held().is_empty()
    }

    /// How many are.
    pub(super) fn len(&self) -> usize {
        self.held().len()
    }

    /// Whether this volume is active.
    pub(crate) fn has(&self, lv: Uuid) -> bool {
        self.held().contains_key(&lv)
    }

    /// Makes a volume of `group` active, unless it is. Gives what people should be told.
    pub(crate) fn activate(
        &self,
        group: &LiveGroup,
        wanted: &Wanted<'_>,
    ) -> Result<Vec<String>, Error> {
        if self.has(wanted.uuid) {
            return Ok(Vec::new());
        }
        let failed = |error: block::Error| Error::failed(error.to_string());
        let runtime = Runtime::open().map_err(failed)?;
        let volume = format!("{}/{}", group.name(), wanted.name);
        let known = runtime.find(&volume).map_err(failed)?;
        if known.is_some_and(|known| known.is_served()) {
            // Somebody has attached it, under a name of its own.
            return Ok(Vec::new());
        }
        let used = group.open(wanted.name, wanted.missing);
        let used = used.map_err(|error| Error::failed(error.to_string()))?;
        let gaps = used.gaps.clone();
        let (vg, volume) = (group.name(), used.name.clone());
        let server = Server::start(
            &runtime,
            Source::Local(used),
            &volume,
            &dm_name(&vg, wanted.name, None),
            wanted.access,
            &Place::Named(wanted.dir.to_owned()),
        );
        let server = server.map_err(failed)?;
        let before = self.held().insert(wanted.uuid, server);
        assert!(
            before.is_none(),
            "who has the turn makes a volume active once"
        );
        Ok(gaps)
    }

    /// Gives the node of an active volume the permission that is wanted: anew where nobody uses it.
    /// Who writes to it already goes on where it becomes read-only, as with LVM2. Gives what people
    /// should be told.
    pub(crate) fn refresh(
        &self,
        group: &LiveGroup,
        wanted: &Wanted<'_>,
    ) -> Result<Vec<String>, Error> {
        let access = self.held().get(&wanted.uuid).map(Server::access);
        let Some(access) = access else {
            return Ok(Vec::new());
        };
        if self.use_of(wanted.uuid)?.is_none() {
            if access == wanted.access {
                return Ok(Vec::new());
            }
            self.deactivate(wanted.uuid)?;
            return self.activate(group, wanted);
        }
        let is_read_only = wanted.access == Access::ReadOnly;
        if access == Access::ReadOnly {
            let name = format!("{}/{}", group.name(), wanted.name);
            let what = format!("Logical volume {name} in use: it stays read-only until refreshed");
            return Ok(if is_read_only { Vec::new() } else { vec![what] });
        }
        let node = self.held().get(&wanted.uuid).and_then(Server::node);
        let set = node.map_or(Ok(()), |node| node.set_read_only(is_read_only));
        set.map(|()| Vec::new())
            .map_err(|error| Error::failed(error.to_string()))
    }

    /// Who uses an active volume beside its server; `None`: nobody. Who just looks is waited for.
    pub(crate) fn use_of(&self, lv: Uuid) -> Result<Option<InUse>, Error> {
        let used = || self.held().get(&lv).map_or(Ok(None), Server::in_use);
        let mut seen = Ok(None);
        let _ = after_glances(|| {
            seen = used();
            match &seen {
                Ok(Some(_)) => Err(block::Error::new(block::Kind::Open, "in use")),
                Ok(None) | Err(_) => Ok(()),
            }
        });
        seen.map_err(|error| Error::failed(error.to_string()))
    }

    /// Lets what is in an active volume rest until what this gives is dropped: all that was written
    /// is in the volume then. Nothing where it is not active.
    pub(crate) fn freeze(&self, lv: Uuid) -> Result<Option<Frozen>, Error> {
        let node = self.held().get(&lv).and_then(Server::node);
        // Under no lock: what is cached may be much.
        let frozen = node.map_or(Ok(None), |node| node.freeze());
        frozen.map_err(|error| Error::failed(error.to_string()))
    }

    /// Fails, naming who does, if somebody uses an active volume.
    pub(super) fn require_unused(&self, lv: Uuid) -> Result<(), Error> {
        let check = || self.held().get(&lv).map_or(Ok(()), Server::check_unused);
        after_glances(check).map_err(|error| Error::failed(error.to_string()))
    }

    /// Takes an active volume away, whoever uses it; an error says that what was written may not be
    /// durable.
    pub(crate) fn deactivate(&self, lv: Uuid) -> Result<(), Error> {
        let server = self.held().remove(&lv);
        // Under no lock: its last writes take as long as they take.
        let closed = server.map_or(Ok(()), Server::close);
        closed.map_err(|error| Error::failed(error.to_string()))
    }

    /// Takes away what was unmounted behind its back, or whose holder was killed.
    pub(super) fn sweep(&self) {
        let lost: Vec<Uuid> = {
            let held = self.held();
            let lost = held.iter().filter(|(_, server)| server.is_lost());
            lost.map(|(uuid, _)| *uuid).collect()
        };
        for uuid in lost {
            if let Err(error) = self.deactivate(uuid) {
                eprintln!("  {error}");
            }
        }
    }

    /// Fails, naming who uses it, if an active volume is in use.
    pub(super) fn check_unused(&self) -> block::Result<()> {
        after_glances(|| self.held().values().try_for_each(Server::check_unused))
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<Uuid, Server>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
