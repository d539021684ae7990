//! `pvchange`: whether extents may be taken from it, tags, identity, whether it keeps metadata.

use alloc::format;
use alloc::string::{String, ToString};

use crate::model::{PvFlag, PvId, VolumeGroup};
use crate::ondisk::AreaUse;
use crate::plan::author::Author;
use crate::plan::change::{AreaChange, Change, HeaderChange, HeaderEdit, When};
use crate::plan::draft::{Draft, pv_name, refused};
use crate::plan::group::{AreaState, add_tag};
use crate::plan::unfinished::{commit_unmarked, mark_renewed};
use crate::{Error, Result, Uuid};

/// Whether extents may be taken from a physical volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allocatable {
    /// `-x y`.
    Yes,
    /// `-x n`.
    No,
}

/// One property to be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PvAttribute<'a> {
    /// `-x`.
    Allocatable(Allocatable),
    /// `--addtag`.
    AddTag(&'a str),
    /// `--deltag`.
    RemoveTag(&'a str),
    /// `--uuid`.
    NewUuid,
    /// `--metadataignore`.
    Areas(AreaUse),
}

/// Changes properties of a physical volume. `areas` are those of the whole group. Where all of it
/// is so already the change has no commit.
pub fn change_pv(
    vg: &VolumeGroup,
    pv: PvId,
    changes: &[PvAttribute<'_>],
    areas: &[AreaState],
    author: &mut Author<'_>,
) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    let name = pv_name(vg, pv);
    let mut is_changed = false;
    for change in changes {
        is_changed |= !is_so_already(&mut draft, pv, *change, &name);
        match *change {
            PvAttribute::Allocatable(wanted) => {
                let flags = &mut draft.vg.pv_mut(pv).flags;
                match wanted {
                    Allocatable::Yes => flags.insert(PvFlag::Allocatable),
                    Allocatable::No => flags.remove(PvFlag::Allocatable),
                }
            }
            PvAttribute::AddTag(tag) => add_tag(&mut draft.vg.pv_mut(pv).tags, tag)?,
            PvAttribute::RemoveTag(tag) => {
                draft.vg.pv_mut(pv).tags.retain(|other| other != tag);
            }
            PvAttribute::NewUuid => {
                let fresh = author.uuid();
                draft.headers.push(HeaderChange {
                    pv: vg.pv(pv).uuid,
                    // The text names the volume by its identity, and both cannot change at once:
                    // until both have, the text has a mark.
                    when: When::BetweenCommits,
                    edit: HeaderEdit::Uuid(fresh),
                });
                let volume = draft.vg.pv_mut(pv);
                mark_renewed(volume, volume.uuid);
                volume.uuid = fresh;
            }
            PvAttribute::Areas(usage) => {
                // What was so already is told, whatever else is refused.
                set_areas(&mut draft, pv, usage, areas).map_err(|error| {
                    let mut what = String::new();
                    for message in &draft.messages {
                        what += &message.text;
                        what.push('\n');
                    }
                    Error::new(error.kind, what + &error.to_string())
                })?;
            }
        }
    }
    if !is_changed {
        draft.note(format!("Physical volume {name} not changed"));
        return Ok(Change {
            messages: draft.messages,
            ..Change::default()
        });
    }
    draft.note(format!("Physical volume \"{name}\" changed"));
    let mut change = draft.finish(author)?;
    if changes.contains(&PvAttribute::NewUuid) {
        commit_unmarked(&mut change, author)?;
    }
    Ok(change)
}

/// Whether there is nothing to do for a change; that is told, and is no error in stock.
fn is_so_already(draft: &mut Draft, pv: PvId, change: PvAttribute<'_>, name: &str) -> bool {
    let PvAttribute::Allocatable(wanted) = change else {
        return false;
    };
    let word = match (wanted, draft.vg.pv(pv).flags.has(PvFlag::Allocatable)) {
        (Allocatable::Yes, true) => "allocatable",
        (Allocatable::No, false) => "unallocatable",
        _ => return false,
    };
    draft.note(format!("Physical volume \"{name}\" is already {word}."));
    true
}

/// What areas are that are so already.
pub fn already(usage: AreaUse) -> &'static str {
    match usage {
        AreaUse::Ignored => "ignored",
        AreaUse::Used => "marked as in-use",
    }
}

/// A group that wants a number of copies of its metadata wants those that there are then, so that
/// nothing is balanced against what was asked for.
fn keep_count(draft: &mut Draft, pv: Uuid, usage: AreaUse, areas: &[AreaState]) {
    let Some(wanted) = draft.vg.metadata_copies.filter(|copies| *copies > 0) else {
        return;
    };
    let is_used = |area: &&AreaState| {
        let later = if area.pv == pv { usage } else { area.usage };
        later == AreaUse::Used
    };
    let used = areas.iter().filter(is_used).count();
    let used = u32::try_from(used).unwrap_or(u32::MAX);
    if used != wanted {
        draft.warn(format!(
            "Changing preferred number of copies of VG {} metadata from {wanted} to {used}",
            draft.vg.name
        ));
        draft.vg.metadata_copies = Some(used);
    }
}

fn set_areas(draft: &mut Draft, pv: PvId, usage: AreaUse, areas: &[AreaState]) -> Result<()> {
    let uuid = draft.old.pv(pv).uuid;
    let is_other = |area: &AreaState| area.pv == uuid && area.usage != usage;
    if !areas.iter().any(is_other) {
        let word = already(usage);
        let name = pv_name(&draft.vg, pv);
        return Err(refused(format!(
            "Metadata areas on physical volume \"{name}\" already {word}."
        )));
    }
    let is_used_elsewhere = areas
        .iter()
        .any(|area| area.pv != uuid && area.usage == AreaUse::Used);
    if usage == AreaUse::Ignored && !is_used_elsewhere {
        return Err(refused(format!(
            "Cannot disable all metadata areas in volume group {}.",
            draft.vg.name
        )));
    }
    keep_count(draft, uuid, usage, areas);
    let own = areas.iter().filter(|area| is_other(area));
    draft.areas.extend(own.map(|area| AreaChange {
        pv: area.pv,
        area: area.area,
        usage,
    }));
    Ok(())
}
