//! `vgmerge`: all of one group becomes part of another.
//!
//! The first commit carries a mark, so that areas that still hold the text of the other group are
//! known to be older; when all of them have it, a second one takes the mark away.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeSet;
use alloc::format;

use super::transplant::transplant;
use crate::Result;
use crate::model::{LvId, PvId, VolumeGroup};
use crate::plan::author::Author;
use crate::plan::change::{Change, VolumeChange};
use crate::plan::display::display_size;
use crate::plan::draft::{Draft, refused, require_known_segments, require_not_exported, wrong};
use crate::plan::logical::visible_count;
use crate::plan::unfinished::{Origin, commit_unmarked, mark_replacing};

/// Merges `from` into `vg`. The caller knows that no volume of `from` is active.
pub fn merge_groups(
    vg: &VolumeGroup,
    from: &VolumeGroup,
    author: &mut Author<'_>,
) -> Result<Change> {
    if vg.uuid == from.uuid || vg.name == from.name {
        return Err(wrong(format!(
            "Duplicate volume group name \"{}\"",
            vg.name
        )));
    }
    let mut draft = Draft::begin(vg)?;
    let mut source = Draft::begin(from)?.vg;
    require_not_exported(from)?;
    require_known_segments(vg)?;
    require_known_segments(from)?;
    require_alike(vg, from)?;
    let pvs: BTreeSet<PvId> = from.pvs().map(|(id, _)| id).collect();
    let lvs: BTreeSet<LvId> = from.lvs().map(|(id, _)| id).collect();
    transplant(&mut source, &mut draft.vg, &pvs, &lvs)?;
    assert_eq!(
        source.pv_count() + source.lv_count(),
        0,
        "nothing stays behind"
    );
    assert_eq!(
        draft.vg.pv_count(),
        vg.pv_count() + from.pv_count(),
        "each has come"
    );
    assert_eq!(
        draft.vg.lv_count(),
        vg.lv_count() + from.lv_count(),
        "each has come"
    );
    require_limits(&draft.vg, &from.name)?;
    draft.vg.historical.append(&mut source.historical);
    // Both texts are on disks; the merged one must be newer than either.
    draft.vg.seqno = draft.vg.seqno.max(from.seqno);
    mark_replacing(&mut draft.vg, Origin::of(from));
    draft.note(format!(
        "Volume group \"{}\" successfully merged into \"{}\"",
        from.name, vg.name
    ));
    let mut change = draft.finish(author)?;
    change
        .volumes
        .extend(from.lvs().map(|(_, lv)| VolumeChange::Deactivate {
            lv: lv.uuid,
            name: lv.name().to_owned(),
        }));
    commit_unmarked(&mut change, author)?;
    Ok(change)
}

/// Refuses more physical and logical volumes than the limits of `vg` allow, after those of `from`
/// have joined it.
pub(super) fn require_limits(vg: &VolumeGroup, from: &str) -> Result<()> {
    let counts = [
        ("physical", vg.max_pv, vg.pv_count() as u64),
        ("logical", vg.max_lv, visible_count(vg)),
    ];
    for (what, most, count) in counts {
        if most != 0 && count > u64::from(most) {
            return Err(refused(format!(
                "Maximum number of {what} volumes ({most}) exceeded for \"{}\" and \"{from}\"",
                vg.name
            )));
        }
    }
    Ok(())
}

/// Refuses groups whose extents differ.
pub(super) fn require_alike(vg: &VolumeGroup, other: &VolumeGroup) -> Result<()> {
    if vg.extent_size != other.extent_size {
        return Err(refused(format!(
            "Extent sizes differ: {} ({}) and {} ({})",
            display_size(vg.extent_size),
            vg.name,
            display_size(other.extent_size),
            other.name
        )));
    }
    if vg.system_id != other.system_id {
        return Err(refused(format!(
            "System IDs of volume groups {} and {} differ",
            vg.name, other.name
        )));
    }
    Ok(())
}
