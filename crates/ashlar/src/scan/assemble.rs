//! From what stands on the devices to what volume groups there are.
//!
//! ```text
//!   devices ─▶ physical volumes ─▶ versions of each group ─▶ the newest one ─▶ members
//!               (duplicates)        (damaged, stale,           (claims)         (missing,
//!                                    disagreeing areas)                          outdated)
//! ```
//!
//! No I/O happens here, and the order of the devices alone decides between equals, so the same
//! disks give the same scan.

use std::collections::BTreeMap;
use std::sync::Arc;

use lvm2::model::{PvFlag, VolumeGroup};
use lvm2::ondisk::{AreaHeader, AreaUse};
use lvm2::plan::unfinished::split_from;
use lvm2::{Bytes, Sectors, Uuid};

use super::again::Looked;
use super::duplicates::choose;
use super::families::{Family, families};
use super::finding::{Finding, FindingKind, Severity};
use super::found::{
    AreaContent, AreaVersion, Content, DeviceIndex, Duplicate, FoundArea, FoundDevice, FoundPv,
    FoundVg, Member, Presence, PvIndex, Restriction, Scan,
};
use super::in_lvm2::{Area, old_texts};
use super::judge::{judge_members, judge_pvs, restrictions};
use super::probe::{Known, Probed, ProbedArea, ProbedContent, ProbedPv, Unusable};
use super::texts::Text;
use super::unfinished;
use crate::host::Host;

/// What the areas of one group hold.
pub(super) struct Sighting {
    pub(super) pv: PvIndex,
    pub(super) area: usize,
    pub(super) text: Arc<Text>,
    pub(super) model: Arc<VolumeGroup>,
}

/// The newest version of a group.
struct Newest {
    text: Arc<Text>,
    model: Arc<VolumeGroup>,
    disagrees: bool,
}

/// Makes a scan of what was read. `findings` are those from before any device was read.
pub(super) fn assemble(
    (looked, probed): (Vec<Looked>, Vec<Probed>),
    host: &Host,
    findings: Vec<Finding>,
) -> Scan {
    let mut scan = Scan {
        findings,
        ..Scan::default()
    };
    let mut sightings: Vec<Sighting> = Vec::new();
    for device in probed {
        add_device(&mut scan, &mut sightings, device);
    }
    let mut found: Vec<(Family, Newest)> = Vec::new();
    for family in families(sightings) {
        let newest = find_newest(&mut scan, family.uuid, &family.seen);
        found.push((family, newest));
    }
    let models: Vec<Arc<VolumeGroup>> = found.iter().map(|(_, n)| Arc::clone(&n.model)).collect();
    let replaced = unfinished::resolve(&mut scan, &models);
    let mut places = 0..;
    found.retain(|_| {
        places
            .next()
            .is_some_and(|place| !replaced.contains(&place))
    });
    let models: Vec<&VolumeGroup> = found.iter().map(|(_, n)| n.model.as_ref()).collect();
    choose(&mut scan, &models, host);
    claim(&mut scan, &found);
    for (family, newest) in &found {
        judge_areas(&mut scan, family, &newest.model);
    }
    for (family, newest) in found {
        let group = group(&mut scan, family.uuid, newest);
        scan.groups.push(group);
    }
    scan.groups
        .sort_by(|a, b| (&a.name, a.uuid).cmp(&(&b.name, b.uuid)));
    for index in 0..scan.groups.len() {
        judge_members(&mut scan, index, host);
        restrictions(&mut scan, index, host);
    }
    judge_pvs(&mut scan);
    scan.looked = looked.into();
    scan.check();
    scan
}

fn add_device(scan: &mut Scan, sightings: &mut Vec<Sighting>, probed: Probed) {
    let index = DeviceIndex(scan.devices.len());
    scan.findings
        .extend(probed.findings.into_iter().map(|finding| finding.on(index)));
    let content = match probed.content {
        ProbedContent::Pv(pv) => {
            let pv_index = PvIndex(scan.physical_volumes.len());
            let pv = add_pv(scan, sightings, *pv, (index, &probed.name), pv_index);
            scan.physical_volumes.push(pv);
            Content::PhysicalVolume(pv_index)
        }
        ProbedContent::Other => Content::Other,
        ProbedContent::Partitions => Content::Partitions,
        ProbedContent::Skipped(reason) => Content::Skipped(reason),
        ProbedContent::Unreadable => Content::Unreadable,
    };
    scan.devices.push(FoundDevice {
        name: probed.name,
        location: probed.location,
        size: Bytes(probed.size),
        number: probed.number,
        id: probed.id,
        content,
    });
}

