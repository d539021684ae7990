//! `lvrename`: a volume gets another name, and its hidden parts follow.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use super::create::require_free_name;
use super::raid;
use crate::Result;
use crate::model::{LvFlag, LvId, Part, Relations, VolumeGroup};
use crate::plan::author::Author;
use crate::plan::change::Change;
use crate::plan::draft::{Draft, refused, require_known_segments, wrong};

/// Renames a logical volume.
pub fn rename_volume(
    vg: &VolumeGroup,
    from: &str,
    to: &str,
    author: &mut Author<'_>,
) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    if from == to {
        return Err(wrong("Old and new logical volume names must differ"));
    }
    // A segment that we do not understand may name volumes that we do not know of.
    require_known_segments(vg)?;
    let id = vg.lv_by_name(from).ok_or_else(|| {
        wrong(format!(
            "Existing logical volume \"{from}\" not found in volume group \"{}\"",
            vg.name
        ))
    })?;
    let relations = Relations::of(vg);
    let used = relations.component_use(id).map(|used| used.part);
    if let Some(part @ (Part::RaidImage(_) | Part::RaidMeta(_))) = used {
        return Err(refused(format!(
            "Cannot rename a RAID {} directly: rename the volume of which \"{from}\" is a part",
            raid::part_name(part)
        )));
    }
    require_free_name(vg, to)?;
    if !relations.is_visible(vg, id) {
        return Err(refused(format!(
            "Cannot rename internal LV \"{from}\": rename the volume of which it is a part"
        )));
    }
    if vg.lv(id).flags.has(LvFlag::Locked) {
        return Err(refused(format!("Cannot rename locked LV {from}")));
    }
    rename_parts(&mut draft.vg, id, from, to)?;
    draft.vg.rename_lv(id, to)?;
    draft.note(format!(
        "Renamed \"{from}\" to \"{to}\" in volume group \"{}\"",
        vg.name
    ));
    draft.finish(author)
}

/// Gives the hidden parts of a volume, however deep, the new name in front.
pub(super) fn rename_parts(vg: &mut VolumeGroup, id: LvId, from: &str, to: &str) -> Result<()> {
    let mut parts = Vec::new();
    let mut left = vec![id];
    while let Some(whole) = left.pop() {
        for segment in &vg.lv(whole).segments {
            segment.for_each_reference(|part, role| {
                if role.is_component() && !parts.contains(&part) {
                    parts.push(part);
                    left.push(part);
                }
            });
        }
    }
    for part in parts {
        let name = vg.lv(part).name().to_owned();
        let Some(suffix) = name.strip_prefix(from).filter(|rest| rest.starts_with('_')) else {
            continue;
        };
        vg.rename_lv(part, &format!("{to}{suffix}"))?;
    }
    Ok(())
}
