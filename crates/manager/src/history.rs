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
//! Costs: every area of the group is read whole, once.

use std::collections::BTreeMap;
use std::sync::Arc;

use lvm::model::{VolumeGroup, from_text};
use lvm::ondisk::{Ring, Standing, versions};
use lvm::text::parse;
use lvm::{Bytes, Uuid};

use crate::Result;
use crate::scan::{Finding, FindingKind, FoundVg, PvIndex, Scan, Severity, area_bytes};

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
    pub group: std::result::Result<Arc<VolumeGroup>, lvm::Error>,
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

/// Reads the history of `group` from the areas of its physical volumes, and of those that were
/// removed from it while they were away.
pub fn history(scan: &Scan, group: &FoundVg) -> History {
    let mut found: BTreeMap<(u64, Arc<[u8]>), Version> = BTreeMap::new();
    let mut findings = Vec::new();
    for (index, pv) in scan.physical_volumes.iter().enumerate() {
        if pv.group != Some(group.uuid) && pv.outdated != Some(group.uuid) {
            continue;
        }
        for area in 0..pv.areas.len() {
            if let Err(error) = read_area(scan, PvIndex(index), area, group.uuid, &mut found) {
                let finding = Finding::new(
                    FindingKind::DamagedArea,
                    Severity::Warning,
                    error.to_string(),
                );
                findings.push(finding.on(pv.device).about(group.uuid));
            }
        }
    }
    let mut versions: Vec<Version> = found.into_values().collect();
    versions.sort_by_key(|v| (std::cmp::Reverse(v.seqno), v.standing == Standing::Old));
    History { versions, findings }
}

fn read_area(
    scan: &Scan,
    pv: PvIndex,
    area: usize,
    group: Uuid,
    found: &mut BTreeMap<(u64, Arc<[u8]>), Version>,
) -> Result<()> {
    let Some((bytes, header)) = area_bytes(scan, pv, area)? else {
        // The scan has reported it.
        return Ok(());
    };
    let ring = Ring::new(&header);
    for version in versions(&bytes, &header) {
        if version.vg_uuid.parse::<Uuid>() != Ok(group) {
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

fn describe(version: &lvm::ondisk::Version, text: Arc<[u8]>) -> Version {
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