fn add_pv(
    scan: &mut Scan,
    sightings: &mut Vec<Sighting>,
    pv: ProbedPv,
    (device, name): (DeviceIndex, &str),
    index: PvIndex,
) -> FoundPv {
    let mut areas = Vec::new();
    for (area, probed) in pv.areas.into_iter().enumerate() {
        let ProbedArea { span, header, text } = probed;
        let place = Area {
            device: name,
            pv: pv.label.pv.uuid,
            index: area,
        };
        let content = match read_area(header.as_ref(), text) {
            Ok((content, Some((text, model)))) => {
                sightings.push(Sighting {
                    pv: index,
                    area,
                    text,
                    model,
                });
                content
            }
            Ok((content, None)) => content,
            Err((kind, Unusable { why, known })) => {
                let message = format!("{name}: metadata area {}: {why}", area + 1);
                let mut finding = Finding::new(kind, Severity::Warning, message);
                finding.in_lvm2 = known.map(|known| match known {
                    Known::Header(wrong) => place.bad_header(span.offset.0, &wrong),
                    Known::Text(at) => place.bad_text(at),
                });
                scan.findings.push(finding.on(device).remedy(
                    "another good copy is used if there is one, and vgck --updatemetadata VG \
                     then writes this one again; else see pvck --dump",
                ));
                AreaContent::Damaged(why)
            }
        };
        areas.push(FoundArea {
            span,
            header,
            content,
        });
    }
    FoundPv {
        uuid: pv.label.pv.uuid,
        device,
        label_sector: Sectors(pv.label.sector),
        header: pv.label.pv,
        areas,
        group: None,
        outdated: None,
        duplicate: Duplicate::Unique,
    }
}

type ReadArea = (AreaContent, Option<(Arc<Text>, Arc<VolumeGroup>)>);

/// What an area holds, with the text and the group that it describes; or how it is damaged.
fn read_area(
    header: Option<&AreaHeader>,
    text: Option<std::result::Result<Arc<Text>, Unusable>>,
) -> std::result::Result<ReadArea, (FindingKind, Unusable)> {
    let Some(header) = header else {
        let why = text.and_then(std::result::Result::err);
        let why = why.expect("whose header cannot be used has a reason");
        return Err((FindingKind::DamagedArea, why));
    };
    let text = match text {
        Some(Ok(text)) => text,
        Some(Err(why)) => return Err((FindingKind::DamagedText, why)),
        None if header.usage == AreaUse::Ignored => return Ok((AreaContent::Ignored, None)),
        None => return Ok((AreaContent::Empty, None)),
    };
    let model = text.group().map_err(|error| {
        let why = error.to_string();
        (FindingKind::InvalidText, Unusable { why, known: None })
    })?;
    let version = AreaVersion {
        group_name: model.name.clone(),
        group: model.uuid,
        seqno: model.seqno,
        location: header.committed.expect("it led to the text"),
    };
    Ok((AreaContent::Version(version), Some((text, model))))
}

/// The version with the highest sequence number; of several with the same, the one that most areas
/// hold, and then the one on the first device.
fn find_newest(scan: &mut Scan, uuid: Uuid, seen: &[Sighting]) -> Newest {
    let seqno = seen
        .iter()
        .map(|s| s.model.seqno)
        .max()
        .expect("a group was seen somewhere");
    let mut candidates: Vec<(&Sighting, Vec<PvIndex>)> = Vec::new();
    for sighting in seen.iter().filter(|s| s.model.seqno == seqno) {
        match candidates
            .iter_mut()
            .find(|(first, _)| Arc::ptr_eq(&first.text, &sighting.text))
        {
            Some((_, places)) => places.push(sighting.pv),
            None => candidates.push((sighting, vec![sighting.pv])),
        }
    }
    let most = candidates
        .iter()
        .map(|(_, places)| places.len())
        .max()
        .expect("one has it");
    let (chosen, _) = candidates
        .iter()
        .find(|(_, places)| places.len() == most)
        .expect("one has it");
    assert_eq!(chosen.model.seqno, seqno, "the newest is chosen");
    let disagrees = candidates.len() > 1;
    if disagrees {
        let places = candidates.iter().map(|(_, places)| {
            let names = places
                .iter()
                .map(|pv| scan.device(scan.pv(*pv).device).name.as_str());
            names.collect::<Vec<_>>().join(", ")
        });
        let places: Vec<_> = places.collect();
        let message = format!(
            "VG {} has {} different versions with the sequence number {seqno}: on {}; the first \
             that most areas hold is shown, and nothing is written",
            chosen.model.name,
            places.len(),
            places.join("; on ")
        );
        let remedy = "compare them with pvck --dump metadata, and let vgck --updatemetadata \
                      write the one that is right";
        let finding = Finding::new(FindingKind::Disagreement, Severity::Error, message);
        let lines = other_texts(scan, seen, seqno);
        scan.findings
            .push(finding.about(uuid).remedy(remedy).in_lvm2(lines));
    }
    Newest {
        text: Arc::clone(&chosen.text),
        model: Arc::clone(&chosen.model),
        disagrees,
    }
}

