//! The versions of a group's metadata that are still in its areas.
//!
//! Each change writes a new text into a ring that holds many, and nothing erases the old ones, so a
//! group's recent past can be read without any backup file:
//!
//! ```text
//!   a0: |hdr|…41|42|43|44|37|38|39|40…        44 is committed; a version that is on several
//!   a1: |hdr|…41|42|43|44|   |40…             physical volumes is listed once, with its places
//! ```
//!
//! A version to which no header points has no checksum that could be compared; it counts as whole
//! if a volume group can be made of it. What a version says about extents was true when it was
//! written: whether going back to it is safe is for `undo` to find out.
//!
//! A group that was removed, or whose newest text is damaged on all its physical volumes, is not
//! among the groups of a scan; [`past`] finds its versions by its name.
//!
//! Costs: every area of the group is read whole, once; for [`past`], every area of all physical
//! volumes without a group.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lvm2::model::{VolumeGroup, from_text};
use lvm2::ondisk::{Ring, Standing, Version as OnDisk, versions};
use lvm2::text::parse;
use lvm2::{Bytes, Uuid};

use crate::scan::{
    AreaContent, Duplicate, Finding, FindingKind, FoundArea, FoundPv, FoundVg, PvIndex, Scan,
    Severity, area_bytes,
};
use crate::{Error, Kind, Result};

/// All versions of one group.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// The newest first; of the same sequence number, the committed one first.
    pub versions: Vec<Version>,
    /// Areas that could not be read.
    pub findings: Vec<Finding>,
}

/// One version of a group's metadata.
#[derive(Debug, Clone)]
pub struct Version {
    /// Its sequence number.
    pub seqno: u64,
    /// The group's name at that time.
    pub group_name: String,
    /// When it was written, in seconds since 1970 began.
    pub time: Option<u64>,
    /// The host that wrote it.
    pub host: Option<String>,
    /// What it was written for: the command.
    pub description: Option<String>,
    /// The length of its text, without the closing NUL.
    pub size: Bytes,
    /// Whether a header points to it anywhere.
    pub standing: Standing,
    /// The group that it describes, or why none can be made of it.
    pub group: std::result::Result<Arc<VolumeGroup>, lvm2::Error>,
    /// Its text, without the closing NUL.
    pub text: Arc<[u8]>,
    /// Where it was found, in the order of the devices.
    pub places: Vec<Place>,
}

/// A place of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The physical volume.
    pub pv: PvIndex,
    /// Which of its areas, from 0.
    pub area: usize,
    /// Where in the area, in bytes from its start.
    pub offset: u64,
}

/// A group of which no text counts any more: it was removed, or its newest text is damaged wherever
/// it was; older ones are still there.
#[derive(Debug, Clone)]
pub struct Past {
    /// Its identity.
    pub uuid: Uuid,
    /// Its versions.
    pub history: History,
    /// Whether a header points to a text of one of its physical volumes, which cannot be read.
    pub newest: Newest,
    /// Texts of other groups on the same physical volumes: of which, and when they were written.
    pub others: Vec<(PvIndex, String, Option<u64>)>,
}

/// What became of a past group's newest text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Newest {
    /// It was given up: the group was removed.
    Removed,
    /// It is there, and damaged: what it said is not known.
    Damaged,
}

/// Reads the history of `group` from the areas of its physical volumes, and of those that were
/// removed from it while they were away.
pub fn history(scan: &Scan, group: &FoundVg) -> History {
    let mut found = Found::default();
    let mut findings = Vec::new();
    for (index, pv) in scan.physical_volumes.iter().enumerate() {
        let is_member = scan.group_of(pv).is_some_and(|of| same(of, group));
        if is_member || pv.outdated == Some(group.uuid) || ties(pv, group) {
            let is_of_group = |version: &OnDisk| version.vg_uuid.parse() == Ok(group.uuid);
            let errors = read_pv(scan, PvIndex(index), &is_of_group, &mut found);
            findings.extend(errors.into_iter().map(|finding| finding.about(group.uuid)));
        }
    }
    History {
        versions: sorted(found),
        findings,
    }
}

/// Whether a physical volume that the chosen text does not list holds another one of the same
/// sequence number: each half of a group went on without the other.
fn ties(pv: &FoundPv, group: &FoundVg) -> bool {
    let holds = |area: &FoundArea| match &area.content {
        AreaContent::Version(version) => {
            version.group == group.uuid && version.seqno == group.seqno
        }
        _ => false,
    };
    pv.group.is_none() && pv.areas.iter().any(holds)
}

