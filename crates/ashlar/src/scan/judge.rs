//! What is wrong with a group or a physical volume once everything is known.

use lvm2::model::{PhysicalVolume, VgFlag};
use lvm2::ondisk::PvUse;
use lvm2::plan::group::losses;
use lvm2::{Sectors, Uuid};

use super::finding::{Finding, FindingKind, Severity};
use super::found::{Duplicate, FoundDevice, FoundPv, FoundVg, Presence, Restriction, Scan};
use super::in_lvm2::{one_name, returned as returned_in_lvm2};
use crate::host::Host;

/// So many missing physical volumes of a group are warned of one by one: more than a group has that
/// lost a shelf of disks, and few enough that what a hostile text lists fills no log.
const MISSING_NAMED_MAX: usize = 64;

/// Reports members that are missing, came back, or are on devices that are too small.
pub(super) fn judge_members(scan: &mut Scan, index: usize, host: &Host) {
    let checks_sizes = host.config.flag("metadata/check_pv_device_sizes", true);
    let group = &scan.groups[index];
    let mut findings = Vec::new();
    let mut gone = Vec::new();
    for member in &group.members {
        let pv = group.model.pv(member.id);
        match member.presence {
            Presence::Missing => gone.push(pv),
            Presence::Returned(found) => {
                findings.push(returned(
                    group,
                    pv,
                    &scan.device(scan.pv(found).device).name,
                ));
            }
            Presence::Present(found) => {
                let found = scan.pv(found);
                let device = scan.device(found.device);
                if checks_sizes {
                    findings.extend(truncated(group, pv, found, device));
                }
                findings.extend(unmarked(group, found, device));
            }
        }
    }
    assert!(
        gone.len() <= group.missing_count(),
        "what is gone is missing"
    );
    findings.extend(missing(group, &gone));
    findings.extend(unknown_types(group));
    let about = |finding: Finding| finding.about(group.uuid);
    let findings: Vec<_> = findings.into_iter().map(about).collect();
    scan.findings.extend(findings);
}

/// In stock's words, for which scripts look; of many only the first few are named.
fn missing(group: &FoundVg, gone: &[&PhysicalVolume]) -> Vec<Finding> {
    if gone.is_empty() {
        return Vec::new();
    }
    let finding = |message| Finding::new(FindingKind::MissingPv, Severity::Warning, message);
    let unusable = group.members.iter();
    let unusable = unusable.filter(|member| member.presence.usable().is_none());
    let without = losses(&group.model, &unusable.map(|member| member.id).collect());
    let remedy = match without.sentence() {
        None => format!(
            "name its device too; if it is lost, vgreduce --removemissing {} takes it out of the \
             group: nothing stands on it",
            group.name
        ),
        Some(losses) => format!(
            "name its device too, or bring it back; without it, {losses}. If it is lost for good, \
             plan vgreduce --removemissing --force {} shows all that would go with it",
            group.name
        ),
    };
    let mut findings = Vec::new();
    for pv in gone.iter().take(MISSING_NAMED_MAX) {
        let hint = pv.device.as_deref().unwrap_or("unknown");
        let message = format!(
            "VG {} is missing PV {} (last written to {hint})",
            group.name, pv.uuid
        );
        findings.push(finding(format!(
            "Couldn't find device with uuid {}",
            pv.uuid
        )));
        let in_lvm2 = vec![format!("WARNING: {message}.")];
        findings.push(finding(message).remedy(remedy.clone()).in_lvm2(in_lvm2));
    }
    if let more @ 1.. = gone.len().saturating_sub(MISSING_NAMED_MAX) {
        let message = format!(
            "VG {} is missing {more} more PVs, {} in all",
            group.name,
            gone.len()
        );
        let remedy = format!("pvs -S vg_name={},pv_missing=1 lists them", group.name);
        findings.push(finding(message).remedy(remedy));
    }
    findings
}

fn unknown_types(group: &FoundVg) -> Option<Finding> {
    let names = group.model.unknown_types();
    let message = format!(
        "VG {} has segments of types that are not known here: {}",
        group.name,
        names.join(", ")
    );
    let names = names.iter();
    let in_lvm2: Vec<String> = names
        .map(|name| format!("WARNING: Unrecognised segment type {name}"))
        .collect();
    let finding = Finding::new(FindingKind::UnknownType, Severity::Warning, message);
    let remedy = "what they hold is not read, and the group is not changed: use what made them";
    (!in_lvm2.is_empty()).then(|| finding.remedy(remedy).in_lvm2(in_lvm2))
}

