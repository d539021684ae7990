//! The front door for programs that link this: open disks, pick a group, use a volume.
//!
//! ```no_run
//! use std::io::Read;
//!
//! let mut volume = ashlar::open(["a.img", "b.img"])?.group("vg0")?.volume("data")?;
//! let mut start = [0; 4096];
//! volume.read_exact(&mut start)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A volume can be handed out, too: `volume.serve(Listener::unix("/run/data")?)?`.
//!
//! What the program `ashlar` does goes through the same functions below: the scan, the activation,
//! the owner of a live group, the commit. LVM2's configuration counts as it does there.
//!
//! Does not: ask anybody. A change that people would be asked about is refused.

mod serving;
mod volume;

use std::collections::BTreeSet;
use std::sync::Arc;

use block::Device;
use lvm2::Uuid;
use lvm2::model::{Relations, VolumeGroup};
use lvm2::plan::{Author, Change, GroupChange};

use crate::activate::{Activator, MissingPolicy, Options};
use crate::apply::{Answer, HostDisks, Outcome, Planned, Quiet, Request, Session};
use crate::host::{DeviceSource, Host};
use crate::live::LiveGroup;
use crate::scan::{FoundVg, Options as ScanOptions, Scan, Severity, scan};
use crate::{Error, Kind, Result};

pub use serving::Serving;
pub use volume::Volume;

/// Opens disks: paths of images and block devices, folders of images, `nbd://` addresses, as
/// `--devices` takes them. No name at all means the disks of this machine, as LVM2 is configured.
///
/// Fails where something that was named is not there. What is wrong with a disk does not hide the
/// others; [`Storage::warnings`] tells it.
pub fn open<S: AsRef<str>>(devices: impl AsRef<[S]>) -> Result<Storage> {
    let host = Host::from_environment()?;
    let source = DeviceSource::choose(devices.as_ref(), None)?;
    let disks = HostDisks {
        source,
        options: ScanOptions::default(),
    };
    Storage::look(host, disks)
}

/// Disks, and what was on them when they were looked at. Clones share it.
#[derive(Debug, Clone)]
pub struct Storage {
    seen: Arc<Seen>,
}

#[derive(Debug)]
struct Seen {
    host: Host,
    disks: HostDisks,
    scan: Scan,
}

impl Storage {
    fn look(host: Host, disks: HostDisks) -> Result<Self> {
        let scan = scan(&host, &disks.source, &disks.options)?;
        let mut findings = scan.findings.iter();
        let absent = findings.find(|finding| {
            let is_of_source = finding.device.is_none() && finding.group.is_none();
            finding.severity == Severity::Error && is_of_source
        });
        if let Some(absent) = absent {
            return Err(Error::new(Kind::Device, absent.to_string()));
        }
        let seen = Arc::new(Seen { host, disks, scan });
        Ok(Self { seen })
    }

    /// What is wrong on the disks, one sentence each.
    pub fn warnings(&self) -> Vec<String> {
        let findings = self.seen.scan.findings.iter();
        findings
            .filter(|finding| finding.severity != Severity::Note)
            .map(ToString::to_string)
            .collect()
    }

    /// The groups, by name.
    pub fn groups(&self) -> Vec<Group> {
        let mut all: Vec<Group> = (0..self.seen.scan.groups.len())
            .map(|place| self.group_at(place))
            .collect();
        all.sort_by(|one, other| one.name().cmp(other.name()));
        all
    }

    /// The group of this name or UUID.
    pub fn group(&self, name: &str) -> Result<Group> {
        let found = self.seen.scan.find_group(name)?;
        let mut all = self.seen.scan.groups.iter();
        let place = all.position(|group| std::ptr::eq(group, found));
        Ok(self.group_at(place.expect("what a scan found is in it")))
    }

    fn group_at(&self, place: usize) -> Group {
        assert!(
            place < self.seen.scan.groups.len(),
            "it is one of those that were found"
        );
        let storage = self.clone();
        Group { storage, place }
    }

