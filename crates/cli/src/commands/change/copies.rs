//! What a change leaves to be copied: mirrors are made equal when they are used next.
//!
//! A new log says what is in sync: nothing, or everything; a log that stays knows of all but what
//! was added. A mirror with its log in memory is copied as a whole at each of its starts. How long
//! that takes depends on the disks and is not guessed.
//!
//! An array fills its images that say so, or as a whole, where its metadata is new: all copies but
//! the first, or its parity.

use ashlar::scan::Scan;
use lvm2::Bytes;
use lvm2::model::{LvFlag, LvId, Mirror, Raid, RaidFamily, SegmentType, VolumeGroup};
use lvm2::plan::{Before, Change, GroupChange, pieces};
use serde::Serialize;

/// A mirror that is to be copied.
#[derive(Serialize)]
pub(super) struct Copying {
    #[serde(rename = "vg_name")]
    pub(super) group: String,
    #[serde(rename = "lv_name")]
    pub(super) name: String,
    /// How many copies are made from the first one.
    #[serde(rename = "copies")]
    pub(super) legs: u64,
    /// All that is written, in bytes.
    pub(super) bytes: u64,
    /// How long it takes, which is not known before.
    seconds: Option<u64>,
}

/// What is to be copied after `change`.
pub(super) fn copying(scan: &Scan, change: &Change) -> Vec<Copying> {
    let mut found: Vec<Copying> = Vec::new();
    for group in &change.groups {
        let GroupChange::Commit(vg) = group else {
            continue;
        };
        let old = scan.group(vg.uuid).map(|found| &*found.model);
        // Of several versions the last one stays.
        found.retain(|one| one.group != vg.name);
        for (id, lv) in vg.lvs().filter(|(_, lv)| lv.flags.has(LvFlag::Visible)) {
            let (legs, each) = match lv.first() {
                Some(SegmentType::Raid(raid)) => array(old, (vg, id, raid), &change.before),
                _ => match mirror(vg, id) {
                    None => continue,
                    Some(new) => (
                        new.images.len().saturating_sub(1) as u64,
                        each(old, (vg, id, new), &change.before),
                    ),
                },
            };
            if legs > 0 && each > 0 {
                found.push(Copying {
                    group: vg.name.clone(),
                    name: lv.name().to_owned(),
                    legs,
                    bytes: each.saturating_mul(legs),
                    seconds: None,
                });
            }
        }
    }
    found
}

/// How many images of an array are filled, and how long each is.
fn array(
    old: Option<&VolumeGroup>,
    (vg, id, raid): (&VolumeGroup, LvId, &Raid),
    before: &[Before],
) -> (u64, u64) {
    let length = raid.images.first().map_or(0, |image| size(vg, image.data));
    let is_new = |image: &LvId| {
        let was = old.and_then(|old| old.lv_by_uuid(&vg.lv(*image).uuid).map(|id| old.lv(id)));
        let is_flagged = vg.lv(*image).flags.has(LvFlag::Rebuild);
        is_flagged && !was.is_some_and(|was| was.flags.has(LvFlag::Rebuild))
    };
    let images = raid.images.iter().map(|image| image.data);
    let rebuilt = images.filter(is_new).count() as u64;
    let is_blank = |meta: LvId| is_filled_with_zeros(vg, meta, before);
    let is_whole_new = raid
        .images
        .iter()
        .all(|image| image.meta.is_some_and(is_blank));
    let is_kept = vg.lv(id).flags.has(LvFlag::NotSynced);
    if rebuilt > 0 || !is_whole_new || is_kept {
        return (rebuilt, length);
    }
    let images = raid.images.len() as u64;
    let filled = match raid.level.family() {
        RaidFamily::Raid0 => 0,
        RaidFamily::Raid1 => images.saturating_sub(1),
        RaidFamily::Raid10 => images - images / u64::from(raid.copies()),
        _ => raid.level.parity_count() as u64,
    };
    (filled, length)
}

fn mirror(vg: &VolumeGroup, lv: LvId) -> Option<&Mirror> {
    match vg.lv(lv).segments.as_slice() {
        [segment] => match &segment.kind {
            SegmentType::Mirror(mirror) => Some(mirror),
            _ => None,
        },
        _ => None,
    }
}

fn size(vg: &VolumeGroup, lv: LvId) -> u64 {
    let size = vg.lv(lv).size(vg.extent_size);
    size.and_then(lvm2::Sectors::to_bytes)
        .map_or(0, |bytes| bytes.0)
}

/// How many bytes of each copy are not known to be right.
fn each(
    old: Option<&VolumeGroup>,
    (vg, id, new): (&VolumeGroup, LvId, &Mirror),
    before: &[Before],
) -> u64 {
    if vg.lv(id).flags.has(LvFlag::NotSynced) {
        return 0;
    }
    let whole = size(vg, id);
    let uuid = vg.lv(id).uuid;
    let was = old.and_then(|old| {
        let (id, _) = old.lvs().find(|(_, lv)| lv.uuid == uuid)?;
        let log = mirror(old, id)?.log.map(|log| old.lv(log).uuid);
        let is_synced = !old.lv(id).flags.has(LvFlag::NotSynced);
        Some((size(old, id), mirror(old, id)?.images.len(), log, is_synced))
    });
    match (new.log, was) {
        (None, Some((size, legs, None, true))) if (size, legs) == (whole, new.images.len()) => 0,
        (None, _) => whole,
        (Some(log), Some((size, _, known, _))) if known == Some(vg.lv(log).uuid) => {
            whole.saturating_sub(size)
        }
        (Some(log), _) if is_filled_with_zeros(vg, log, before) => whole,
        (Some(_), _) => 0,
    }
}

/// Whether a new log says that nothing is in sync.
fn is_filled_with_zeros(vg: &VolumeGroup, log: LvId, before: &[Before]) -> bool {
    let Ok(first) = pieces(vg, log, Bytes::ZERO, Bytes(1)) else {
        return false;
    };
    let is_first = |piece: &lvm2::plan::Piece| {
        let mut all = first.iter();
        all.any(|one| (one.pv, one.start) == (piece.pv, piece.start))
    };
    before
        .iter()
        .any(|step| matches!(step, Before::Fill { pieces, byte: 0 } if pieces.iter().any(is_first)))
}