fn returned(group: &FoundVg, pv: &PhysicalVolume, device: &str) -> Finding {
    let message = format!(
        "PV {} of VG {} on {device} was missing when the metadata was last written; what it holds \
         may be stale",
        pv.uuid, group.name
    );
    let remedy = format!(
        "vgextend --restoremissing {} brings it back if its content is known to be good",
        group.name
    );
    Finding::new(FindingKind::ReturnedPv, Severity::Warning, message)
        .remedy(remedy)
        .in_lvm2(returned_in_lvm2(&group.name, device, pv.uuid))
}

/// What is said of a device that is too small (`metadata/check_pv_device_sizes`).
fn truncated(
    group: &FoundVg,
    pv: &PhysicalVolume,
    found: &FoundPv,
    device: &FoundDevice,
) -> Option<Finding> {
    let (has, needs) = (
        device.size.whole_sectors(),
        pv.dev_size.unwrap_or(Sectors(0)),
    );
    if has >= needs {
        return None;
    }
    let what = format!(
        "Device {} has size of {} sectors which is smaller than corresponding PV size of {} \
         sectors",
        device.name, has.0, needs.0
    );
    let in_lvm2 = vec![
        format!("WARNING: {what}. Was device resized?"),
        format!(
            "WARNING: One or more devices used as PVs in VG {} have changed sizes.",
            group.name
        ),
    ];
    let message = format!("{what}; it was cut off or resized");
    let remedy = "give the device its size back; what lies behind its end cannot be read";
    let finding = Finding::new(FindingKind::TruncatedPv, Severity::Warning, message);
    Some(finding.on(found.device).remedy(remedy).in_lvm2(in_lvm2))
}

/// What is said of a member whose header does not say that it is one.
fn unmarked(group: &FoundVg, found: &FoundPv, device: &FoundDevice) -> Option<Finding> {
    if found.header.usage() != PvUse::Free {
        return None;
    }
    let message = format!(
        "PV {} in VG {} is missing the used flag in PV header",
        device.name, group.name
    );
    let in_lvm2 = vec![format!("WARNING: {message}.")];
    let remedy = "any change of the group sets it";
    let finding = Finding::new(FindingKind::UsedFlag, Severity::Warning, message);
    Some(finding.on(found.device).remedy(remedy).in_lvm2(in_lvm2))
}

/// Finds what keeps a group from being used or changed.
pub(super) fn restrictions(scan: &mut Scan, index: usize, host: &Host) {
    let group = &scan.groups[index];
    let model = &group.model;
    let mut found = Vec::new();
    let mut findings = Vec::new();
    for (restriction, finding) in [foreign(group, host), shared(group)].into_iter().flatten() {
        found.push(restriction);
        findings.push(finding.about(group.uuid));
    }
    if model.flags.has(VgFlag::Clustered) {
        found.push(Restriction::Clustered);
    }
    if model.flags.has(VgFlag::Exported) {
        found.push(Restriction::Exported);
    }
    if !model.is_writable() {
        found.push(Restriction::ReadOnly);
    }
    if group.missing_count() > 0 {
        found.push(Restriction::Partial);
    }
    if has_duplicates(scan, group) {
        found.push(Restriction::DuplicatePvs);
    }
    let same_name: Vec<Uuid> = scan
        .groups_named(&group.name)
        .map(|other| other.uuid)
        .collect();
    assert!(same_name.contains(&group.uuid), "a group has its own name");
    if same_name.len() > 1 {
        found.push(Restriction::AmbiguousName);
        // Said once, with the first of them.
        let in_order = || in_order(scan, &group.name);
        findings.extend(
            (same_name[0] == group.uuid)
                .then(|| ambiguous(group, &same_name).in_lvm2(one_name(&group.name, &in_order()))),
        );
    }
    let names: Vec<&str> = scan
        .groups_of_uuid(group.uuid)
        .map(|other| other.name.as_str())
        .collect();
    assert!(
        names.contains(&&*group.name),
        "a group has its own identity"
    );
    if names.len() > 1 {
        found.push(Restriction::DuplicateVgid);
        findings.extend((names[0] == group.name).then(|| cloned(group, &names)));
    }
    scan.groups[index].restrictions.extend(found);
    scan.findings.extend(findings);
}

