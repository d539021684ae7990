//! What a command that was interrupted between two commits means for the scan.
//!
//! Marks in the texts say it (see [`lvm2::plan::unfinished`]): which of two groups is the older
//! one, and which label still says an old identity. Both are taken as they will be when the next
//! command has ended it.

use std::sync::Arc;

use lvm2::Uuid;
use lvm2::model::VolumeGroup;
use lvm2::plan::unfinished::{former_uuid, is_unfinished, replaces};

use super::finding::{Finding, FindingKind, Severity};
use super::found::Scan;

/// Reports groups that are half changed, gives physical volumes the identity that they are to have,
/// and answers which of `models`, the newest versions, others have come in the place of.
pub(super) fn resolve(scan: &mut Scan, models: &[Arc<VolumeGroup>]) -> Vec<usize> {
    let mut replaced = Vec::new();
    for vg in models.iter().filter(|vg| is_unfinished(vg)) {
        let message = format!(
            "VG {} was left half changed by a command that was interrupted",
            vg.name
        );
        let finding = Finding::new(FindingKind::Unfinished, Severity::Warning, message);
        let remedy = "the next command that changes it ends that first";
        scan.findings.push(finding.about(vg.uuid).remedy(remedy));
        for (_, pv) in vg.pvs() {
            if let Some(old) = former_uuid(pv) {
                rename(scan, old, pv.uuid);
            }
        }
        let Some(origin) = replaces(vg) else {
            continue;
        };
        // Somebody who has changed the other one since did not know; then both are shown. And a
        // clone of the other one has its UUID, and none of these physical volumes.
        let is_older = |other: &VolumeGroup| {
            let mut pvs = other.pvs();
            other.uuid == origin.group
                && other.seqno <= origin.seqno
                && pvs.any(|(_, pv)| vg.pv_by_uuid(&pv.uuid).is_some())
        };
        let older = models.iter().enumerate();
        replaced.extend(
            older
                .filter(|(_, other)| is_older(other))
                .map(|(place, _)| place),
        );
    }
    assert!(
        replaced.iter().all(|place| *place < models.len()),
        "what is replaced is there"
    );
    replaced
}

/// Where no device has the new identity, the one with the old one is meant.
fn rename(scan: &mut Scan, old: Uuid, new: Uuid) {
    let mut pvs = scan.physical_volumes.iter_mut();
    if pvs.all(|pv| pv.uuid != new) {
        for pv in &mut scan.physical_volumes {
            if pv.uuid == old {
                pv.uuid = new;
            }
        }
    }
}
