//! `vgremove`: the group with everything in it.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use crate::Result;
use crate::model::{Relations, VolumeGroup};
use crate::ondisk::PvUse;
use crate::plan::change::{Change, GroupChange, Message};
use crate::plan::draft::{
    Draft, freed, refused, require_known_segments, usage_change, volume_changes,
};
use crate::plan::logical::{self, Along};

/// Removes a group. Its volumes go with it only where that was agreed to.
pub fn remove_group(vg: &VolumeGroup, along: VolumesOf) -> Result<Change> {
    let mut draft = Draft::begin(vg)?;
    require_known_segments(vg)?;
    let relations = Relations::of(vg);
    let visible: Vec<_> = vg
        .lvs()
        .filter(|(id, _)| relations.is_visible(vg, *id))
        .map(|(id, _)| id)
        .collect();
    if !visible.is_empty() && along == VolumesOf::Keep {
        return Err(refused(format!(
            "Volume group \"{}\" still contains {} logical volume(s)",
            vg.name,
            visible.len()
        )));
    }
    for id in visible {
        if draft.vg.lvs().any(|(other, _)| other == id) {
            logical::remove(&mut draft, id, Along::Everything)?;
        }
    }
    let mut messages = draft.messages;
    messages.push(Message::note(format!(
        "Volume group \"{}\" successfully removed",
        vg.name
    )));
    Ok(Change {
        headers: vg
            .pvs()
            .map(|(_, pv)| usage_change(pv.uuid, PvUse::Free))
            .collect(),
        volumes: volume_changes(vg, &draft.vg),
        freed: freed(vg, &draft.vg),
        released: vg.pvs().map(|(_, pv)| pv.uuid).collect(),
        groups: vec![GroupChange::Erase(vg.clone())],
        messages,
        ..Change::default()
    })
}

/// What happens to the volumes of a group that is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VolumesOf {
    /// A group with volumes is refused.
    Keep,
    /// They are removed.
    Remove,
}