/// What LVM2 says of areas whose texts of the number `seqno` are not that of the first one.
fn other_texts(scan: &Scan, seen: &[Sighting], seqno: u32) -> Vec<String> {
    let mut newest = seen.iter().filter(|sighting| sighting.model.seqno == seqno);
    let Some(first) = newest.next() else {
        return Vec::new();
    };
    let summary = |sighting: &Sighting| {
        let areas = &scan.pv(sighting.pv).areas;
        let header = areas[sighting.area].header.as_ref();
        let text = header.and_then(|header| header.committed);
        text.map_or((0, 0), |text| (text.checksum, text.size.0))
    };
    let others = newest.filter(|other| !Arc::ptr_eq(&other.text, &first.text));
    others
        .flat_map(|other| {
            let pv = scan.pv(other.pv);
            let area = Area {
                device: &scan.device(pv.device).name,
                pv: pv.uuid,
                index: other.area,
            };
            area.other_text(&other.model.name, summary(other), summary(first))
        })
        .collect()
}

/// Gives each physical volume to the group whose newest metadata lists it. Of several, the one
/// whose newest metadata it holds itself, then the first by UUID.
fn claim(scan: &mut Scan, found: &[(Family, Newest)]) {
    let mut claims: BTreeMap<Uuid, Vec<(&VolumeGroup, &Family)>> = BTreeMap::new();
    for (family, newest) in found {
        for (_, pv) in newest.model.pvs() {
            let claim = (newest.model.as_ref(), family);
            claims.entry(pv.uuid).or_default().push(claim);
        }
    }
    for index in 0..scan.physical_volumes.len() {
        let pv = &scan.physical_volumes[index];
        let Some(claimants) = claims.get(&pv.uuid) else {
            continue;
        };
        if pv.duplicate == Duplicate::Unchosen {
            continue;
        }
        let holds = |(model, family): &&(&VolumeGroup, &Family)| {
            let mut seen = family.seen.iter();
            seen.any(|s| s.pv == PvIndex(index) && s.model.seqno == model.seqno)
        };
        let split = claimants
            .iter()
            .find(|(model, _)| is_split_from(model, claimants));
        let owner = split.or_else(|| claimants.iter().find(holds));
        let (owner, _) = owner.unwrap_or(&claimants[0]);
        if claimants.len() > 1 && split.is_none() {
            let names: Vec<_> = claimants
                .iter()
                .map(|(m, _)| format!("{} ({})", m.name, m.uuid))
                .collect();
            let message = format!(
                "PV {} on {} is listed by the VGs {}; it is taken for one of {}",
                pv.uuid,
                scan.device(pv.device).name,
                names.join(" and "),
                owner.name
            );
            let finding = Finding::new(FindingKind::ContestedPv, Severity::Warning, message);
            let remedy = "leave out the devices of one of them (--devices), or see with history VG \
                          which of them listed it last";
            let finding = finding.on(pv.device).about(owner.uuid).remedy(remedy);
            scan.findings.push(finding);
        }
        scan.physical_volumes[index].group = Some(owner.uuid);
    }
}

/// Whether a group was just split off another one of these, as its mark says.
fn is_split_from(model: &VolumeGroup, others: &[(&VolumeGroup, &Family)]) -> bool {
    let is_origin = |group: Uuid| others.iter().any(|(other, _)| other.uuid == group);
    split_from(model).is_some_and(|origin| is_origin(origin.group))
}

/// Reports areas that hold an older version, and volumes that the newest one no longer lists.
fn judge_areas(scan: &mut Scan, family: &Family, newest: &VolumeGroup) {
    let uuid = family.uuid;
    let mut in_lvm2 = old_in_lvm2(scan, family, newest);
    for sighting in family.seen.iter().filter(|s| s.model.seqno < newest.seqno) {
        let pv = scan.pv(sighting.pv);
        if pv.duplicate == Duplicate::Unchosen {
            continue;
        }
        let (device, name) = (pv.device, &scan.device(pv.device).name);
        let old = sighting.model.seqno;
        let finding = if newest.pv_by_uuid(&pv.uuid).is_some() {
            let message = format!(
                "{name}: metadata area {} holds version {old} of VG {}, which is now at {}",
                sighting.area + 1,
                newest.name,
                newest.seqno
            );
            let remedy = format!("vgck --updatemetadata {} writes it again", newest.name);
            // Said once, of all.
            Finding::new(FindingKind::StaleArea, Severity::Warning, message)
                .remedy(remedy)
                .in_lvm2(std::mem::take(&mut in_lvm2))
        } else {
            let message = format!(
                "outdated PV {name} seqno {old} has been removed in current VG {} seqno {}",
                newest.name, newest.seqno
            );
            let remedy = format!(
                "vgck --updatemetadata {} clears it, and makes it a free physical volume",
                newest.name
            );
            if pv.group.is_none() {
                scan.physical_volumes[sighting.pv.0].outdated = Some(uuid);
            }
            Finding::new(FindingKind::OutdatedPv, Severity::Warning, message).remedy(remedy)
        };
        scan.findings.push(finding.on(device).about(uuid));
    }
}

