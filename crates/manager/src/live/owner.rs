//! The process that owns a group.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use block::BlockingDevice;
use block::file::LockMode;
use lvm::Uuid;
use lvm::model::{LvFlag, LvId};
use target::volume::{Access, Volume};

use crate::activate::{Activated, Activator, Options, PvDevices};
use crate::apply::{Disks, HostDisks};
use crate::host::Host;
use crate::lock::{LockByte, PvLocks, StockName, lock_pvs, lock_stock};
use crate::scan::{FoundVg, Scan};
use crate::{Error, Kind, Result};

/// How long a command that changes metadata is waited for.
const WAIT: Duration = Duration::from_secs(5);
/// How often to begin anew because somebody changed the group before it was held.
const TRIES_MAX: usize = 5;

/// A group whose volumes this process may write.
pub struct Owner {
    host: Host,
    disks: HostDisks,
    scan: Scan,
    group: Uuid,
    name: String,
    devices: PvDevices,
    active: Vec<Volume>,
    // The last to go.
    _locks: PvLocks,
}

impl std::fmt::Debug for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Owner({}, {} active)", self.name, self.active.len())
    }
}

impl Owner {
    /// Takes the group called `name`, which may also be a UUID. Fails where another process has
    /// it, or a physical volume that is there cannot be written.
    pub fn take(host: &Host, disks: &HostDisks, name: &str) -> Result<Self> {
        let mut before = disks.scan(host)?;
        for _ in 0..TRIES_MAX {
            let group = before.find_group(name)?;
            let _stock = lock_stock(
                &host.config.locking_dir(),
                &StockName::Group(group.name.clone()),
                LockMode::Shared,
                WAIT,
            )?;
            let (devices, locks) = lock(&before, group)?;
            let scan = disks.scan(host)?;
            let now = scan.find_group(name)?;
            if is_same(&before, group, &scan, now) {
                return Ok(Self {
                    host: host.clone(),
                    disks: disks.clone(),
                    group: now.uuid,
                    name: now.name.clone(),
                    devices,
                    active: Vec::new(),
                    scan,
                    _locks: locks,
                });
            }
            before = scan;
        }
        let what = format!("VG {name} was changed by others again and again; try it again");
        Err(Error::new(Kind::Locked, what))
    }

    /// The group's UUID.
    pub fn group(&self) -> Uuid {
        self.group
    }

    /// The group's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where its devices come from.
    pub fn disks(&self) -> &HostDisks {
        &self.disks
    }

    /// Opens the volume called `name`, without its group. One whose own permission is read-only is
    /// opened like that, whatever the options say.
    pub fn activate(&mut self, name: &str, options: Options) -> Result<Activated> {
        let group = self.found()?;
        let lv: LvId = group.model.lv_by_name(name).ok_or_else(|| {
            let what = format!(
                "Failed to find logical volume \"{}/{name}\"; see lvs -a {}",
                self.name, self.name
            );
            Error::new(Kind::NotFound, what)
        })?;
        let mut options = options;
        if !group.model.lv(lv).flags.has(LvFlag::Write) {
            options.access = Access::ReadOnly;
        }
        let devices = std::mem::take(&mut self.devices);
        let mut activator = Activator::over(&self.scan, &self.host, devices);
        let group = self.scan.group(self.group).expect("it was found above");
        let activated = activator.activate(group, lv, options);
        self.devices = activator.into_devices();
        let activated = activated?;
        self.active.push(activated.volume.clone());
        Ok(activated)
    }

    fn found(&self) -> Result<&FoundVg> {
        self.scan.group(self.group).ok_or_else(|| {
            let what = format!("Volume group \"{}\" is gone", self.name);
            Error::new(Kind::NotFound, what)
        })
    }

    /// Gives the group back. Makes what was written durable first; nobody may use its volumes any
    /// more. An error says for which volume that cannot be promised.
    pub fn close(mut self) -> Result<()> {
        let mut outcome = Ok(());
        for volume in self.active.drain(..) {
            if let Err(error) = flush(&volume) {
                outcome = outcome.and(Err(error));
            }
            // A mirror that goes away marks its regions clean.
            drop(volume);
        }
        outcome
    }
}

fn flush(volume: &Volume) -> Result<()> {
    use block::Device;
    let info = volume.info();
    if info.read_only {
        return Ok(());
    }
    let flushed = BlockingDevice::open(volume).and_then(|mut device| device.flush());
    flushed.map_err(|error| {
        let what = format!(
            "{}: what was written last may not be durable; check its disks",
            info.name
        );
        Error::new(Kind::Device, what).because(error)
    })
}

/// Opens and locks the physical volumes of a group that are there.
fn lock(scan: &Scan, group: &FoundVg) -> Result<(PvDevices, PvLocks)> {
    let mut devices = PvDevices::default();
    let members = group.members.iter();
    let found: Vec<_> = members
        .filter_map(|member| member.presence.found())
        .collect();
    for pv in &found {
        devices.get(scan, *pv, Access::ReadWrite)?;
    }
    let files: Vec<(Uuid, &str, BorrowedFd<'_>)> = found
        .iter()
        .filter_map(|pv| {
            let pv = scan.pv(*pv);
            let device = scan.device(pv.device);
            let file = devices.file(&device.location.place)?;
            Some((pv.uuid, device.name.as_str(), file))
        })
        .collect();
    let locks = lock_pvs(&files, LockByte::Owner, LockMode::Exclusive, WAIT)?;
    drop(files);
    Ok((devices, locks))
}

/// Whether nobody changed the group before it was locked.
fn is_same(before: &Scan, group: &FoundVg, after: &Scan, now: &FoundVg) -> bool {
    let places = |scan: &Scan, group: &FoundVg| -> Vec<_> {
        let members = group.members.iter();
        let place = |member: &crate::scan::Member| {
            let pv = member.presence.found()?;
            Some(scan.device(scan.pv(pv).device).location.clone())
        };
        members.map(|member| (member.uuid, place(member))).collect()
    };
    (group.uuid, group.seqno) == (now.uuid, now.seqno)
        && places(before, group) == places(after, now)
}
