//! `vgcfgrestore`: a group as a backup file describes it; only mirrors keep the order of their
//! copies, since the backup cannot know which ones were lost. Where extents have moved since, it is
//! refused unless somebody insists: the contents are where they moved to.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::moved::moved_since;
use crate::model::{SegmentType, VolumeGroup};
use crate::ondisk::PvUse;
use crate::plan::author::Author;
use crate::plan::change::{Change, GroupChange, Message};
use crate::plan::draft::{freed, refused, seal, usage_change, volume_changes, wrong};
use crate::plan::logical::keep_orders;
use crate::plan::unfinished::unmark;
use crate::{Result, Uuid};

/// Whether volumes may be set back whose contents are elsewhere, or have their own idea of the
/// group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Insistence {
    /// Such a group is refused.
    None,
    /// `--force`.
    Forced,
}

/// Restores `backup` over `current`, if there is one, on the physical volumes that are there.
pub fn restore_group(
    backup: &VolumeGroup,
    current: Option<&VolumeGroup>,
    present: &BTreeSet<Uuid>,
    insistence: Insistence,
    author: &mut Author<'_>,
) -> Result<Change> {
    let mut messages = require_restorable(backup, current, present, insistence)?;
    let mut vg = backup.clone();
    unmark(&mut vg);
    if let Some(current) = current {
        keep_orders(current, &mut vg);
    }
    vg.seqno = vg.seqno.max(current.map_or(0, |current| current.seqno));
    seal(&mut vg, author)?;
    let newest = current.map_or(0, |current| current.seqno).max(backup.seqno);
    assert!(vg.seqno > newest, "an old version comes back as a new one");
    let mut headers: Vec<_> = vg
        .pvs()
        .map(|(_, pv)| usage_change(pv.uuid, PvUse::Used))
        .collect();
    let mut released = Vec::new();
    for (_, pv) in current.iter().flat_map(|current| current.pvs()) {
        if vg.pv_by_uuid(&pv.uuid).is_none() {
            headers.push(usage_change(pv.uuid, PvUse::Free));
            released.push(pv.uuid);
        }
    }
    let (volumes, freed) = match current {
        Some(current) => (volume_changes(current, &vg), freed(current, &vg)),
        None => (Vec::new(), Vec::new()),
    };
    messages.push(Message::note(format!("Restored volume group {}.", vg.name)));
    Ok(Change {
        headers,
        volumes,
        freed,
        released,
        messages,
        groups: vec![GroupChange::Commit(vg)],
        ..Change::default()
    })
}

/// Refuses what cannot be restored, or not unasked; what is to be said of the rest.
fn require_restorable(
    backup: &VolumeGroup,
    current: Option<&VolumeGroup>,
    present: &BTreeSet<Uuid>,
    insistence: Insistence,
) -> Result<Vec<Message>> {
    if let Some(current) = current
        && current.name != backup.name
    {
        return Err(wrong(format!(
            "The backup is of volume group {}, not of {}",
            backup.name, current.name
        )));
    }
    let missing = backup.pvs().map(|(_, pv)| pv.uuid);
    let missing: Vec<Uuid> = missing.filter(|uuid| !present.contains(uuid)).collect();
    let told = missing
        .iter()
        .map(|uuid| format!("WARNING: Couldn't find device with uuid {uuid}.\n"));
    let told: String = told.collect();
    let pool = backup.lvs().find(|(_, lv)| {
        let is_pool = |kind: Option<&SegmentType>| matches!(kind, Some(SegmentType::ThinPool(_)));
        is_pool(lv.first())
    });
    if let Some((_, lv)) = pool
        && insistence == Insistence::None
    {
        return Err(refused(format!(
            "{told}Consider using option --force to restore Volume Group {} with thin volumes: the \
             pool {} may have gone on since",
            backup.name,
            lv.name()
        )));
    }
    if !missing.is_empty() {
        let (name, count) = (&backup.name, missing.len());
        return Err(refused(format!(
            "{told}Cannot restore Volume Group {name} with {count} PVs marked as missing."
        )));
    }
    let mut messages = Vec::new();
    if pool.is_some() {
        messages.push(Message::warning(format!(
            "Forced restore of Volume Group {} with thin volumes.",
            backup.name
        )));
    }
    if let Some(what) = current.and_then(|current| left_behind(backup, current)) {
        if insistence == Insistence::None {
            return Err(refused(format!(
                "{what} Move them back first (pvmove), or use option --force to lose that"
            )));
        }
        messages.push(Message::warning(what));
    }
    Ok(messages)
}

/// What going back does to volumes whose extents have moved.
fn left_behind(backup: &VolumeGroup, current: &VolumeGroup) -> Option<String> {
    let moved = moved_since(backup, current);
    let all = moved
        .iter()
        .map(|one| format!("{} of {}", one.extents.0, one.name));
    let all: Vec<String> = all.collect();
    (!all.is_empty()).then(|| {
        format!(
            "Extents have moved since that backup of volume group {} was made ({}): restored, \
             these volumes show what was left where they lay, or what is there now, and what was \
             written to them since is lost.",
            backup.name,
            all.join(", ")
        )
    })
}
