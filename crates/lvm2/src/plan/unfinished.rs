//! Marks: what a command of several commits notes in the text, so that whoever finds it half done
//! can end it.
//!
//! One commit changes one group at once, or not at all. What concerns two groups, or the identity
//! of something, needs more: and a power cut in between leaves two texts that contradict each
//! other. Which of them is right cannot be told from the texts alone; a mark says so. It is a tag,
//! so that every program that reads the text keeps it, and people can see it.
//!
//! ```text
//!     vgsplit        tag of the new group    ashlar:split-from=UUID/SEQNO     of the old group
//!     vgmerge        tag of the group        ashlar:replaces=UUID/SEQNO       of the other one
//!     vgchange -u    tag of the group        ashlar:replaces=UUID/SEQNO       of itself, before
//!     pvchange -u    tag of the volume       ashlar:was=UUID                  of itself, before
//! ```
//!
//! The first commit carries the mark, and the last one does not. A mark holds only while the other
//! text has the sequence number in it: if somebody has changed that one since, nothing is done.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::author::Author;
use super::change::{Change, GroupChange, HeaderChange, HeaderEdit, Message, When};
use super::draft::{refused, seal};
use crate::model::{AllocationMap, LvId, PhysicalVolume, PvFlag, PvId, VgFlag, VolumeGroup};
use crate::{Result, Uuid};

const SPLIT_FROM: &str = "ashlar:split-from=";
const REPLACES: &str = "ashlar:replaces=";
const WAS: &str = "ashlar:was=";

/// The text that a mark speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The group's identity.
    pub group: Uuid,
    /// The version that it had.
    pub seqno: u32,
}

impl Origin {
    pub(super) fn of(vg: &VolumeGroup) -> Self {
        Self {
            group: vg.uuid,
            seqno: vg.seqno,
        }
    }

    fn find(tags: &[String], mark: &str) -> Option<Self> {
        let mut values = tags.iter().filter_map(|tag| tag.strip_prefix(mark));
        values.find_map(|value| {
            let (group, seqno) = value.split_once('/')?;
            Some(Self {
                group: group.parse().ok()?,
                seqno: seqno.parse().ok()?,
            })
        })
    }

    fn tag(self, mark: &str) -> String {
        format!("{mark}{}/{}", self.group, self.seqno)
    }
}

/// The group from which this one is being split off.
pub fn split_from(vg: &VolumeGroup) -> Option<Origin> {
    Origin::find(&vg.tags, SPLIT_FROM)
}

/// The group in whose place this one comes.
pub fn replaces(vg: &VolumeGroup) -> Option<Origin> {
    Origin::find(&vg.tags, REPLACES).filter(|origin| origin.group != vg.uuid)
}

/// The identity that the label of a physical volume may still say.
pub fn former_uuid(pv: &PhysicalVolume) -> Option<Uuid> {
    let mut values = pv.tags.iter().filter_map(|tag| tag.strip_prefix(WAS));
    values.find_map(|value| value.parse().ok())
}

/// Whether a command on the group was not ended.
pub fn is_unfinished(vg: &VolumeGroup) -> bool {
    let is_renewed = vg.pvs().any(|(_, pv)| former_uuid(pv).is_some());
    is_renewed || split_from(vg).is_some() || replaces(vg).is_some()
}

pub(super) fn mark_split(vg: &mut VolumeGroup, from: Origin) {
    vg.tags.push(from.tag(SPLIT_FROM));
}

pub(super) fn mark_replacing(vg: &mut VolumeGroup, other: Origin) {
    vg.tags.push(other.tag(REPLACES));
}

pub(super) fn mark_renewed(pv: &mut PhysicalVolume, old: Uuid) {
    pv.tags.push(format!("{WAS}{old}"));
}

/// Takes all marks away.
pub(super) fn unmark(vg: &mut VolumeGroup) {
    let is_mark = |tag: &String| {
        let marks = [SPLIT_FROM, REPLACES, WAS];
        marks.iter().any(|mark| tag.starts_with(mark))
    };
    vg.tags.retain(|tag| !is_mark(tag));
    let pvs: Vec<PvId> = vg.pvs().map(|(id, _)| id).collect();
    for pv in pvs {
        vg.pv_mut(pv).tags.retain(|tag| !is_mark(tag));
    }
    assert!(!is_unfinished(vg), "no mark is left");
}

/// A change whose commit has a mark gets another one without it.
pub(super) fn commit_unmarked(change: &mut Change, author: &Author<'_>) -> Result<()> {
    if let Some(GroupChange::Commit(marked)) = change.groups.last() {
        let mut vg = marked.clone();
        unmark(&mut vg);
        seal(&mut vg, author)?;
        assert!(!is_unfinished(&vg), "no mark is left");
        change.groups.push(GroupChange::Commit(vg));
    }
    Ok(())
}

