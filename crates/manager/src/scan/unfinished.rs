//! What a command that was interrupted between two commits means for the scan.
//!
//! Marks in the texts say it (see [`lvm::plan::unfinished`]): which of two groups is the older one,
//! and which label still says an old identity. Both are taken as they will be when the next command
//! has ended it.

use std::sync::Arc;

use lvm::Uuid;
use lvm::model::VolumeGroup;
use lvm::plan::unfinished::{former_uuid, is_unfinished, replaces};

use super::finding::{Finding, FindingKind, Severity};
use super::found::Scan;

/// Reports groups that are half changed, gives physical volumes the identity that they are to have,
/// and answers which groups others have come in the place of. `models` are the newest versions.
pub(super) fn resolve(scan: &mut Scan, models: &[Arc<VolumeGroup>]) -> Vec<Uuid> {
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
        // Somebody who has changed the other one since did not know; then both are shown.
        let is_older = |origin: &lvm::plan::unfinished::Origin| {
            let mut others = models.iter();
            others.any(|other| other.uuid == origin.group && other.seqno <= origin.seqno)
        };
        replaced.extend(replaces(vg).filter(is_older).map(|origin| origin.group));
    }
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
