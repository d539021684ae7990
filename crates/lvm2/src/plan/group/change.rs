//! `vgchange`, as far as it changes metadata.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::ToString;

use super::copies::{AreaState, MetadataCopies, balance};
use super::create::add_tag;
use super::extent_size::set_extent_size;
use crate::model::{AllocationPolicy, VgFlag, VolumeGroup};
use crate::plan::author::Author;
use crate::plan::change::Change;
use crate::plan::draft::{Draft, refused};
use crate::plan::logical::{Autoactivation, visible_count};
use crate::plan::unfinished::{Origin, commit_unmarked, mark_replacing};
use crate::{Result, Sectors};

/// Whether physical volumes may come and go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resizing {
    /// `-x y`.
    Allowed,
    /// `-x n`.
    Forbidden,
}

/// One property to be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupAttribute<'a> {
    /// `--addtag`.
    AddTag(&'a str),
    /// `--deltag`.
    RemoveTag(&'a str),
    /// `-x`.
    Resizing(Resizing),
    /// `-l`; 0 is no limit.
    MaxLv(u32),
    /// `-p`; 0 is no limit.
    MaxPv(u32),
    /// `-s`.
    ExtentSize(Sectors),
    /// `--alloc`; `None` is `inherit`, which a group cannot do.
    Allocation(Option<AllocationPolicy>),
    /// `--uuid`.
    NewUuid,
    /// `--systemid`; `None` is nobody's.
    SystemId(Option<&'a str>),
    /// `--vgmetadatacopies`.
    Copies(MetadataCopies),
    /// `--setautoactivation`.
    Autoactivation(Autoactivation),
    /// `--metadataprofile`; `None` is `--detachprofile`.
    Profile(Option<&'a str>),
}

/// Changes properties of a group. `areas` are those of the group as it is.
pub fn change_group(
    vg: &VolumeGroup,
    changes: &[GroupAttribute<'_>],
    areas: &[AreaState],
    author: &mut Author<'_>,
) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    for change in changes {
        if let Some(what) = of_resizeable(*change) {
            require_resizeable_to(&draft.vg, what)?;
        }
        match change {
            GroupAttribute::NewUuid => {
                mark_replacing(&mut draft.vg, Origin::of(vg));
                draft.vg.uuid = author.uuid();
            }
            GroupAttribute::Copies(copies) => set_copies(&mut draft, *copies, areas),
            GroupAttribute::ExtentSize(size) => set_extent_size(&mut draft, *size)?,
            GroupAttribute::MaxLv(count) => set_max_lv(&mut draft.vg, *count)?,
            GroupAttribute::MaxPv(count) => set_max_pv(&mut draft.vg, *count)?,
            other => apply(&mut draft.vg, *other)?,
        }
    }
    draft.note(format!("Volume group \"{}\" successfully changed", vg.name));
    let mut change = draft.finish(author)?;
    if changes.contains(&GroupAttribute::NewUuid) {
        commit_unmarked(&mut change, author)?;
    }
    Ok(change)
}

/// What only a group has changed whose physical volumes may come and go, in stock's words.
fn of_resizeable(change: GroupAttribute<'_>) -> Option<&'static str> {
    match change {
        GroupAttribute::MaxLv(_) => Some("MaxLogicalVolume"),
        GroupAttribute::MaxPv(_) => Some("MaxPhysicalVolumes"),
        GroupAttribute::ExtentSize(_) => Some("PE size"),
        _ => None,
    }
}

fn require_resizeable_to(vg: &VolumeGroup, what: &str) -> Result<()> {
    if vg.flags.has(VgFlag::Resizeable) {
        return Ok(());
    }
    Err(refused(format!(
        "Volume group \"{}\" must be resizeable to change {what}",
        vg.name
    )))
}

fn apply(vg: &mut VolumeGroup, change: GroupAttribute<'_>) -> Result<()> {
    match change {
        GroupAttribute::AddTag(tag) => add_tag(&mut vg.tags, tag)?,
        GroupAttribute::RemoveTag(tag) => vg.tags.retain(|other| other != tag),
        GroupAttribute::Resizing(resizing) => {
            let is_allowed = vg.flags.has(VgFlag::Resizeable);
            match resizing {
                Resizing::Allowed if is_allowed => {
                    let text = format!("Volume group \"{}\" is already resizeable", vg.name);
                    return Err(refused(text));
                }
                Resizing::Forbidden if !is_allowed => {
                    let text = format!("Volume group \"{}\" is already not resizeable", vg.name);
                    return Err(refused(text));
                }
                Resizing::Allowed => vg.flags.insert(VgFlag::Resizeable),
                Resizing::Forbidden => vg.flags.remove(VgFlag::Resizeable),
            }
        }
        GroupAttribute::Allocation(None) => {
            return Err(refused(
                "Volume Group allocation policy cannot inherit from anything",
            ));
        }
        GroupAttribute::Allocation(Some(policy)) => {
            if vg.allocation == policy {
                let policy = policy.name();
                return Err(refused(format!(
                    "Volume group allocation policy is already {policy}"
                )));
            }
            vg.allocation = policy;
        }
        GroupAttribute::SystemId(id) => {
            if vg.system_id.as_deref() == id {
                let id = id.unwrap_or_default();
                return Err(refused(format!(
                    "Volume Group system ID is already \"{id}\"."
                )));
            }
            vg.system_id = id.map(str::to_owned);
        }
        GroupAttribute::Profile(profile) => vg.profile = profile.map(str::to_owned),
        GroupAttribute::Autoactivation(wanted) => {
            let is_off = vg.flags.has(VgFlag::NoAutoactivate);
            match wanted {
                Autoactivation::Yes if !is_off => {
                    return Err(refused("Volume group autoactivation is already yes."));
                }
                Autoactivation::No if is_off => {
                    return Err(refused("Volume group autoactivation is already no."));
                }
                Autoactivation::Yes => vg.flags.remove(VgFlag::NoAutoactivate),
                Autoactivation::No => vg.flags.insert(VgFlag::NoAutoactivate),
            }
        }
        GroupAttribute::NewUuid
        | GroupAttribute::Copies(_)
        | GroupAttribute::ExtentSize(_)
        | GroupAttribute::MaxLv(_)
        | GroupAttribute::MaxPv(_) => unreachable!("the caller does these"),
    }
    Ok(())
}

fn set_copies(draft: &mut Draft, copies: MetadataCopies, areas: &[AreaState]) {
    let old = MetadataCopies::from_number(draft.vg.metadata_copies);
    if old == copies {
        let copies = match copies {
            MetadataCopies::Exactly(count) => count.to_string(),
            _ => "unmanaged".to_owned(),
        };
        draft.note(format!(
            "Number of metadata copies for VG {} is already {copies}.",
            draft.vg.name
        ));
    }
    draft.vg.metadata_copies = Some(copies.number());
    draft.areas = balance(areas, copies);
}

fn set_max_lv(vg: &mut VolumeGroup, count: u32) -> Result<()> {
    let visible = visible_count(vg);
    if count != 0 && u64::from(count) < visible {
        return Err(refused(format!(
            "MaxLogicalVolume is less than the current number {visible} of LVs for {}",
            vg.name
        )));
    }
    vg.max_lv = count;
    Ok(())
}

fn set_max_pv(vg: &mut VolumeGroup, count: u32) -> Result<()> {
    if count != 0 && (count as usize) < vg.pv_count() {
        return Err(refused(format!(
            "MaxPhysicalVolumes is less than the current number {} of PVs for \"{}\"",
            vg.pv_count(),
            vg.name
        )));
    }
    vg.max_pv = count;
    Ok(())
}
