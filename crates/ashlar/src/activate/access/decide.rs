//! Whether a volume may be read or written, as its group's metadata alone decides it.
//!
//! The volume and everything that it stands on are walked; what is found at each is a list of
//! [`Condition`]s, and the first one that refuses decides. Nothing of the machine is asked: what
//! the kernel has active, what is missing, and whose the group is, comes later.
//!
//! Of the volumes below, only what changes their content counts: that one is an image of the
//! volume which was asked for is no reason against it.

use dm::volume::Access;
use lvm2::model::{
    Area, Flag, LvFlag, LvId, Part, Place, PvId, RaidFamily, Relations, Role, Segment, SegmentType,
    SnapshotState, TypeFlag, VolumeGroup, is_virtual_origin,
};

use super::condition::{Condition, Ruling};
use crate::{Error, Kind, Result};

/// Fails where the metadata does not allow `access` to a volume. `group` is the name by which
/// people know it.
pub fn decide(vg: &VolumeGroup, group: &str, lv: LvId, access: Access) -> Result<()> {
    judge(vg, group, (lv, access), conditions(vg, lv, access))
}

/// Fails where the metadata does not allow that its owner writes to a volume: with an origin all
/// that are written together. What each may be used for by itself does not count.
pub(in crate::activate) fn decide_parts(vg: &VolumeGroup, group: &str, lv: LvId) -> Result<()> {
    let mut found = conditions(vg, lv, Access::ReadWrite);
    found[0].1.retain(|condition| changes_content(*condition));
    judge(vg, group, (lv, Access::ReadWrite), found)
}

fn judge(
    vg: &VolumeGroup,
    group: &str,
    (lv, access): (LvId, Access),
    found: Vec<(LvId, Vec<Condition>)>,
) -> Result<()> {
    let name = |lv: LvId| format!("{group}/{}", vg.lv(lv).name());
    for (at, conditions) in found {
        for condition in conditions {
            let rule = condition.rule();
            if rule.read.kind().is_some() {
                return Err(unread(vg, group, (lv, at), rule.read));
            }
            if let (Access::ReadWrite, Ruling::Refused(why)) = (access, rule.write) {
                let of_part = if at == lv {
                    String::new()
                } else {
                    format!("of {}, on which it stands, ", name(at))
                };
                let what = format!(
                    "{} is not opened for writing: {of_part}{why}; it can be read",
                    name(lv)
                );
                return Err(Error::new(Kind::Refused, what));
            }
        }
    }
    Ok(())
}

/// What is found at a volume and at each one that it stands on, the volume first; where it is
/// written, also at those that are written with it.
pub(super) fn conditions(
    vg: &VolumeGroup,
    lv: LvId,
    access: Access,
) -> Vec<(LvId, Vec<Condition>)> {
    let relations = Relations::of(vg);
    let mut found = Vec::new();
    let all = match access {
        Access::ReadOnly => stack(vg, &relations, lv),
        Access::ReadWrite => shared_stack(vg, &relations, lv),
    };
    for at in all {
        let mut all = Vec::new();
        let is_of_array = is_of_array(&relations, at);
        of_content(vg, at, is_of_array, &mut all);
        of_uses(vg, &relations, at, &mut all);
        of_flags(vg, &relations, at, &mut all);
        if at != lv {
            // Its array knows what an image holds.
            let is_known = |condition| condition == Condition::Rebuild && is_of_array;
            all.retain(|condition| changes_content(*condition) && !is_known(*condition));
        }
        found.push((at, all));
    }
    assert_eq!(
        found.first().map(|(at, _)| *at),
        Some(lv),
        "a volume comes first"
    );
    found
}

/// The volume and everything that it stands on, each once; of a snapshot that is its origin, too.
fn stack(vg: &VolumeGroup, relations: &Relations, lv: LvId) -> Vec<LvId> {
    let mut seen = vec![false; vg.lv_slots()];
    let mut open = Vec::new();
    if let Some(snapshot) = relations.seen_through(vg, lv) {
        open.extend([snapshot.cow, snapshot.origin]);
    }
    open.push(lv);
    let mut all = Vec::new();
    while let Some(lv) = open.pop() {
        debug_assert!(all.len() <= vg.lv_count(), "each is there once");
        if !std::mem::replace(&mut seen[lv.index()], true) {
            all.push(lv);
            for segment in &vg.lv(lv).segments {
                segment.for_each_reference(|below, _| open.push(below));
            }
        }
    }
    all
}

/// The same of all that are written with a volume, which comes first: an origin and its snapshots.
pub(crate) fn shared_stack(vg: &VolumeGroup, relations: &Relations, lv: LvId) -> Vec<LvId> {
    let mut all = Vec::new();
    for member in [vec![lv], together(vg, relations, lv)].concat() {
        for at in stack(vg, relations, member) {
            if !all.contains(&at) {
                all.push(at);
            }
        }
    }
    debug_assert!(all.contains(&lv), "a volume is one of its stack");
    all
}

