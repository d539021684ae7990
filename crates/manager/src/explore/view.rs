//! What a scan makes of disks, in a form that can be compared.

use std::sync::Arc;

use block::sim::{Image, SimDevice};
use block::{Device, Range};
use lvm::model::VolumeGroup;
use lvm::ondisk::{AreaUse, PvUse};
use lvm::plan::pieces;
use lvm::{Bytes, Uuid};

use super::commands::named;
use crate::host::Host;
use crate::scan::{AreaContent, Finding, Scan, Severity, scan_devices};

/// Bytes at the start of a new volume that are zeroed.
const ZEROED: u64 = 4096;
/// What the extents of all disks hold before anything is written to them.
pub(super) const JUNK: u8 = 0x55;

/// The groups and free physical volumes on some disks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct View {
    pub(super) groups: Vec<GroupView>,
    /// Physical volumes that belong to no group, sorted.
    pub(super) free: Vec<Uuid>,
    /// What labels and headers of areas say of their use, by physical volume.
    pub(super) uses: Vec<(Uuid, PvUse, Vec<AreaUse>)>,
}

/// A version of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GroupView {
    pub(super) name: String,
    pub(super) uuid: Uuid,
    pub(super) seqno: u32,
    pub(super) text: Vec<u8>,
}

/// Simulated disks that hold these images.
pub(super) fn devices(images: &[Image]) -> Vec<Arc<dyn Device>> {
    let device = |image: &Image| {
        let device = SimDevice::of_image("disk", image.clone());
        Arc::new(device) as Arc<dyn Device>
    };
    images.iter().map(device).collect()
}

pub(super) fn scan(host: &Host, images: &[Image]) -> Scan {
    scan_devices(host, &named(&devices(images)))
}

pub(super) fn view(scan: &Scan) -> View {
    let groups = scan.groups.iter().map(|group| GroupView {
        name: group.name.clone(),
        uuid: group.uuid,
        seqno: group.seqno,
        text: group.text.to_vec(),
    });
    let mut free: Vec<Uuid> = scan.orphans().map(|pv| pv.uuid).collect();
    free.sort();
    let uses = scan.physical_volumes.iter().map(|pv| {
        let areas = pv.areas.iter().map(crate::scan::FoundArea::usage);
        (pv.uuid, pv.header.usage(), areas.collect())
    });
    View {
        groups: groups.collect(),
        free,
        uses: uses.collect(),
    }
}

impl View {
    /// Whether the groups and the free physical volumes are the same, whatever labels say of them.
    pub(super) fn is_alike(&self, other: &Self) -> bool {
        self.groups == other.groups && self.free == other.free
    }
}

/// What no cut may leave: labels without areas, and free physical volumes that look used.
pub(super) fn nonsense(scan: &Scan) -> Option<String> {
    let damaged = scan.physical_volumes.iter().find(|pv| {
        let mut areas = pv.areas.iter();
        areas.any(|area| matches!(area.content, AreaContent::Damaged(_)))
    });
    if let Some(pv) = damaged {
        return Some(format!("a metadata area of PV {} is damaged", pv.uuid));
    }
    let mut free = scan.orphans();
    let used = free.find(|pv| pv.header.usage() == PvUse::Used)?;
    Some(format!("PV {} is free and says that it is used", used.uuid))
}

/// What people would be warned of.
pub(super) fn complaints(scan: &Scan) -> Vec<&Finding> {
    let findings = scan.findings.iter();
    findings
        .filter(|finding| finding.severity > Severity::Note)
        .collect()
}

/// What is wrong with the content of the volumes: all begin with zeros and go on with junk.
pub(super) fn damage(scan: &Scan, images: &[Image]) -> Option<String> {
    for group in &scan.groups {
        let vg: &VolumeGroup = &group.model;
        for (id, lv) in vg.lvs() {
            let size = lv.size(vg.extent_size).and_then(lvm::Sectors::to_bytes);
            let size = size.unwrap_or_default().0;
            let parts = [(0, ZEROED, 0), (ZEROED, size - ZEROED, JUNK)];
            for (start, length, byte) in parts {
                let places = pieces(vg, id, Bytes(start), Bytes(length)).ok()?;
                for place in places {
                    let pv = scan.physical_volumes.iter().find(|pv| pv.uuid == place.pv);
                    let Some(pv) = pv else { continue };
                    let image = &images[pv.device.0];
                    let bytes = image.bytes(Range::new(place.start.0, place.length.0));
                    if let Some(at) = bytes.iter().position(|found| *found != byte) {
                        return Some(format!(
                            "volume {}/{} holds {:#x} at byte {} of disk {} instead of {byte:#x}",
                            group.name,
                            lv.name(),
                            bytes[at],
                            place.start.0 + at as u64,
                            pv.device.0
                        ));
                    }
                }
            }
        }
    }
    None
}