    /// Changes the volumes of the group called `group`: what `plan` makes of it (see
    /// [`lvm2::plan::logical`]) is committed, durable when this returns. `command` is what the text
    /// on the disks will say that was done. Groups that this gives from now on are as they became,
    /// unless the disks cannot be looked at again.
    ///
    /// Everything is refused that the commands would refuse, and everything that they would ask
    /// about; so is a plan for another group, or for physical volumes. A group that some process
    /// serves, this one included, is not changed.
    pub fn change(
        &mut self,
        command: &str,
        group: &str,
        mut plan: impl FnMut(&VolumeGroup, &mut Author<'_>) -> lvm2::Result<Change>,
    ) -> Result<Outcome> {
        let request = Request {
            groups: vec![group.to_owned()],
            command: command.to_owned(),
            ..Request::default()
        };
        let mut prompt = Quiet {
            answer: Answer::No,
            messages: Vec::new(),
        };
        let Seen { host, disks, .. } = &*self.seen;
        let outcome =
            Session::new(host, disks, &mut prompt).change(&request, &mut |scan, who| {
                let found = scan.find_group(group)?;
                let change = plan(&found.model, who)?;
                require_volumes_only(&found.model, &change)?;
                Ok(Planned::from(change))
            })?;
        if let Ok(now) = Self::look(host.clone(), disks.clone()) {
            *self = now;
        }
        Ok(outcome)
    }
}

/// Fails where a change is about more than the volumes of a group: what else it is about is not
/// locked.
fn require_volumes_only(vg: &VolumeGroup, change: &Change) -> Result<()> {
    let members =
        |vg: &VolumeGroup| -> BTreeSet<Uuid> { vg.pvs().map(|(_, pv)| pv.uuid).collect() };
    let is_within = |group: &GroupChange| match group {
        GroupChange::Commit(new) => new.uuid == vg.uuid && members(new) == members(vg),
        GroupChange::Erase(_) => false,
    };
    if change.headers.is_empty() && change.groups.iter().all(is_within) {
        return Ok(());
    }
    let what = format!(
        "volume group {}: only volumes are changed here; use the command for groups and physical \
         volumes",
        vg.name
    );
    Err(Error::new(Kind::Unsupported, what))
}

/// A volume group, as it was when its disks were looked at.
#[derive(Debug, Clone)]
pub struct Group {
    storage: Storage,
    place: usize,
}

impl Group {
    fn found(&self) -> &FoundVg {
        &self.storage.seen.scan.groups[self.place]
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.found().name
    }

    /// All that its metadata says.
    pub fn model(&self) -> &VolumeGroup {
        &self.found().model
    }

    /// The names of its volumes that people see, sorted.
    pub fn volumes(&self) -> Vec<String> {
        let model = self.model();
        let relations = Relations::of(model);
        let visible = model
            .lvs()
            .filter(|(id, _)| relations.is_visible(model, *id));
        let mut names: Vec<String> = visible.map(|(_, lv)| lv.name().to_string()).collect();
        names.sort();
        names
    }

    /// Opens the volume of this name for reading. Nothing is activated and nothing is written; the
    /// kernel needs no device-mapper, and other processes may read it, too.
    pub fn volume(&self, name: &str) -> Result<Volume> {
        let Seen { host, scan, .. } = &*self.storage.seen;
        let group = self.found();
        let lv = group.find_lv(name)?;
        let activated = Activator::new(scan, host).activate(group, lv, Options::default())?;
        Volume::new(Arc::new(activated.volume), activated.gaps, None)
    }

    /// Takes the group, so that its volumes can be written; others, stock LVM2 too, are kept out
    /// until this and all volumes that were opened of it are gone. Fails where somebody has it.
    pub fn writable(&self) -> Result<WritableGroup> {
        let Seen { host, disks, .. } = &*self.storage.seen;
        let uuid = self.model().uuid.to_string();
        let live = LiveGroup::take(host, disks, &uuid)?;
        Ok(WritableGroup { live })
    }
}

/// A volume group that this process has for itself.
#[derive(Debug)]
pub struct WritableGroup {
    live: LiveGroup,
}

impl WritableGroup {
    /// Opens the volume of this name for writing. One whose permission is read-only is refused.
    pub fn volume(&self, name: &str) -> Result<Volume> {
        let used = self.live.open(name, MissingPolicy::default())?;
        if used.volume.info().read_only {
            let what = format!("{} is read-only (lvchange -prw changes that)", used.name);
            return Err(Error::new(Kind::Refused, what));
        }
        let (device, gaps) = (used.volume.clone(), used.gaps.clone());
        Volume::new(Arc::new(device), gaps, Some(used))
    }
}

#[cfg(test)]
mod tests;
