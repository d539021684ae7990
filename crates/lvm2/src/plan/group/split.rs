//! `vgsplit`: physical volumes leave a group with what stands on them, for a group of their own
//! or another one.
//!
//! ```text
//!     commit 0   the source as it is, where what is left of it kept no text so far
//!     commit 1   the target, exported and with a mark: nobody uses it yet
//!     commit 2   the source without what has moved
//!     commit 3   the target as it is to be
//! ```
//!
//! A crash between them leaves volumes in both texts, or an exported group; by the mark the next
//! command knows these states and ends them. Where everything moves, there is no commit 2.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use super::copies::{AreaState, MetadataCopies, balance};
use super::create::require_name;
use super::merge::{require_alike, require_limits};
use super::transplant::transplant;
use crate::Result;
use crate::model::{AllocationPolicy, Area, LvId, PvFlag, PvId, Relations, VgFlag, VolumeGroup};
use crate::ondisk::AreaUse;
use crate::plan::author::Author;
use crate::plan::change::{AreaChange, Change, GroupChange, Message, VolumeChange};
use crate::plan::draft::{
    Draft, find_lv, refused, require_known_segments, require_names_fit, require_not_exported, seal,
    wrong,
};
use crate::plan::unfinished::{Origin, mark_split};

/// What a new group has other than the one that it comes from, where it is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NewGroupSettings {
    /// `-l`.
    pub max_lv: Option<u32>,
    /// `-p`.
    pub max_pv: Option<u32>,
    /// `--alloc`.
    pub allocation: Option<AllocationPolicy>,
    /// `--vgmetadatacopies`.
    pub copies: Option<MetadataCopies>,
}

