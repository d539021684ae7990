//! `vgck --updatemetadata`: the same group once more, as a new version on every area.
//!
//! Any commit does that for areas that are stale or damaged. What no other command does is to
//! decide between two texts with the same sequence number: people say which one is right, by a
//! device that holds it. And it clears what is outdated.

use std::sync::Arc;

use lvm2::model::VolumeGroup;
use lvm2::ondisk::Standing;
use lvm2::plan::{Author, Change, GroupChange, Message};

use super::outdated::clearing_outdated;
use super::request::Planned;
use crate::history::{Version, history};
use crate::scan::{FoundVg, Restriction, Scan};
use crate::{Error, Kind, Result};

/// Writes the group again. `keep` names a device whose text is the right one; it is needed where
/// areas disagree, and only there.
pub fn update_metadata(
    scan: &Scan,
    group: &FoundVg,
    keep: Option<&str>,
    author: &Author<'_>,
) -> Result<Planned> {
    let disagrees = group.restrictions.contains(&Restriction::Disagreement);
    let model = match keep {
        Some(device) => chosen(scan, group, device)?,
        None if disagrees => return Err(undecided(scan, group)),
        None => Arc::clone(&group.model),
    };
    let mut vg: VolumeGroup = (*model).clone();
    vg.seqno = group.seqno.checked_add(1).ok_or_else(|| {
        let what = format!("VG {} has been changed too often", group.name);
        Error::new(Kind::Unsupported, what)
    })?;
    vg.header = author.header();
    let text = format!("Metadata of volume group {} was written again.", vg.name);
    let planned = Planned::from(Change {
        groups: vec![GroupChange::Commit(vg)],
        messages: vec![Message::note(text)],
        ..Change::default()
    });
    Ok(clearing_outdated(scan, group, planned))
}

/// The versions that areas point to and that are the newest.
fn candidates(scan: &Scan, group: &FoundVg) -> Vec<Version> {
    let versions = history(scan, group).versions.into_iter();
    versions
        .filter(|version| {
            version.standing == Standing::Committed && version.seqno == u64::from(group.seqno)
        })
        .collect()
}

/// The devices on which a header points to a version; elsewhere it may be left in a ring.
fn places(scan: &Scan, version: &Version) -> Vec<String> {
    let committed = version.places.iter().filter(|place| {
        let area = &scan.pv(place.pv).areas[place.area];
        let header = area.header.as_ref();
        let location = header.and_then(|header| header.committed);
        location.is_some_and(|location| location.offset.0 == place.offset)
    });
    let mut names: Vec<String> = committed
        .map(|place| scan.device(scan.pv(place.pv).device).name.clone())
        .collect();
    names.dedup();
    names
}

fn chosen(scan: &Scan, group: &FoundVg, device: &str) -> Result<Arc<VolumeGroup>> {
    let versions = candidates(scan, group);
    let held = versions
        .iter()
        .find(|version| places(scan, version).iter().any(|name| name == device));
    if let Some(Ok(model)) = held.map(|version| &version.group) {
        return Ok(Arc::clone(model));
    }
    let what = format!(
        "{device} holds no text of VG {} with the sequence number {}",
        group.name, group.seqno
    );
    Err(Error::new(Kind::NotFound, what))
}

fn undecided(scan: &Scan, group: &FoundVg) -> Error {
    let versions = candidates(scan, group);
    let lists: Vec<String> = versions
        .iter()
        .map(|version| places(scan, version).join(", "))
        .collect();
    let what = format!(
        "VG {} has different texts with the sequence number {}: on {}; name a device whose text is \
         the right one",
        group.name,
        group.seqno,
        lists.join("; on ")
    );
    Error::new(Kind::Ambiguous, what)
}