fn foreign(group: &FoundVg, host: &Host) -> Option<(Restriction, Finding)> {
    let id = group
        .model
        .system_id
        .as_deref()
        .filter(|id| !id.is_empty())?;
    let own = host.config.system_id();
    if own.as_deref() == Some(id) || host.config.extra_system_ids().contains(&id) {
        return None;
    }
    let message = format!(
        "VG {} belongs to the host with system ID {id} (this host's is {}); it is only read",
        group.name,
        own.as_deref().unwrap_or("none")
    );
    let remedy = format!(
        "to use it here, add {id} to local/extra_system_ids; vgchange --systemid then takes it over"
    );
    let finding = Finding::new(FindingKind::ForeignVg, Severity::Note, message).remedy(remedy);
    Some((
        Restriction::Foreign {
            system_id: id.to_owned(),
            own,
        },
        finding,
    ))
}

fn shared(group: &FoundVg) -> Option<(Restriction, Finding)> {
    let kind = group
        .model
        .lock_type
        .as_deref()
        .filter(|kind| !matches!(*kind, "" | "none"));
    if kind.is_none() && !group.model.flags.has(VgFlag::Shared) {
        return None;
    }
    let lock_type = kind.unwrap_or("unknown").to_owned();
    let message = format!(
        "VG {} is shared by several hosts through {lock_type}; it is only read",
        group.name
    );
    let finding = Finding::new(FindingKind::SharedVg, Severity::Note, message)
        .remedy("change it on a host that runs the lock manager");
    Some((Restriction::Shared { lock_type }, finding))
}

/// The groups of this name, in the order of the devices that they were found on.
fn in_order(scan: &Scan, name: &str) -> Vec<Uuid> {
    let first = |group: &&FoundVg| {
        let members = group.members.iter();
        let found = members.filter_map(|member| member.presence.found());
        found.map(|pv| scan.pv(pv).device).min()
    };
    let mut groups: Vec<&FoundVg> = scan.groups_named(name).collect();
    groups.sort_by_key(first);
    groups.into_iter().map(|group| group.uuid).collect()
}

fn ambiguous(group: &FoundVg, uuids: &[Uuid]) -> Finding {
    let uuids: Vec<_> = uuids.iter().map(Uuid::to_string).collect();
    let message = format!(
        "{} VGs have the name {}: {}",
        uuids.len(),
        group.name,
        uuids.join(", ")
    );
    let remedy = "give one of them another name with vgrename UUID NEWNAME, or choose one with \
                  --select vg_uuid=UUID, or name only its devices";
    Finding::new(FindingKind::DuplicateName, Severity::Warning, message).remedy(remedy)
}

/// In stock's words.
fn cloned(group: &FoundVg, names: &[&str]) -> Finding {
    let message = format!(
        "fix duplicate VGID {} for VGs {} (see vgchange -u)",
        group.uuid,
        names.join(" and ")
    );
    let remedy = "one is a clone of the other: vgchange --uuid gives it a VGID of its own";
    Finding::new(FindingKind::DuplicateVgid, Severity::Warning, message).remedy(remedy)
}

fn has_duplicates(scan: &Scan, group: &FoundVg) -> bool {
    let found = group
        .members
        .iter()
        .filter_map(|member| member.presence.found());
    found
        .into_iter()
        .any(|pv| scan.pv(pv).duplicate != Duplicate::Unique)
}

/// Reports physical volumes that say that they are used by a group that was not found.
pub(super) fn judge_pvs(scan: &mut Scan) {
    let lonely: Vec<Finding> = scan
        .orphans()
        .filter(|pv| pv.header.usage() == PvUse::Used)
        .map(|pv| {
            let name = &scan.device(pv.device).name;
            let message = format!("PV {name} is marked in use but no VG was found using it");
            let in_lvm2 = vec![
                format!("WARNING: {message}."),
                format!("WARNING: PV {name} might need repairing."),
            ];
            let remedy = "name the group's other devices too, or restore its metadata with \
                          vgcfgrestore";
            Finding::new(FindingKind::UsedFlag, Severity::Warning, message)
                .on(pv.device)
                .remedy(remedy)
                .in_lvm2(in_lvm2)
        })
        .collect();
    scan.findings.extend(lonely);
}