/// The origin and its snapshots, of which a volume is one: they are one state. None: it is neither.
pub(crate) fn together(vg: &VolumeGroup, relations: &Relations, lv: LvId) -> Vec<LvId> {
    let snapshot = relations.snapshot_of_cow(vg, lv);
    let origin = snapshot.map_or(lv, |snapshot| snapshot.origin);
    let stores: Vec<LvId> = relations
        .snapshots(vg, origin)
        .map(|snapshot| snapshot.cow)
        .collect();
    if stores.is_empty() {
        return Vec::new();
    }
    debug_assert!(
        lv == origin || stores.contains(&lv),
        "a volume is one of its own"
    );
    [vec![origin], stores].concat()
}

/// Whether it matters of a volume that another one stands on.
fn changes_content(condition: Condition) -> bool {
    let rule = condition.rule();
    // A part is not written by people, and by what it is a part of all the same.
    let is_use = matches!(
        condition,
        Condition::CacheOrigin
            | Condition::WritecacheOrigin
            | Condition::IntegrityOrigin
            | Condition::MergingCow
    );
    !is_use && rule.read.kind().is_some()
}

/// Whether a volume is an image of an array, or the metadata of one: its superblocks say how far a
/// reshape or a rebuild is, and where data are.
fn is_of_array(relations: &Relations, lv: LvId) -> bool {
    let is_part = |part: Part| matches!(part, Part::RaidImage(_) | Part::RaidMeta(_));
    relations.used_by(lv).iter().any(|used| is_part(used.part))
}

fn of_content(vg: &VolumeGroup, lv: LvId, is_of_array: bool, all: &mut Vec<Condition>) {
    for segment in &vg.lv(lv).segments {
        let condition = of_type(vg, lv, segment);
        let is_served = condition.rule().read.kind().is_none();
        all.push(condition);
        let is_array = condition == Condition::Raid || is_of_array;
        let mut suffixes = segment.type_flags.iter();
        if is_served && suffixes.any(|suffix| !(is_array && is_of_reshape(*suffix))) {
            all.push(Condition::TypeSuffix);
        }
        if is_served && segment.reshape.0 > 0 && !is_array {
            all.push(Condition::Reshape);
        }
        for area in segment.areas() {
            if let Area::Pv { pv, .. } = area
                && has_unknown_status(vg, *pv)
            {
                all.push(Condition::UnknownStatus);
            }
        }
    }
}

/// Whether a suffix says no more than that a reshape is under way, or was.
fn is_of_reshape(suffix: TypeFlag) -> bool {
    match suffix {
        TypeFlag::Reshape
        | TypeFlag::ReshapeDataOffset
        | TypeFlag::ReshapeDeltaDisksPlus
        | TypeFlag::ReshapeDeltaDisksMinus
        | TypeFlag::RemoveAfterReshape => true,
        TypeFlag::MetadataFormat | TypeFlag::CropMetadata | TypeFlag::CacheUsesCachevol => false,
    }
}

fn has_unknown_status(vg: &VolumeGroup, pv: PvId) -> bool {
    vg.pv(pv).flags.unknown(Place::Status).next().is_some()
}

fn of_type(vg: &VolumeGroup, lv: LvId, segment: &Segment) -> Condition {
    match &segment.kind {
        SegmentType::Striped(striped) if striped.areas.len() == 1 => Condition::Linear,
        SegmentType::Striped(_) => Condition::Striped,
        SegmentType::Zero => Condition::Zero,
        SegmentType::Error => Condition::ErrorSegment,
        SegmentType::Mirror(mirror) => {
            let is_on_pvs = mirror
                .images
                .iter()
                .any(|image| matches!(image, Area::Pv { .. }));
            let is_move = vg.lv(lv).flags.has(LvFlag::Pvmove);
            match (is_on_pvs, is_move) {
                (false, _) => Condition::Mirror,
                (true, true) => Condition::Move,
                (true, false) => Condition::MirrorOnPvs,
            }
        }
        SegmentType::Raid(raid) if raid.level.family() == RaidFamily::Raid0 => Condition::Raid0,
        SegmentType::Raid(_) => Condition::Raid,
        SegmentType::Snapshot(_) => Condition::SnapshotSegment,
        SegmentType::ThinPool(_) => Condition::ThinPool,
        SegmentType::Thin(thin) if thin.merge.is_some() => Condition::ThinMerging,
        SegmentType::Thin(_) => Condition::Thin,
        SegmentType::CachePool(_) => Condition::CachePool,
        SegmentType::Cache(_) => Condition::Cache,
        SegmentType::Writecache(_) => Condition::Writecache,
        SegmentType::Integrity(_) => Condition::Integrity,
        SegmentType::VdoPool(_) => Condition::VdoPool,
        SegmentType::Vdo(_) => Condition::Vdo,
        SegmentType::Unknown(_) => Condition::UnknownType,
    }
}

