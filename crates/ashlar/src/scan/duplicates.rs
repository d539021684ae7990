//! The same physical volume on more than one device: which of them is used.
//!
//! It happens with clones, snapshots of disks, two paths to one disk, a mirror that came apart, and
//! an image beside a loop device over it. Using the wrong one loses data, so the group is not
//! changed while it lasts (`devices/allow_changes_with_duplicate_pvs` is stock's way around that),
//! and what is read comes from one of them. The rules, first that tells them apart:
//!
//! 1. the device that holds the newest metadata of its group (a clone that was left behind loses);
//! 2. the device that a logical volume of the kernel is built on;
//! 3. the device whose ID is in the metadata;
//! 4. the device whose size is in the metadata;
//! 5. a device of device-mapper or md over one that may be below it;
//! 6. the device whose name is in the metadata;
//! 7. the first.
//!
//! Stock has rules 2 to 7. Rule 1 comes before them because stock's rules may read old metadata's
//! extents beside new metadata's.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use lvm2::Uuid;
use lvm2::model::{PhysicalVolume, VolumeGroup};

use super::finding::{Finding, FindingKind, Severity};
use super::found::{AreaContent, Duplicate, FoundPv, PvIndex, Scan};
use super::in_lvm2;
use crate::host::{DeviceNumber, Host};

/// Marks duplicates in `scan`. `models` are the newest versions of all groups.
pub(super) fn choose(scan: &mut Scan, models: &[&VolumeGroup], host: &Host) {
    let mut by_uuid: BTreeMap<Uuid, Vec<PvIndex>> = BTreeMap::new();
    for (index, pv) in scan.physical_volumes.iter().enumerate() {
        by_uuid.entry(pv.uuid).or_default().push(PvIndex(index));
    }
    for (uuid, indices) in by_uuid.into_iter().filter(|(_, indices)| indices.len() > 1) {
        let listed = models.iter().find_map(|model| {
            let id = model.pv_by_uuid(&uuid)?;
            Some((*model, model.pv(id)))
        });
        let rank = |index: &PvIndex| rank(scan, scan.pv(*index), listed, host);
        // The first of those with the best rank.
        let chosen = *indices
            .iter()
            .min_by_key(|index| Reverse(rank(index)))
            .expect("there are two");
        assert!(indices.contains(&chosen), "one of them is chosen");
        let name = |index: PvIndex| scan.device(scan.pv(index).device).name.clone();
        let others: Vec<_> = indices
            .iter()
            .filter(|index| **index != chosen)
            .map(|index| name(*index))
            .collect();
        let message = format!(
            "Not using device {} for PV {uuid}, which is on {} too; its group is not changed \
             meanwhile",
            others.join(", "),
            name(chosen)
        );
        let remedy = "leave out the device that is the copy (--devices, devices/filter), or give \
                      the copy a new identity: pvchange --uuid --all, vgchange --uuid VG and \
                      vgrename VG NEW-NAME, each with --devices COPY";
        let best = indices.iter().filter(|index| **index != chosen).map(rank);
        let why = why(rank(&chosen), best.max().expect("there are two"));
        let mut finding = Finding::new(FindingKind::DuplicatePv, Severity::Warning, message)
            .on(scan.pv(chosen).device)
            .remedy(remedy)
            .in_lvm2(in_lvm2::duplicates(uuid, &others, &name(chosen), why));
        finding.group = listed.map(|(model, _)| model.uuid);
        for index in indices {
            scan.physical_volumes[index.0].duplicate = if index == chosen {
                Duplicate::Chosen
            } else {
                Duplicate::Unchosen
            };
        }
        scan.findings.push(finding);
    }
}

type Rank = (u32, bool, bool, bool, bool, bool);

/// Why a device is used and not the best of the others, in LVM2's words where it has the same rule.
fn why(used: Rank, other: Rank) -> &'static str {
    if used.0 != other.0 {
        "it holds newer metadata"
    } else if used.1 != other.1 {
        "device is used by LV"
    } else if used.2 != other.2 {
        "device id"
    } else if used.3 != other.3 {
        "device size is correct"
    } else if used.4 != other.4 {
        "device is in dm subsystem"
    } else if used.5 != other.5 {
        "device name matches previous"
    } else {
        "device was seen first"
    }
}

/// How well a device fits; the highest is used.
fn rank(
    scan: &Scan,
    pv: &FoundPv,
    listed: Option<(&VolumeGroup, &PhysicalVolume)>,
    host: &Host,
) -> Rank {
    let device = scan.device(pv.device);
    let held = device.number.is_some_and(|number| is_held(host, number));
    let virtual_device = device.number.is_some_and(|number| is_virtual(host, number));
    let Some((model, listed)) = listed else {
        return (0, held, false, false, virtual_device, false);
    };
    let versions = pv.areas.iter().filter_map(|area| match &area.content {
        AreaContent::Version(version) if version.group == model.uuid => Some(version.seqno),
        _ => None,
    });
    let id = device.id.as_ref();
    let same_id = id.is_some_and(|id| {
        listed.device_id_type.as_deref() == Some(&id.kind)
            && listed.device_id.as_deref() == Some(&id.name)
    });
    let same_size = listed.dev_size == Some(device.size.whole_sectors());
    let same_name = listed.device.as_deref() == Some(&device.name);
    (
        versions.max().unwrap_or(0),
        held,
        same_id,
        same_size,
        virtual_device,
        same_name,
    )
}

/// Whether a logical volume of the kernel is built on the device.
fn is_held(host: &Host, number: DeviceNumber) -> bool {
    host.sysfs.holds_logical_volume(number)
}

fn is_virtual(host: &Host, number: DeviceNumber) -> bool {
    let name = host.sysfs.facts(number).kernel_name;
    name.starts_with("dm-") || name.starts_with("md")
}