/// What LVM2 says of a group whose areas hold texts of several numbers.
fn old_in_lvm2(scan: &Scan, family: &Family, newest: &VolumeGroup) -> Vec<String> {
    let listed = family.seen.iter().filter(|sighting| {
        let pv = scan.pv(sighting.pv);
        pv.duplicate != Duplicate::Unchosen && newest.pv_by_uuid(&pv.uuid).is_some()
    });
    let areas = listed.map(|sighting| {
        let device = scan.device(scan.pv(sighting.pv).device);
        (device.name.as_str(), sighting.model.seqno)
    });
    old_texts(&newest.name, &areas.collect::<Vec<_>>())
}

fn group(scan: &mut Scan, uuid: Uuid, newest: Newest) -> FoundVg {
    let mut places: BTreeMap<Uuid, PvIndex> = BTreeMap::new();
    for (index, pv) in scan.physical_volumes.iter().enumerate() {
        if pv.group == Some(uuid) && pv.duplicate != Duplicate::Unchosen {
            places.entry(pv.uuid).or_insert(PvIndex(index));
        }
    }
    let members = newest.model.pvs().map(|(id, pv)| {
        let presence = match places.get(&pv.uuid) {
            None => Presence::Missing,
            Some(index) if pv.flags.has(PvFlag::Missing) => Presence::Returned(*index),
            Some(index) => Presence::Present(*index),
        };
        Member {
            uuid: pv.uuid,
            id,
            presence,
        }
    });
    let members: Vec<Member> = members.collect();
    let mut restrictions = Vec::new();
    restrictions.extend(newest.disagrees.then_some(Restriction::Disagreement));
    restrictions.extend(judge_text(scan, &newest));
    FoundVg {
        name: newest.model.name.clone(),
        uuid,
        seqno: newest.model.seqno,
        text: Arc::clone(&newest.text.bytes),
        restrictions,
        model: named_as_found(scan, newest.model, &members),
        members,
    }
}

/// The group with the names of its devices as they are now. The text's are from when it was written
/// and may be those of other disks today; only a missing device keeps its. So every message takes a
/// device's name from the scan, and the next commit writes it, as stock does.
fn named_as_found(
    scan: &Scan,
    mut model: Arc<VolumeGroup>,
    members: &[Member],
) -> Arc<VolumeGroup> {
    for member in members {
        let Some(found) = member.presence.found() else {
            continue;
        };
        let name = &scan.device(scan.pv(found).device).name;
        if model.pv(member.id).device.as_ref() != Some(name) {
            Arc::make_mut(&mut model).pv_mut(member.id).device = Some(name.clone());
        }
    }
    model
}

/// Reports what is wrong inside a text; of many problems the first few.
fn judge_text(scan: &mut Scan, newest: &Newest) -> Option<Restriction> {
    const SHOWN_MAX: usize = 10;
    let problems = newest.text.problems();
    let name = &newest.model.name;
    if newest.model.header.has_invalid_times {
        let message = format!(
            "VG {name}: Invalid creation_time found in metadata (repaired with next metadata \
             update)"
        );
        let finding = Finding::new(FindingKind::UnsoundVg, Severity::Warning, message);
        scan.findings.push(finding.about(newest.model.uuid));
    }
    for problem in problems.iter().take(SHOWN_MAX) {
        let severity = match problem.severity {
            lvm2::model::Severity::Warning => Severity::Note,
            lvm2::model::Severity::Error => Severity::Warning,
        };
        let message = format!("VG {name}: {}: {}", problem.object, problem.problem);
        let finding = Finding::new(FindingKind::UnsoundVg, severity, message);
        scan.findings
            .push(finding.about(newest.model.uuid).remedy(problem.remedy));
    }
    if problems.len() > SHOWN_MAX {
        let more = problems.len() - SHOWN_MAX;
        let message = format!("VG {name}: {more} more problems in its metadata");
        let finding = Finding::new(FindingKind::UnsoundVg, Severity::Warning, message);
        scan.findings.push(
            finding
                .about(newest.model.uuid)
                .remedy(format!("see vgck {name}")),
        );
    }
    let first = problems
        .iter()
        .find(|p| p.severity == lvm2::model::Severity::Error)?;
    Some(Restriction::Unsound(format!(
        "{}: {}",
        first.object, first.problem
    )))
}