/// Ends what was begun on `vg`, which [`is_unfinished`]; `origin` is the group that its mark speaks
/// of, where that is still there. Nothing is written if it is cut off again and again: the marks
/// stay until the last commit.
pub fn finish(
    vg: &VolumeGroup,
    origin: Option<&VolumeGroup>,
    author: &mut Author<'_>,
) -> Result<Change> {
    if let Some(mark) = split_from(vg) {
        return finish_split(vg, origin.filter(|other| other.uuid == mark.group), author);
    }
    let mut change = Change::default();
    for (_, pv) in vg.pvs() {
        if let Some(old) = former_uuid(pv) {
            change.headers.push(HeaderChange {
                pv: old,
                when: When::BetweenCommits,
                edit: HeaderEdit::Uuid(pv.uuid),
            });
            change.messages.push(Message::note(format!(
                "The change of the UUID of PV {} in volume group {} was interrupted, and is ended \
                 now",
                pv.uuid, vg.name
            )));
        }
    }
    if replaces(vg).is_some() {
        change.messages.push(Message::note(format!(
            "A change of volume group {} was interrupted, and is ended now",
            vg.name
        )));
    }
    // Once more with the mark: the areas that do not have it may have the other text.
    let mut marked = vg.clone();
    seal(&mut marked, author)?;
    change.groups.push(GroupChange::Commit(marked));
    commit_unmarked(&mut change, author)?;
    Ok(change)
}

fn finish_split(
    vg: &VolumeGroup,
    source: Option<&VolumeGroup>,
    author: &mut Author<'_>,
) -> Result<Change> {
    let mut marked = vg.clone();
    seal(&mut marked, author)?;
    let mut change = Change {
        groups: vec![GroupChange::Commit(marked)],
        ..Change::default()
    };
    let mut name = "another one".to_owned();
    if let Some(source) = source {
        name.clone_from(&source.name);
        let rest = without(source, vg)?;
        if let Some(mut rest) = rest.filter(|rest| rest.pv_count() > 0) {
            seal(&mut rest, author)?;
            change.groups.insert(1, GroupChange::Commit(rest));
        }
    }
    let Some(GroupChange::Commit(marked)) = change.groups.first() else {
        unreachable!("it is committed first");
    };
    let mut last = marked.clone();
    unmark(&mut last);
    show(&mut last);
    seal(&mut last, author)?;
    change.messages.push(Message::note(format!(
        "Splitting volume group {} from {name} was interrupted, and is ended now",
        vg.name
    )));
    assert!(!is_unfinished(&last), "no mark is left");
    change.groups.push(GroupChange::Commit(last));
    Ok(change)
}

/// Undoes what hides a group while it is split off.
fn show(vg: &mut VolumeGroup) {
    vg.flags.remove(VgFlag::Exported);
    let pvs: Vec<PvId> = vg.pvs().map(|(id, _)| id).collect();
    for pv in pvs {
        vg.pv_mut(pv).flags.remove(PvFlag::Exported);
    }
}

/// `source` without what `target` has already; `None` where it has lost that before.
fn without(source: &VolumeGroup, target: &VolumeGroup) -> Result<Option<VolumeGroup>> {
    let mut rest = source.clone();
    let listed = source.pvs();
    let listed: Vec<PvId> = listed
        .filter(|(_, pv)| target.pv_by_uuid(&pv.uuid).is_some())
        .map(|(id, _)| id)
        .collect();
    if listed.is_empty() {
        return Ok(None);
    }
    let by_hand = |why: &str| {
        refused(format!(
            "Splitting volume group {} from {} was interrupted, and cannot be ended: {why}; take \
             the physical volumes that both list out of one of them with vgreduce",
            target.name, source.name
        ))
    };
    if split_from(target).map(|mark| mark.seqno) != Some(source.seqno) {
        return Err(by_hand("somebody has changed it since"));
    }
    let moved = source.lvs();
    let moved: Vec<LvId> = moved
        .filter(|(_, lv)| target.lvs().any(|(_, other)| other.uuid == lv.uuid))
        .map(|(id, _)| id)
        .collect();
    for lv in moved {
        rest.remove_lv(lv);
    }
    let map = AllocationMap::of(&rest);
    if listed.iter().any(|pv| !map.allocations(*pv).is_empty()) {
        return Err(by_hand("other volumes stand on what was split off"));
    }
    for pv in listed {
        rest.remove_pv(pv);
    }
    Ok(Some(rest))
}
