//! From what a scan found to what plans ask for.

use std::collections::BTreeSet;

use lvm2::ondisk::AreaUse;
use lvm2::plan::group::{AreaState, Member};
use lvm2::plan::initialise::{Device, Initialised};
use lvm2::{Bytes, SECTOR_SIZE};

use crate::host::Sysfs;
use crate::scan::{DeviceIndex, FoundArea, FoundVg, PvIndex, Scan};
use crate::{Error, Kind, Result};

/// A physical volume that belongs to no group, as one that may come into a group.
pub fn free_member(scan: &Scan, pv: PvIndex) -> Result<Member> {
    let found = scan.pv(pv);
    let device = scan.device(found.device);
    if let Some(group) = scan.group_behind(found) {
        let what = format!(
            "Physical volume '{}' is already in volume group '{}'",
            device.name, group.name
        );
        return Err(Error::new(Kind::Refused, what));
    }
    Ok(Member {
        header: found.header.clone(),
        device: device.name.clone(),
        device_id_type: device.id.as_ref().map(|id| id.kind.clone()),
        device_id: device.id.as_ref().map(|id| id.name.clone()),
        size: device.size.whole_sectors(),
        areas: found.areas.iter().map(FoundArea::usage).collect(),
    })
}

/// A device that becomes a physical volume, as one that comes into a group with the same command.
pub fn new_member(scan: &Scan, device: DeviceIndex, layout: &Initialised) -> Member {
    let found = scan.device(device);
    Member {
        header: layout.label.pv.clone(),
        device: found.name.clone(),
        device_id_type: found.id.as_ref().map(|id| id.kind.clone()),
        device_id: found.id.as_ref().map(|id| id.name.clone()),
        size: layout.size,
        areas: layout.areas.iter().map(|area| area.usage).collect(),
    }
}

/// The metadata areas of a group that are there.
pub fn area_states(scan: &Scan, group: &FoundVg) -> Vec<AreaState> {
    let found = group.members.iter().filter_map(|m| m.presence.found());
    let states = found.flat_map(|pv| {
        let pv = scan.pv(pv);
        let of_area = |(area, usage): (usize, AreaUse)| AreaState {
            pv: pv.uuid,
            area,
            usage,
        };
        let uses = pv.areas.iter().map(FoundArea::usage).enumerate();
        uses.map(of_area).collect::<Vec<_>>()
    });
    states.collect()
}

/// What a plan has to know of a device that becomes a physical volume.
pub fn plan_device(scan: &Scan, device: DeviceIndex) -> Device {
    let found = scan.device(device);
    let sysfs = Sysfs::of_host();
    let topology = found.number.map(|number| sysfs.topology(number));
    Device {
        size: found.size.whole_sectors(),
        page_size: Bytes(rustix::param::page_size() as u64),
        topology: topology.unwrap_or_default(),
    }
}

/// Refuses physical volumes for a group whose logical blocks differ, `others` beside those that it
/// has: what one disk writes whole another would tear. A group that is mixed may get more of them.
pub fn require_equal_blocks(
    scan: &Scan,
    group: Option<&FoundVg>,
    others: impl Iterator<Item = DeviceIndex>,
) -> Result<()> {
    let sysfs = Sysfs::of_host();
    let block = |device: DeviceIndex| {
        let number = scan.device(device).number;
        number.map_or(SECTOR_SIZE, |number| sysfs.logical_block(number))
    };
    let members = group.into_iter().flat_map(|group| &group.members);
    let present = members.filter_map(|member| member.presence.found());
    let mut sizes: BTreeSet<u64> = present.map(|pv| block(scan.pv(pv).device)).collect();
    if sizes.len() > 1 {
        return Ok(());
    }
    sizes.extend(others.map(block));
    let (Some(least), Some(most)) = (sizes.first(), sizes.last()) else {
        return Ok(());
    };
    if least == most {
        return Ok(());
    }
    assert!(least < most, "a set is in order");
    let what = format!(
        "Devices have inconsistent logical block sizes ({least} and {most}).\nSee lvm.conf \
         allow_mixed_block_sizes."
    );
    Err(Error::new(Kind::Refused, what))
}

/// Refuses to make a physical volume of a device that is one, in stock's words. `-ff` is for those
/// who insist on one that belongs to a group.
pub fn require_no_member(scan: &Scan, device: DeviceIndex) -> Result<()> {
    let found = scan.device(device);
    let pv = scan.physical_volumes.iter().find(|pv| pv.device == device);
    match pv.and_then(|pv| scan.group_behind(pv)) {
        Some(group) => {
            let what = format!(
                "Can't initialize physical volume \"{}\" of volume group \"{}\" without -ff",
                found.name, group.name
            );
            Err(Error::new(Kind::Refused, what))
        }
        None => Ok(()),
    }
}

/// The device with this name.
pub fn find_device(scan: &Scan, name: &str) -> Result<DeviceIndex> {
    let index = scan.devices.iter().position(|found| found.name == name);
    index.map(DeviceIndex).ok_or_else(|| {
        let what = format!(
            "Device {name} not found (or ignored by filtering); name it with --devices if it is an \
             image"
        );
        Error::new(Kind::NotFound, what)
    })
}

/// The physical volume on the device with this name.
pub fn find_pv(scan: &Scan, name: &str) -> Result<PvIndex> {
    let device = find_device(scan, name)?;
    let index = scan
        .physical_volumes
        .iter()
        .position(|pv| pv.device == device);
    index.map(PvIndex).ok_or_else(|| {
        let what = format!("Failed to find physical volume \"{name}\"; pvcreate makes one");
        Error::new(Kind::NotFound, what)
    })
}