/// Looks for texts of a group called `name`, or with that UUID, on physical volumes of which no
/// group is known. Fails where there are several such groups.
pub fn past(scan: &Scan, name: &str) -> Result<Option<Past>> {
    let mut found = Found::default();
    let mut findings = Vec::new();
    for (index, pv) in scan.physical_volumes.iter().enumerate() {
        if pv.group.is_none() && pv.outdated.is_none() && pv.duplicate != Duplicate::Unchosen {
            findings.extend(read_pv(scan, PvIndex(index), &|_| true, &mut found));
        }
    }
    let wanted: Option<Uuid> = name.parse().ok();
    let all = sorted(found);
    let uuid_of = |version: &Version| version.group.as_ref().ok().map(|group| group.uuid);
    let is_wanted = |version: &Version| match wanted {
        Some(uuid) => uuid_of(version) == Some(uuid),
        None => version.group_name == name,
    };
    let uuids: BTreeSet<Uuid> = all
        .iter()
        .filter(|v| is_wanted(v))
        .filter_map(uuid_of)
        .collect();
    if uuids.len() > 1 {
        let uuids: Vec<_> = uuids.iter().map(Uuid::to_string).collect();
        let what = format!(
            "{} groups were called {name}; use one of their UUIDs instead: {}",
            uuids.len(),
            uuids.join(", ")
        );
        return Err(Error::new(Kind::Ambiguous, what));
    }
    let Some(uuid) = uuids.into_iter().next() else {
        return Ok(None);
    };
    let (mut versions, rest): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|version| uuid_of(version) == Some(uuid));
    assert!(!versions.is_empty(), "the group is known from a version");
    for version in &mut versions {
        if is_pointed_to(scan, version) {
            let what = "its checksum is wrong";
            version.group = Err(lvm2::Error::new(lvm2::Kind::Checksum, what));
        }
    }
    let pvs: BTreeSet<usize> = versions.iter().flat_map(places).collect();
    let others = rest
        .iter()
        .filter(|version| version.group.is_ok())
        .flat_map(|version| {
            let here = version
                .places
                .iter()
                .filter(|place| pvs.contains(&place.pv.0));
            here.map(|place| (place.pv, version.group_name.clone(), version.time))
        });
    let others = others.collect();
    let is_damaged = |area: &FoundArea| matches!(area.content, AreaContent::Damaged(_));
    let newest = if pvs
        .iter()
        .any(|pv| scan.pv(PvIndex(*pv)).areas.iter().any(is_damaged))
    {
        Newest::Damaged
    } else {
        Newest::Removed
    };
    Ok(Some(Past {
        uuid,
        history: History { versions, findings },
        newest,
        others,
    }))
}

/// Whether a header points to a text that does not count: it was written to the end, and is damaged
/// now, however well it reads.
fn is_pointed_to(scan: &Scan, version: &Version) -> bool {
    version.standing == Standing::Old
        && version.places.iter().any(|place| {
            let area = &scan.pv(place.pv).areas[place.area];
            let committed = area.header.and_then(|header| header.committed);
            committed.is_some_and(|committed| committed.offset.0 == place.offset)
        })
}

fn places(version: &Version) -> impl Iterator<Item = usize> {
    version.places.iter().map(|place| place.pv.0)
}

type Found = BTreeMap<(u64, Arc<[u8]>), Version>;

/// The newest first; of the same sequence number, the committed one first.
fn sorted(found: Found) -> Vec<Version> {
    let mut versions: Vec<Version> = found.into_values().collect();
    versions.sort_by_key(|v| (std::cmp::Reverse(v.seqno), v.standing == Standing::Old));
    let has_place = |version: &Version| !version.places.is_empty();
    assert!(
        versions.iter().all(has_place),
        "a version was found somewhere"
    );
    versions
}

/// Reads the areas of a physical volume; gives what could not be read.
fn read_pv(
    scan: &Scan,
    pv: PvIndex,
    is_wanted: &dyn Fn(&OnDisk) -> bool,
    found: &mut Found,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for area in 0..scan.pv(pv).areas.len() {
        if let Err(error) = read_area(scan, pv, area, is_wanted, found) {
            let finding = Finding::new(
                FindingKind::DamagedArea,
                Severity::Warning,
                error.to_string(),
            );
            findings.push(finding.on(scan.pv(pv).device));
        }
    }
    findings
}

/// Whether two are one group; a clone may have the same UUID.
fn same(one: &FoundVg, other: &FoundVg) -> bool {
    one.uuid == other.uuid && one.name == other.name
}

fn read_area(
    scan: &Scan,
    pv: PvIndex,
    area: usize,
    is_wanted: &dyn Fn(&OnDisk) -> bool,
    found: &mut Found,
) -> Result<()> {
    let Some((bytes, header)) = area_bytes(scan, pv, area)? else {
        // The scan has reported it.
        return Ok(());
    };
    let ring = Ring::new(&header);
    for version in versions(&bytes, &header) {
        if !is_wanted(&version) {
            continue;
        }
        let Ok(text) = ring.text(&bytes, &version.location) else {
            continue;
        };
        let end = text
            .iter()
            .position(|byte| *byte == 0)
            .unwrap_or(text.len());
        let text: Arc<[u8]> = text[..end].into();
        let place = Place {
            pv,
            area,
            offset: version.location.offset.0,
        };
        let key = (version.seqno, Arc::clone(&text));
        let known = found.entry(key).or_insert_with(|| describe(&version, text));
        if version.standing == Standing::Committed {
            known.standing = Standing::Committed;
        }
        known.places.push(place);
    }
    Ok(())
}

fn describe(version: &OnDisk, text: Arc<[u8]>) -> Version {
    let group = parse(&text).and_then(|tree| from_text(&tree)).map(Arc::new);
    let header = group.as_ref().ok().map(|group| &group.header);
    Version {
        seqno: version.seqno,
        group_name: version.vg_name.clone(),
        time: header.and_then(|header| header.creation_time),
        host: header.and_then(|header| header.creation_host.clone()),
        description: header.and_then(|header| header.description.clone()),
        size: Bytes(text.len() as u64),
        standing: version.standing,
        group,
        text,
        places: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
