//! A new array on devices.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use block::file::{Access, FileOptions};
use block::{BlockingDevice, Device, Range};
use dm::raid::md::{Formatted, NewArray};
use lvm2::Bytes;

use super::report::places;
use crate::apply::{Signature, find_signatures, random_bytes};
use crate::device::{HeldLegs, narrow, open_whole};
use crate::host::{ArrayPlace, Location};
use crate::scan::{Content, DeviceIndex, FoundDevice, Scan};
use crate::{Error, Kind, Result};

/// What a device holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Held {
    /// Nothing that is known.
    Nothing,
    /// This, which is gone when something else is made of the device.
    Something(String),
    /// The same, and it is in use as a part of something: nobody is only asked.
    Used(String),
    /// It cannot be used: why.
    Unusable(String),
}

/// A device that is open for writing, and locked against other users.
pub(super) struct Target {
    device: Arc<dyn Device>,
    _held: HeldLegs,
}

/// What a device holds.
///
/// # Errors
///
/// It cannot be read.
pub fn held(scan: &Scan, device: DeviceIndex) -> Result<Held> {
    let found = scan.device(device);
    match &found.content {
        Content::PhysicalVolume(index) => {
            let pv = scan.pv(*index);
            let group = pv.group.and_then(|uuid| {
                let mut groups = scan.groups.iter();
                groups.find(|group| group.uuid == uuid)
            });
            return Ok(match group {
                Some(group) => Held::Used(format!("a physical volume of group {}", group.name)),
                None => Held::Something("a physical volume of no group".into()),
            });
        }
        Content::Partitions => return Ok(Held::Used("a partition table".into())),
        Content::Skipped(why) => {
            let is_ours = |place: &&ArrayPlace| {
                let mut members = place.members.iter();
                members.any(|member| member.location == found.location)
            };
            return Ok(match places(scan).find(is_ours) {
                Some(place) => Held::Used(format!("a part of the array {}", place.name)),
                None => Held::Unusable(why.clone()),
            });
        }
        Content::Unreadable | Content::Other => {}
    }
    let target = open(&found.location, &found.name, Access::ReadOnly)?.0;
    let signatures = signatures(&target, &found.name)?;
    Ok(match signatures.first() {
        Some(first) => Held::Something(format!("{} at byte {}", first.name, first.offset.0)),
        None => Held::Nothing,
    })
}

/// An identity that no array has.
pub fn new_identity() -> [u8; 16] {
    random_bytes()
}

/// Makes an array of devices: the legs first, then the spares. What else is on them is not asked
/// for, and what it is recognised by is wiped.
///
/// # Errors
///
/// There can be no such array; a device cannot be written, or somebody uses it.
pub fn create(scan: &Scan, devices: &[DeviceIndex], new: &NewArray) -> Result<Formatted> {
    let found: Vec<&FoundDevice> = devices.iter().map(|index| scan.device(*index)).collect();
    for (index, device) in devices.iter().zip(&found) {
        require_usable(&device.name, &held(scan, *index)?)?;
    }
    let targets = found
        .iter()
        .map(|device| Target::open(&device.location, &device.name));
    let targets: Vec<Target> = targets.collect::<Result<_>>()?;
    let sizes: Vec<u64> = targets.iter().map(Target::size).collect();
    let made = new
        .format(&sizes, random_bytes)
        .map_err(|error| Error::new(Kind::Refused, error.to_string()))?;
    assert_eq!(
        made.devices.len(),
        targets.len(),
        "each device gets its own"
    );
    assert!(made.size > 0, "an array holds something");
    for (target, device) in targets.iter().zip(&found) {
        target.wipe(&device.name)?;
    }
    // What a superblock speaks of is there before it.
    for is_last in [false, true] {
        for ((target, writes), device) in targets.iter().zip(&made.devices).zip(&found) {
            let (superblock, others) = writes.split_last().expect("each has a superblock");
            let writes = if is_last {
                std::slice::from_ref(superblock)
            } else {
                others
            };
            target.write(&device.name, writes)?;
        }
    }
    Ok(made)
}

/// Fails where a device must not be used, whatever people agree to.
pub(super) fn require_usable(name: &str, held: &Held) -> Result<()> {
    let Held::Unusable(why) = held else {
        return Ok(());
    };
    let what = format!("{name} cannot be used: {why}");
    Err(Error::new(Kind::Refused, what))
}

impl Target {
    /// A device, for whoever writes to it alone.
    pub(super) fn open(location: &Location, name: &str) -> Result<Self> {
        let (device, files) = open(location, name, Access::ReadWrite)?;
        let held = HeldLegs::lock(vec![(location, name, files)]);
        let held = held.map_err(|error| Error::new(Kind::Locked, error.to_string()))?;
        Ok(Self {
            device,
            _held: held,
        })
    }

    pub(super) fn size(&self) -> u64 {
        self.device.info().size
    }

    /// Bytes of it.
    pub(super) fn read(&self, name: &str, range: Range) -> Result<Vec<u8>> {
        let read = BlockingDevice::open(&*self.device).and_then(|mut io| io.read(range));
        read.map_err(|error| failed(name, "read", error))
    }

    /// What this device is recognised by is gone, durably.
    pub(super) fn wipe(&self, name: &str) -> Result<()> {
        let zeros = |signature: &Signature| (signature.offset.0, vec![0; signature.length]);
        let wiped = signatures(&self.device, name)?;
        let wiped: Vec<_> = wiped.iter().map(zeros).collect();
        self.write(name, &wiped)
    }

    /// Writes this, durably.
    pub(super) fn write(&self, name: &str, writes: &[(u64, Vec<u8>)]) -> Result<()> {
        let written = BlockingDevice::open(&*self.device).and_then(|mut io| {
            for (at, bytes) in writes {
                io.write_at(bytes, *at)?;
            }
            io.flush()
        });
        written.map_err(|error| failed(name, "write", error))
    }
}

fn open(
    location: &Location,
    name: &str,
    access: Access,
) -> Result<(Arc<dyn Device>, Vec<OwnedFd>)> {
    let opened = open_whole(location, FileOptions::new(access));
    let opened = opened.and_then(|(whole, files)| Ok((narrow(whole, location, name)?, files)));
    opened.map_err(|error| failed(name, "open", error))
}

fn signatures(device: &Arc<dyn Device>, name: &str) -> Result<Vec<Signature>> {
    let mut io = BlockingDevice::open(&**device).map_err(|error| failed(name, "read", error))?;
    let size = device.info().size;
    Ok(find_signatures(Bytes(size), |at, len| {
        io.read(Range::new(at.0, len as u64)).ok()
    }))
}

fn failed(name: &str, what: &str, error: block::Error) -> Error {
    Error::new(Kind::Device, format!("cannot {what} {name}")).because(error)
}
