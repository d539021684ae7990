//! `lvchange`, as far as it changes metadata: permission, tags, policy, read-ahead, flags.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::ToString;

use super::options::{Autoactivation, Permission, Skip};
use crate::model::{AllocationPolicy, LvFlag, LvId, ReadAhead, Relations, VolumeGroup, name};
use crate::plan::author::Author;
use crate::plan::change::Change;
use crate::plan::draft::{Draft, find_lv, refused, wrong};
use crate::{Error, Result};

/// One property to be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttributeChange<'a> {
    /// `-p`.
    Permission(Permission),
    /// `-r`.
    ReadAhead(ReadAhead),
    /// `--alloc`, `-C`; `None` as the group says.
    Allocation(Option<AllocationPolicy>),
    /// `-k`.
    Skip(Skip),
    /// `--setautoactivation`.
    Autoactivation(Autoactivation),
    /// `-M y --minor N`, or `-M n`.
    Minor(Option<u32>),
    /// `--addtag`.
    AddTag(&'a str),
    /// `--deltag`.
    RemoveTag(&'a str),
    /// `--metadataprofile`; `None` is `--detachprofile`.
    Profile(Option<&'a str>),
}

/// Changes properties of a logical volume.
pub fn change_volume(
    vg: &VolumeGroup,
    volume: &str,
    changes: &[AttributeChange<'_>],
    author: &mut Author<'_>,
) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    let id = find_lv(vg, volume)?;
    let full_name = format!("{}/{volume}", vg.name);
    if vg.lv(id).flags.has(LvFlag::Pvmove) {
        return Err(refused(format!("Unable to change pvmove LV {full_name}.")));
    }
    if !Relations::of(vg).is_visible(vg, id) {
        return Err(refused(format!(
            "Operation not permitted on hidden LV {full_name}."
        )));
    }
    let is_kept = |change: &AttributeChange<'_>| {
        matches!(
            change,
            AttributeChange::ReadAhead(_)
                | AttributeChange::Allocation(_)
                | AttributeChange::Profile(_)
                | AttributeChange::Minor(None)
        )
    };
    if Relations::of(vg).is_origin(id) && changes.iter().any(is_kept) {
        return Err(refused(format!(
            "Command on LV {full_name} uses options that are invalid with LV properties: \
             lv_is_thick_origin .\nCommand not permitted on LV {full_name}."
        )));
    }
    for change in changes {
        apply(&mut draft, id, &full_name, *change)?;
    }
    // Stock does not say it of a number that is kept.
    if !matches!(changes, [AttributeChange::Minor(Some(_))]) {
        draft.note(format!("Logical volume {full_name} changed."));
    }
    draft.finish(author)
}

/// Why a change of a volume is refused whatever else is changed: mostly, it is so already.
pub fn refused_change(
    vg: &VolumeGroup,
    volume: &str,
    change: AttributeChange<'_>,
) -> Option<Error> {
    let mut draft = Draft::begin(vg).ok()?;
    let id = find_lv(vg, volume).ok()?;
    apply(&mut draft, id, &format!("{}/{volume}", vg.name), change).err()
}

fn apply(draft: &mut Draft, id: LvId, full_name: &str, change: AttributeChange<'_>) -> Result<()> {
    let lv = draft.vg.lv_mut(id);
    match change {
        AttributeChange::Permission(permission) => {
            let is_same = lv.is_writable() == (permission == Permission::ReadWrite);
            if is_same {
                return Err(refused(match permission {
                    Permission::ReadOnly => {
                        format!("Logical volume \"{full_name}\" is already read only.")
                    }
                    Permission::ReadWrite => {
                        format!("Logical volume {full_name} is already writable.")
                    }
                }));
            }
            match permission {
                Permission::ReadWrite => lv.flags.insert(LvFlag::Write),
                Permission::ReadOnly => {
                    lv.flags.remove(LvFlag::Write);
                    lv.flags.remove(LvFlag::WriteLocked);
                }
            }
        }
        AttributeChange::ReadAhead(read_ahead) => {
            if lv.read_ahead == read_ahead {
                let sectors = match read_ahead {
                    ReadAhead::Auto => "auto".to_owned(),
                    ReadAhead::None => "none".to_owned(),
                    ReadAhead::Sectors(sectors) => sectors.to_string(),
                };
                return Err(refused(format!(
                    "Read ahead is already {sectors} for {full_name}."
                )));
            }
            lv.read_ahead = read_ahead;
        }
        AttributeChange::Allocation(policy) => {
            if lv.allocation == policy {
                let policy = policy.map_or("inherit", AllocationPolicy::name);
                return Err(refused(format!(
                    "Allocation policy of logical volume {full_name} is already {policy}."
                )));
            }
            lv.allocation = policy;
        }
        AttributeChange::Skip(skip) => set(lv, LvFlag::ActivationSkip, skip == Skip::Yes),
        AttributeChange::Autoactivation(wanted) => {
            set(lv, LvFlag::NoAutoactivate, wanted == Autoactivation::No);
        }
        AttributeChange::Profile(profile) => lv.profile = profile.map(str::to_owned),
        AttributeChange::Minor(None) if !lv.flags.has(LvFlag::FixedMinor) => {
            return Err(refused(format!(
                "Minor number is already not persistent for {full_name}."
            )));
        }
        AttributeChange::Minor(minor) => {
            set(lv, LvFlag::FixedMinor, minor.is_some());
            lv.major = minor.map(|_| 0);
            lv.minor = minor.map(i64::from);
        }
        AttributeChange::AddTag(tag) => {
            name::validate_tag(tag).map_err(|error| wrong(error.context))?;
            if !lv.tags.iter().any(|other| other == tag) {
                lv.tags.push(tag.to_owned());
            }
        }
        AttributeChange::RemoveTag(tag) => lv.tags.retain(|other| other != tag),
    }
    Ok(())
}

fn set(lv: &mut crate::model::LogicalVolume, flag: LvFlag, is_set: bool) {
    if is_set {
        lv.flags.insert(flag);
    } else {
        lv.flags.remove(flag);
    }
}
