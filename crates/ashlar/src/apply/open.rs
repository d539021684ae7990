//! What a change opens: first to look, then locked and read again, to write.
//!
//! Everything that is written comes by here, whatever becomes of it: members of the groups, free
//! physical volumes that may come in, devices that become physical volumes, and those that are none
//! afterwards. [`Open::claim`] gives them as [`Disk`]s, which alone can be written.
//!
//! Plans look at more than metadata: superblocks, bitmaps, journals. [`keep_unserved`] keeps those
//! as they are, from before the plan is made.

use std::os::fd::OwnedFd;

use block::BlockingDevice;
use block::file::{Claim, LockMode};
use lvm2::ondisk::Label;
use lvm2::plan::{Change, HeaderEdit};
use lvm2::{Bytes, Uuid};

use super::disks::Opened;
use super::request::{NewLabel, Ownership, Planned, Request, Signatures};
use super::session::{Session, is_concerned, is_member};
use crate::commit::{Disk, Expected, FlushPolicy, OWNER_WAIT, OpenPv, Server, Wanted, claim};
use crate::host::{Location, Place, Window};
use crate::lock::{FileId, ImageUse, LockByte, PvLocks, lock_pvs};
use crate::scan::{AreaContent, Content, FoundDevice, FoundPv, FoundVg, PvIndex, Scan};
use crate::{Error, Kind, Result, log};

/// What is open, and not locked.
pub(super) struct Open {
    devices: Vec<OpenDevice>,
    cuts: Vec<OpenCut>,
    images: ImageUse,
}

/// An image to be cut off.
pub(super) struct OpenCut {
    pub(super) file: OwnedFd,
    pub(super) name: String,
    pub(super) window: Option<Window>,
    pub(super) end: Bytes,
}

struct OpenDevice {
    role: Role,
    name: String,
    location: Location,
    opened: Opened,
    /// Of the physical volume that it is or becomes.
    uuid: Uuid,
    expected: Expected,
    server: Server,
}

/// What becomes of a device.
enum Role {
    /// It is a physical volume, and has this identity in texts that are written.
    Member(Uuid),
    New(Box<NewLabel>),
    Removed,
}

/// What is locked, and as the plan saw it.
pub(super) struct Claimed {
    pub(super) pvs: Vec<OpenPv>,
    pub(super) new: Vec<(NewLabel, Disk)>,
    pub(super) removed: Vec<Disk>,
    pub(super) cuts: Vec<OpenCut>,
}

impl Open {
    /// Opens all that a plan touches; devices that become physical volumes, or are none afterwards,
    /// with `claim`.
    pub(super) fn of(
        session: &Session<'_>,
        scan: &Scan,
        request: &Request,
        groups: &[&FoundVg],
        planned: &Planned,
        claim: Claim,
    ) -> Result<Self> {
        let renewed = |device| planned.new.iter().any(|new| new.device == device);
        let (mut devices, mut cuts) = (Vec::new(), Vec::new());
        for (index, pv) in scan.physical_volumes.iter().enumerate() {
            let touched = renewed(pv.device) || planned.removed.contains(&pv.device);
            if touched || !is_concerned(pv, PvIndex(index), groups, request, planned) {
                continue;
            }
            let found = scan.device(pv.device);
            let opened = session.disks.open(found, Claim::Shared)?;
            let cut = planned.cuts.iter().find(|cut| cut.device == pv.device);
            cuts.extend(
                cut.map(|cut| open_cut(found, &opened, cut.end))
                    .transpose()?,
            );
            devices.push(OpenDevice {
                role: Role::Member(new_uuid(&planned.change, pv.uuid)),
                name: found.name.clone(),
                location: found.location.clone(),
                server: server(found, Some(pv), opened.files.first(), &request.ownership)?,
                opened,
                uuid: pv.uuid,
                expected: expected(Some(pv)),
            });
        }
        let new = planned.new.iter().map(|new| {
            let uuid = new.layout.label.pv.uuid;
            (new.device, uuid, Role::New(Box::new(new.clone())))
        });
        let on = |device| scan.physical_volumes.iter().find(|pv| pv.device == device);
        let removed = planned.removed.iter().filter_map(|device| {
            let pv = on(*device)?;
            Some((*device, pv.uuid, Role::Removed))
        });
        let is_renewed = |device: &crate::scan::DeviceIndex| renewed(*device);
        assert!(
            !planned.removed.iter().any(is_renewed),
            "a device begins or ends"
        );
        for (device, uuid, role) in new.chain(removed) {
            let found = scan.device(device);
            require_free(scan, found)?;
            let pv = on(device);
            let opened = session.disks.open(found, claim)?;
            devices.push(OpenDevice {
                role,
                name: found.name.clone(),
                location: found.location.clone(),
                server: server(found, None, opened.files.first(), &request.ownership)?,
                opened,
                uuid,
                expected: expected(pv),
            });
        }
        Ok(Self {
            devices,
            cuts,
            images: request.images,
        })
    }

