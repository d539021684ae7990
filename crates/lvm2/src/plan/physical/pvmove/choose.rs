//! Which extents a move takes: those of the source that volumes stand on, and why not those of
//! some volumes.
//!
//! Extents are chosen area by area: of a striped segment one stripe may move and the others stay.
//! Parts of mirrors, RAIDs, pools and snapshots are moved as what they are, volumes of extents.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::list::moves;
use crate::model::{
    Area, ExtentRange, LvFlag, LvId, Part, PvId, Relations, Segment, SegmentType, SnapshotState,
    VolumeGroup,
};
use crate::plan::checksums::has_checksums;
use crate::plan::draft::{Draft, refused};
use crate::plan::places::Place;
use crate::{Error, Extents, Kind, Result};

/// The volumes with extents that move, in the order of the text. `only` is the one that was asked
/// for, if any.
pub(super) fn volumes(
    draft: &mut Draft,
    relations: &Relations,
    source: &Place,
    only: Option<LvId>,
) -> Result<Vec<LvId>> {
    let vg = &draft.old;
    let mut messages = Vec::new();
    let mut chosen = Vec::new();
    let mut is_skipped = false;
    for (lv, volume) in vg.lvs() {
        let belongs = only.is_none_or(|only| is_part_of(relations, lv, only));
        if !belongs
            || !volume
                .segments
                .iter()
                .any(|segment| has_extents(segment, source))
        {
            continue;
        }
        match obstacle(vg, relations, lv) {
            None => chosen.push(lv),
            Some(why) if only.is_some() => return Err(refused(why)),
            Some(why) => {
                is_skipped = true;
                messages.push(why);
            }
        }
    }
    if chosen.is_empty() {
        let why = if is_skipped {
            "All data on source PV skipped. It contains only locked or unmovable LVs.".into()
        } else {
            format!("No data to move for {}.", vg.name)
        };
        return Err(refused(append(why, &messages)));
    }
    for why in messages {
        draft.warn(why);
    }
    Ok(chosen)
}

/// The runs of an area that move, as extents from its start.
pub(super) fn parts(area: &Area, length: Extents, source: &Place) -> Vec<ExtentRange> {
    let Area::Pv { pv, start } = *area else {
        return Vec::new();
    };
    if pv != source.pv {
        return Vec::new();
    }
    let end = start + length;
    let cut = source.ranges.iter().map(|range| {
        let (from, to) = (range.start.max(start), range.end().min(end));
        (from < to).then(|| ExtentRange::between(from - start, to - start))
    });
    cut.flatten().collect()
}

/// The volume with this name, in stock's words where there is none.
pub(super) fn named(vg: &VolumeGroup, name: &str) -> Result<LvId> {
    vg.lv_by_name(name)
        .ok_or_else(|| Error::new(Kind::Request, format!("Logical volume {name} not found.")))
}

fn append(why: String, messages: &[String]) -> String {
    let mut text = why;
    for message in messages {
        text.push(' ');
        text.push_str(message);
    }
    text
}

fn has_extents(segment: &Segment, source: &Place) -> bool {
    let length = segment.area_length().unwrap_or_default();
    let is_plain = matches!(segment.kind, SegmentType::Striped(_));
    let mut areas = segment.areas().iter();
    is_plain && areas.any(|area| !parts(area, length, source).is_empty())
}

/// Whether a volume is `whole` or a part of it, at any depth.
pub(in crate::plan::physical) fn is_part_of(relations: &Relations, lv: LvId, whole: LvId) -> bool {
    above(relations, lv).any(|(volume, _)| volume == whole)
}

/// A volume and those of which it is a part, from below, each with what the one below is in it.
fn above(relations: &Relations, lv: LvId) -> impl Iterator<Item = (LvId, Option<Part>)> {
    let mut next = Some((lv, None));
    core::iter::from_fn(move || {
        let this = next?;
        let used = relations.component_use(this.0);
        next = used.map(|used| (used.by, Some(used.part)));
        Some(this)
    })
}

/// Why a volume's extents must stay where they are.
pub(in crate::plan::physical) fn obstacle(
    vg: &VolumeGroup,
    relations: &Relations,
    lv: LvId,
) -> Option<String> {
    let name = |lv: LvId| format!("{}/{}", vg.name, vg.lv(lv).name());
    if vg.lv(lv).flags.has(LvFlag::Locked) {
        return Some(format!(
            "Skipping locked LV {}: its extents are being moved; end or abort that move first.",
            name(lv)
        ));
    }
    for (volume, part) in above(relations, lv) {
        if vg.lv(volume).flags.has(LvFlag::Pvmove) {
            return Some(format!("Skipping {}, which belongs to a move.", name(lv)));
        }
        match part {
            Some(Part::Writecache) => {
                return Some(format!(
                    "Skipping {}: unable to pvmove device used for writecache.",
                    name(lv)
                ));
            }
            Some(Part::RaidImage(_) | Part::RaidMeta(_)) if has_checksums(vg, volume) => {
                return Some(format!(
                    "Skipping {}: unable to pvmove device used for raid with integrity; lvconvert \
                     --replace puts another image of {} elsewhere.",
                    name(lv),
                    name(volume)
                ));
            }
            _ => {}
        }
        let snapshot = relations.seen_through(vg, volume);
        if snapshot.is_some_and(|snapshot| snapshot.state == SnapshotState::Merging) {
            return Some(format!(
                "Skipping {}: unable to pvmove when merging volumes are present; wait for the end \
                 of the merge.",
                name(lv)
            ));
        }
    }
    None
}

/// Refuses a second move from the same physical volume, as stock cannot tell them apart.
pub(super) fn require_no_move(vg: &VolumeGroup, source: PvId, name: &str) -> Result<()> {
    match moves(vg).iter().find(|one| one.sources.contains(&source)) {
        None => Ok(()),
        Some(one) => Err(refused(format!(
            "Detected pvmove in progress for {name}: {}/{} must be ended or aborted first",
            vg.name, one.name
        ))),
    }
}