/// Where the physical volumes go.
#[derive(Debug, Clone, Copy)]
pub enum SplitInto<'a> {
    /// A new group of this name, which the caller knows to be free.
    New(&'a str, NewGroupSettings),
    /// A group that there is.
    Existing(&'a VolumeGroup),
}

impl<'a> SplitInto<'a> {
    /// A new group like the one that it comes from.
    pub fn named(name: &'a str) -> Self {
        Self::New(name, NewGroupSettings::default())
    }
}

/// Which physical volumes go.
#[derive(Debug, Clone, Copy)]
pub enum SplitOff<'a> {
    /// These.
    Pvs(&'a BTreeSet<PvId>),
    /// Those that this volume stands on: `-n`.
    Volume(&'a str),
}

/// Splits physical volumes off a group. The caller knows that what stands on them is inactive.
/// `areas` are those of the group, and of the one that they go to, as they are: each keeps its text
/// somewhere, for which areas that were set aside are taken into use.
pub fn split_group(
    vg: &VolumeGroup,
    into: SplitInto<'_>,
    off: SplitOff<'_>,
    areas: &[AreaState],
    author: &mut Author<'_>,
) -> Result<Change> {
    let draft = Draft::begin(vg)?;
    require_known_segments(vg)?;
    let pvs = match off {
        SplitOff::Pvs(pvs) => pvs.clone(),
        SplitOff::Volume(name) => stands_on(vg, &closure(vg, find_lv(vg, name)?)),
    };
    if pvs.is_empty() {
        return Err(wrong("No physical volumes to split off were found"));
    }
    let lvs = moving(vg, &pvs)?;
    let mut from = draft.vg;
    let (mut to, first) = target(vg, into, author)?;
    transplant(&mut from, &mut to, &pvs, &lvs)?;
    assert_eq!(
        from.pv_count() + pvs.len(),
        vg.pv_count(),
        "each is in one group"
    );
    assert_eq!(
        from.lv_count() + lvs.len(),
        vg.lv_count(),
        "each is in one group"
    );
    require_limits(&to, &vg.name)?;
    let old = match into {
        SplitInto::New(..) => None,
        SplitInto::Existing(other) => Some(other),
    };
    require_names_fit(old, &to)?;
    let volumes = lvs.iter().map(|lv| VolumeChange::Deactivate {
        lv: vg.lv(*lv).uuid,
        name: vg.lv(*lv).name().to_owned(),
    });
    let text = format!(
        "{first} volume group \"{}\" successfully split from \"{}\"",
        to.name, vg.name
    );
    let of_rest = taken_into_use(&from, areas)?;
    let areas = [of_rest.clone(), taken_into_use(&to, areas)?].concat();
    Ok(Change {
        volumes: volumes.collect(),
        groups: commits(vg, !of_rest.is_empty(), from, to, author)?,
        areas,
        messages: vec![Message::note(text)],
        ..Change::default()
    })
}

/// What is committed of `source`, which is divided into `rest` and `target`. Where what is left of
/// it keeps a text in an area for the first time, that comes before all else.
fn commits(
    source: &VolumeGroup,
    is_moved: bool,
    mut rest: VolumeGroup,
    mut target: VolumeGroup,
    author: &Author<'_>,
) -> Result<Vec<GroupChange>> {
    assert!(
        !is_moved || rest.pv_count() > 0,
        "what keeps its text elsewhere stays"
    );
    let mut groups = Vec::new();
    let mut source = source.clone();
    if is_moved {
        seal(&mut source, author)?;
        rest.seqno = source.seqno;
        groups.push(GroupChange::Commit(source.clone()));
    }
    let mut hidden = target.clone();
    mark_exported(&mut hidden);
    mark_split(&mut hidden, Origin::of(&source));
    seal(&mut hidden, author)?;
    target.seqno = hidden.seqno;
    groups.push(GroupChange::Commit(hidden));
    if rest.pv_count() > 0 {
        seal(&mut rest, author)?;
        groups.push(GroupChange::Commit(rest));
    }
    seal(&mut target, author)?;
    groups.push(GroupChange::Commit(target));
    Ok(groups)
}

/// The areas of a group, of those that were set aside, that are used from now on, so that there are
/// as many as it says.
fn taken_into_use(vg: &VolumeGroup, areas: &[AreaState]) -> Result<Vec<AreaChange>> {
    let is_member = |area: &&AreaState| vg.pv_by_uuid(&area.pv).is_some();
    let own: Vec<AreaState> = areas.iter().filter(is_member).copied().collect();
    if own.is_empty() && vg.pv_count() > 0 {
        return Err(refused(
            "Cannot split: Nowhere to store metadata for new Volume Group",
        ));
    }
    let mut changes = balance(&own, MetadataCopies::from_number(vg.metadata_copies));
    changes.retain(|change| change.usage == AreaUse::Used);
    let in_use = own.iter().filter(|area| area.usage == AreaUse::Used);
    assert!(
        vg.pv_count() == 0 || in_use.count() + changes.len() > 0,
        "it keeps a text"
    );
    Ok(changes)
}

/// The group that the physical volumes join, and stock's word for it.
fn target(
    vg: &VolumeGroup,
    into: SplitInto<'_>,
    author: &mut Author<'_>,
) -> Result<(VolumeGroup, &'static str)> {
    match into {
        SplitInto::Existing(other) => {
            require_not_exported(other)?;
            require_known_segments(other)?;
            require_alike(other, vg)?;
            Ok((other.clone(), "Existing"))
        }
        SplitInto::New(name, asked) => {
            require_name(name)?;
            if name == vg.name {
                return Err(wrong(format!("Duplicate volume group name \"{name}\"")));
            }
            let mut new = VolumeGroup::new(name, author.uuid(), vg.extent_size);
            new.max_lv = asked.max_lv.unwrap_or(vg.max_lv);
            new.max_pv = asked.max_pv.unwrap_or(vg.max_pv);
            new.allocation = asked.allocation.unwrap_or(vg.allocation);
            let copies = asked.copies.unwrap_or(MetadataCopies::Unmanaged);
            new.metadata_copies = Some(copies.number());
            new.system_id.clone_from(&vg.system_id);
            Ok((new, "New"))
        }
    }
}

fn mark_exported(vg: &mut VolumeGroup) {
    vg.flags.insert(VgFlag::Exported);
    let pvs: Vec<PvId> = vg.pvs().map(|(id, _)| id).collect();
    for pv in pvs {
        vg.pv_mut(pv).flags.insert(PvFlag::Exported);
    }
}

/// The volumes that go with `pvs`; refused where one stands on others too.
fn moving(vg: &VolumeGroup, pvs: &BTreeSet<PvId>) -> Result<BTreeSet<LvId>> {
    let mut moving = BTreeSet::new();
    let mut seen = BTreeSet::new();
    for (id, _) in vg.lvs() {
        if seen.contains(&id) {
            continue;
        }
        let set = closure(vg, id);
        let below = stands_on(vg, &set);
        if !below.is_disjoint(pvs) {
            if !below.is_subset(pvs) {
                let name = vg.lv(Relations::of(vg).top(vg, id)).name();
                return Err(refused(format!(
                    "Can't split Logical Volume {name} between two Volume Groups"
                )));
            }
            moving.extend(&set);
        }
        seen.extend(set);
    }
    Ok(moving)
}

/// All volumes that are connected with one by references in either direction.
fn closure(vg: &VolumeGroup, start: LvId) -> BTreeSet<LvId> {
    let relations = Relations::of(vg);
    let mut set = BTreeSet::from([start]);
    let mut left = vec![start];
    while let Some(lv) = left.pop() {
        let mut visit = |other: LvId| {
            if set.insert(other) {
                left.push(other);
            }
        };
        relations.used_by(lv).iter().for_each(|used| visit(used.by));
        for segment in &vg.lv(lv).segments {
            segment.for_each_reference(|part, _| visit(part));
        }
    }
    set
}

fn stands_on(vg: &VolumeGroup, lvs: &BTreeSet<LvId>) -> BTreeSet<PvId> {
    let segments = lvs.iter().flat_map(|lv| &vg.lv(*lv).segments);
    let areas = segments.flat_map(crate::model::Segment::areas);
    areas
        .filter_map(|area| match area {
            Area::Pv { pv, .. } => Some(*pv),
            Area::Lv { .. } => None,
        })
        .collect()
}