    /// The names of all that is open, and where it is.
    pub(super) fn places(&self) -> impl Iterator<Item = (&str, &Location)> {
        let devices = self.devices.iter();
        devices.map(|device| (device.name.as_str(), &device.location))
    }

    /// Locks everything and reads it again. `None`: something is not as the plan saw it, so that
    /// the plan has to be made anew.
    pub(super) fn claim(self, flush_policy: FlushPolicy) -> Result<Option<Claimed>> {
        let mut roles = Vec::new();
        let mut wanted = Vec::new();
        for device in self.devices {
            roles.push(device.role);
            log::debug(|| format!("{}: open for writing", device.name));
            wanted.push(Wanted {
                name: device.name,
                device: device.opened.device,
                files: device.opened.files,
                uuid: device.uuid,
                expected: device.expected,
                server: device.server,
            });
        }
        let Some(disks) = claim(wanted, self.images, flush_policy)? else {
            return Ok(None);
        };
        let mut claimed = Claimed {
            pvs: Vec::new(),
            new: Vec::new(),
            removed: Vec::new(),
            cuts: self.cuts,
        };
        assert_eq!(roles.len(), disks.len(), "each disk has its role");
        for (role, disk) in roles.into_iter().zip(disks) {
            match role {
                Role::Member(uuid) => {
                    let mut pv = OpenPv::open(disk)?;
                    pv.set_uuid_in_text(uuid);
                    claimed.pvs.push(pv);
                }
                Role::New(label) => claimed.new.push((*label, disk)),
                Role::Removed => claimed.removed.push(disk),
            }
        }
        Ok(Some(claimed))
    }

    /// The devices on which signatures of others are looked for.
    pub(super) fn new_devices(&self) -> Result<Vec<(String, BlockingDevice)>> {
        self.devices_to_label(|label| label.others == Signatures::Wiped)
    }

    /// The devices that get a label, to be looked at, if it is a wanted one.
    pub(super) fn devices_to_label(
        &self,
        is_wanted: impl Fn(&NewLabel) -> bool,
    ) -> Result<Vec<(String, BlockingDevice)>> {
        let devices = self.devices.iter();
        let wanted = devices.filter(|device| match &device.role {
            Role::New(label) => is_wanted(label),
            Role::Member(_) | Role::Removed => false,
        });
        wanted
            .map(|device| Ok((device.name.clone(), device.look()?)))
            .collect()
    }

    /// The physical volumes, with their identity now and the one in texts that are written, to be
    /// looked at.
    pub(super) fn members(&self) -> Result<Vec<(Uuid, Uuid, BlockingDevice)>> {
        let mut members = Vec::new();
        for device in &self.devices {
            if let Role::Member(uuid) = device.role {
                members.push((device.uuid, uuid, device.look()?));
            }
        }
        Ok(members)
    }
}

/// Keeps everybody from serving volumes of `groups`, or fails where somebody does: what plans read
/// on them besides metadata stays so until this is dropped. What is no file is not kept.
pub(super) fn keep_unserved(
    session: &Session<'_>,
    scan: &Scan,
    groups: &[&FoundVg],
    request: &Request,
) -> Result<PvLocks> {
    let mut files = Vec::new();
    for pv in scan.physical_volumes.iter().enumerate() {
        let (pv, index) = (pv.1, PvIndex(pv.0));
        let found = scan.device(pv.device);
        let is_file = matches!(found.location.place, Place::File(_));
        if !is_file || !is_member(pv, index, groups, request) {
            continue;
        }
        let opened = session.disks.open(found, Claim::Shared)?;
        if server(found, Some(pv), opened.files.first(), &request.ownership)? == Server::Nobody {
            let names = opened
                .files
                .into_iter()
                .map(|file| (found.name.as_str(), file));
            files.extend(names);
        }
    }
    lock_pvs(&files, LockByte::Owner, LockMode::Shared, OWNER_WAIT)
}