fn of_uses(vg: &VolumeGroup, relations: &Relations, lv: LvId, all: &mut Vec<Condition>) {
    for used in relations.used_by(lv) {
        let by = &vg.lv(used.by).segments[used.segment].kind;
        let is_merging = matches!(by, SegmentType::Snapshot(snapshot)
            if snapshot.state == SnapshotState::Merging);
        all.push(match used.part {
            Part::SnapshotOrigin if is_merging => Condition::MergingOrigin,
            Part::SnapshotOrigin => Condition::Origin,
            Part::SnapshotCow if is_merging => Condition::MergingCow,
            Part::SnapshotCow => Condition::Cow,
            Part::ThinMerge => Condition::ThinMergeTarget,
            Part::ThinExternalOrigin => Condition::ExternalOrigin,
            Part::ThinPool | Part::ThinOrigin | Part::ThinMessage | Part::VdoPool => {
                Condition::TypeDecides
            }
            Part::Area => Condition::AreaOf,
            Part::MirrorImage => Condition::MirrorImage,
            Part::MirrorLog => Condition::MirrorLog,
            Part::RaidImage(_) => Condition::RaidImage,
            Part::RaidMeta(_) => Condition::RaidMeta,
            Part::ThinPoolData
            | Part::ThinPoolMetadata
            | Part::CachePoolData
            | Part::CachePoolMetadata
            | Part::IntegrityMetadata
            | Part::VdoPoolData => Condition::PoolPart,
            Part::CachePool | Part::Writecache => Condition::CacheOf,
            Part::CacheOrigin => Condition::CacheOrigin,
            Part::WritecacheOrigin => Condition::WritecacheOrigin,
            Part::IntegrityOrigin => Condition::IntegrityOrigin,
        });
    }
    if is_virtual_origin(vg, lv) {
        all.push(Condition::VirtualOrigin);
    }
    if relations.role(vg, lv) == Role::Spare {
        all.push(Condition::Spare);
    }
}

fn of_flags(vg: &VolumeGroup, relations: &Relations, lv: LvId, all: &mut Vec<Condition>) {
    let volume = vg.lv(lv);
    for flag in LvFlag::ALL {
        let has = volume.flags.has(*flag);
        let condition = match flag {
            LvFlag::Read => (!has).then_some(Condition::NoRead),
            LvFlag::Write => (!volume.is_writable()).then_some(Condition::NoWrite),
            LvFlag::WriteLocked => has.then_some(Condition::WriteLocked),
            LvFlag::FixedMinor => has.then_some(Condition::FixedMinor),
            LvFlag::Visible => {
                let is_nobodys = relations.role(vg, lv) == Role::Whole;
                (!has && is_nobodys && relations.used_by(lv).is_empty())
                    .then_some(Condition::Hidden)
            }
            LvFlag::Pvmove => has.then_some(Condition::PvmoveFlag),
            LvFlag::Locked => has.then_some(Condition::Locked),
            LvFlag::NotSynced => has.then_some(Condition::NotSynced),
            LvFlag::Rebuild => has.then_some(Condition::Rebuild),
            LvFlag::WriteMostly => has.then_some(Condition::WriteMostly),
            LvFlag::ActivationSkip => has.then_some(Condition::ActivationSkip),
            LvFlag::NoAutoactivate => has.then_some(Condition::NoAutoactivate),
            LvFlag::ErrorWhenFull => has.then_some(Condition::ErrorWhenFull),
            LvFlag::CacheVol => has.then_some(Condition::Cachevol),
        };
        all.extend(condition);
    }
    let is_unknown = volume.flags.unknown(Place::Status).next().is_some()
        || vg.flags.unknown(Place::Status).next().is_some();
    if is_unknown {
        all.push(Condition::UnknownStatus);
    }
    if volume.flags.unknown(Place::Compatible).next().is_some() {
        all.push(Condition::UnknownFlag);
    }
}

/// Why a volume is not even read, because of what was found at `at`.
fn unread(vg: &VolumeGroup, group: &str, (lv, at): (LvId, LvId), ruling: Ruling) -> Error {
    let name = |lv: LvId| format!("{group}/{}", vg.lv(lv).name());
    if let Ruling::Refused(why) = ruling {
        let stands = if at == lv {
            String::new()
        } else {
            format!("it stands on {}, and of that ", name(at))
        };
        let what = format!("{} is not served: {stands}{why}", name(lv));
        return Error::new(Kind::Refused, what);
    }
    let volume = vg.lv(at);
    let is_refused = |segment: &&Segment| of_type(vg, at, segment).rule().read.kind().is_some();
    let segment = volume.segments.iter().find(is_refused);
    let type_name = segment.map_or("unknown", Segment::type_name);
    not_yet(&name(at), type_name)
}

/// A volume has a type that no code here reads.
pub(in crate::activate) fn not_yet(name: &str, type_name: &str) -> Error {
    let what = format!(
        "{name} has the type {type_name}, which is not served yet; linear, striped, mirror, \
         snapshot, zero and error are"
    );
    Error::new(Kind::Unsupported, what)
}
