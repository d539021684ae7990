//! What a volume stands on, in words that do not depend on a version of the metadata.

use std::fmt::Write;

use dm::table::DEPTH_MAX;
use lvm2::model::{Area, LvId, SegmentType, VolumeGroup};

/// A volume and all below it: two versions of a group describe the same bytes in the same places
/// if they describe the same words.
pub(super) fn describe(vg: &VolumeGroup, lv: LvId) -> String {
    let mut text = String::new();
    add(vg, lv, 0, &mut text);
    text
}

/// Whether the volume, or one that it stands on, is a mirror.
pub(super) fn has_mirror(vg: &VolumeGroup, lv: LvId) -> bool {
    describe(vg, lv).contains("mirror")
}

fn add(vg: &VolumeGroup, lv: LvId, depth: u32, out: &mut String) {
    // Deeper ones are not activated.
    if depth > DEPTH_MAX {
        return;
    }
    for segment in &vg.lv(lv).segments {
        let (start, length) = (segment.start.0, segment.length.0);
        let _ = write!(out, "{start}+{length} {} ", segment.type_name());
        let areas: &[Area] = match &segment.kind {
            SegmentType::Striped(striped) => {
                let _ = write!(out, "{} ", striped.stripe_size.0);
                &striped.areas
            }
            SegmentType::Mirror(mirror) => {
                let _ = write!(out, "{} ", mirror.region_size.0);
                if let Some(log) = mirror.log {
                    let _ = write!(out, "log {} (", vg.lv(log).uuid);
                    add(vg, log, depth + 1, out);
                    out.push(')');
                }
                &mirror.images
            }
            _ => &[],
        };
        for area in areas {
            match area {
                Area::Pv { pv, start } => {
                    let _ = write!(out, "{}:{} ", vg.pv(*pv).uuid, start.0);
                }
                Area::Lv { lv, start } => {
                    let _ = write!(out, "{}:{} (", vg.lv(*lv).uuid, start.0);
                    add(vg, *lv, depth + 1, out);
                    out.push(')');
                }
            }
        }
    }
}