impl OpenDevice {
    fn look(&self) -> Result<BlockingDevice> {
        BlockingDevice::open(&*self.opened.device).map_err(|error| {
            let what = format!("cannot read {}; nothing was changed", self.name);
            Error::new(Kind::Device, what).because(error)
        })
    }
}

/// The file of an image that is to be cut off.
fn open_cut(found: &FoundDevice, opened: &Opened, end: Bytes) -> Result<OpenCut> {
    let failed = || Error::new(Kind::Device, format!("{} is no file", found.name));
    let file = opened.files.first().ok_or_else(failed)?;
    let file = file.try_clone();
    Ok(OpenCut {
        file: file.map_err(|error| failed().because(error))?,
        name: found.name.clone(),
        window: found.location.window,
        end,
    })
}

/// Fails for what is no device of its own.
fn require_free(scan: &Scan, found: &FoundDevice) -> Result<()> {
    if let Content::Skipped(reason) = &found.content {
        let what = format!("Cannot use {}: {reason}", found.name);
        return Err(Error::new(Kind::Refused, what));
    }
    if found.content == Content::Partitions {
        let what = format!(
            "Cannot use {}: device is partitioned; name one of its partitions{}",
            found.name,
            partitions_of(scan, found)
        );
        return Err(Error::new(Kind::Refused, what));
    }
    Ok(())
}

/// How the partitions of an image are named, as the end of a sentence.
fn partitions_of(scan: &Scan, whole: &FoundDevice) -> String {
    let is_in = |other: &&FoundDevice| {
        other.location.window.is_some() && other.location.place == whole.location.place
    };
    let names = scan.devices.iter().filter(is_in);
    let names: Vec<&str> = names.map(|found| found.name.as_str()).collect();
    if names.is_empty() {
        return String::new();
    }
    format!(": {}", names.join(", "))
}

/// What the scan found on a device.
fn expected(pv: Option<&FoundPv>) -> Expected {
    let Some(pv) = pv else {
        return Expected::NoPv;
    };
    let label = Label {
        sector: pv.label_sector.0,
        pv: pv.header.clone(),
    };
    let areas = pv.areas.iter().map(|area| {
        let location = match &area.content {
            AreaContent::Version(version) => Some(version.location),
            _ => area.header.and_then(|header| header.committed),
        };
        (location, area.usage())
    });
    Expected::Pv(Box::new(label), areas.collect())
}

/// Who serves what lies on a device. Fails where this process serves the physical volume, but
/// from another file than the one that its name leads to by now.
fn server(
    found: &FoundDevice,
    pv: Option<&FoundPv>,
    file: Option<&OwnedFd>,
    ownership: &Ownership,
) -> Result<Server> {
    let (Ownership::Ours(owned), Some(file)) = (ownership, file) else {
        return Ok(Server::Nobody);
    };
    let id = FileId::of(file).map_err(|error| {
        let what = format!("cannot examine {}; nothing was changed", found.name);
        Error::new(Kind::Device, what).because(error)
    })?;
    if owned.holds_file(id) {
        return Ok(Server::Us);
    }
    if pv.is_some_and(|pv| owned.holds_pv(pv.uuid)) {
        return Err(replaced(&found.name));
    }
    Ok(Server::Nobody)
}

/// Why a served disk is not written through its name.
pub(crate) fn replaced(name: &str) -> Error {
    let what = format!(
        "{name} is not the file that process {} serves any more: another one was put in its place, \
         and what is written to the volumes goes to the old one. Nothing was changed. Put the file \
         that is served back, or stop serving the group (ashlar stop)",
        std::process::id()
    );
    Error::new(Kind::Refused, what)
}

/// The identity that a physical volume has after the change.
pub(super) fn new_uuid(change: &Change, uuid: Uuid) -> Uuid {
    let edits = change.headers.iter().filter(|header| header.pv == uuid);
    let mut new = edits.filter_map(|header| match header.edit {
        HeaderEdit::Uuid(new) => Some(new),
        _ => None,
    });
    new.next().unwrap_or(uuid)
}
