//! The strings of letters: `-wi-a-----`, `wz--n-`, `a--`.
//!
//! The letters and their precedence are LVM2's (see the notes of `man lvs`, `vgs`, `pvs`). What
//! only a running target can tell stays `-`.

use lvm::model::{
    AllocationPolicy, LvFlag, LvId, Part, PvFlag, SegmentType, SnapshotState, VgFlag, ZeroNewBlocks,
};
use manager::scan::{Duplicate, FoundPv};

use super::catalogue::fields;
use crate::output::report::{FieldKind, Value};
use crate::output::{Group, Row, Style};

fields! { FIELDS of LvInfoStatus {
    "lv_attr" "Attr" FieldKind::Text, 0, lv_attr_field, "Type, permissions and state, as letters.";
} }

fn lv_attr_field(row: &Row<'_>, _: &Style) -> Value {
    Value::text(
        row.volume()
            .map(|(group, lv, _)| lv_attr(group, lv))
            .unwrap_or_default(),
    )
}

/// The letters of a logical volume.
pub(crate) fn lv_attr(group: &Group, lv: LvId) -> String {
    let volume = group.vg.lv(lv);
    let flags = &volume.flags;
    let permission = match (flags.has(LvFlag::Pvmove), volume.is_writable()) {
        (true, _) => '-',
        (false, true) => 'w',
        (false, false) => 'r',
    };
    let allocation = volume.allocation.map_or('i', policy_letter);
    let allocation = if flags.has(LvFlag::Locked) {
        allocation.to_ascii_uppercase()
    } else {
        allocation
    };
    let minor = if flags.has(LvFlag::FixedMinor) {
        'm'
    } else {
        '-'
    };
    let skip = if flags.has(LvFlag::ActivationSkip) {
        'k'
    } else {
        '-'
    };
    let letters = [
        kind_letter(group, lv),
        permission,
        allocation,
        minor,
        '-',
        '-',
        target_letter(group, lv),
        zero_letter(group, lv),
        health_letter(group, lv),
        skip,
    ];
    letters.into_iter().collect()
}

fn policy_letter(policy: AllocationPolicy) -> char {
    match policy {
        AllocationPolicy::Contiguous => 'c',
        AllocationPolicy::Cling => 'l',
        AllocationPolicy::ClingByTags => 't',
        AllocationPolicy::Normal => 'n',
        AllocationPolicy::Anywhere => 'a',
    }
}

fn kind_letter(group: &Group, lv: LvId) -> char {
    let volume = group.vg.lv(lv);
    let relations = &group.relations;
    let used = relations.component_use(lv).map(|used| used.part);
    if volume.flags.has(LvFlag::Pvmove) {
        return 'p';
    }
    if relations.is_origin(lv) || relations.is_used_as(lv, Part::ThinExternalOrigin) {
        let merging = relations
            .snapshots(&group.vg, lv)
            .any(|s| s.state == SnapshotState::Merging);
        return if merging { 'O' } else { 'o' };
    }
    if is_pool_metadata(used) || volume.name().ends_with("_pmspare") {
        return 'e';
    }
    let not_synced = volume.flags.has(LvFlag::NotSynced);
    let first = match volume.first() {
        Some(SegmentType::Cache(_) | SegmentType::CachePool(_) | SegmentType::Writecache(_)) => 'C',
        Some(SegmentType::Raid(_)) if not_synced => 'R',
        Some(SegmentType::Raid(_)) => 'r',
        Some(SegmentType::Mirror(_)) if not_synced => 'M',
        Some(SegmentType::Mirror(_)) => 'm',
        Some(SegmentType::Thin(thin)) if thin.merge.is_some() => 'S',
        Some(SegmentType::Thin(_)) if relations.is_used_as(lv, Part::ThinMerge) => 'O',
        Some(SegmentType::Thin(_)) => 'V',
        Some(SegmentType::ThinPool(_)) => 't',
        Some(SegmentType::VdoPool(_)) => 'd',
        Some(SegmentType::Vdo(_)) => 'v',
        Some(SegmentType::Error | SegmentType::Zero) if used.is_none() => 'v',
        _ => '-',
    };
    match (first, used) {
        // An image that is a RAID itself (or a mirror over RAIDs) shows what it is part of.
        (_, Some(Part::MirrorImage | Part::RaidImage(_))) => 'I',
        ('-', Some(part)) => part_letter(group, lv, part),
        (letter, _) => letter,
    }
}

fn is_pool_metadata(used: Option<Part>) -> bool {
    matches!(
        used,
        Some(Part::ThinPoolMetadata | Part::CachePoolMetadata | Part::RaidMeta(_))
    )
}

fn part_letter(group: &Group, lv: LvId, part: Part) -> char {
    match part {
        Part::ThinPoolData => 'T',
        Part::CachePoolData | Part::CachePool | Part::Writecache => 'C',
        Part::VdoPoolData => 'D',
        Part::MirrorLog => 'l',
        Part::CacheOrigin | Part::WritecacheOrigin | Part::IntegrityOrigin => 'o',
        Part::SnapshotCow => match group.relations.snapshot_of_cow(&group.vg, lv) {
            Some(snapshot) if snapshot.state == SnapshotState::Merging => 'S',
            _ => 's',
        },
        _ => '-',
    }
}

/// The letter of the kernel target to which a volume belongs.
fn target_letter(group: &Group, lv: LvId) -> char {
    let relations = &group.relations;
    let used = relations.component_use(lv).map(|used| used.part);
    let of_part = match used {
        Some(
            Part::CachePoolData
            | Part::CachePoolMetadata
            | Part::CacheOrigin
            | Part::CachePool
            | Part::Writecache
            | Part::WritecacheOrigin,
        ) => 'C',
        Some(Part::RaidImage(_) | Part::RaidMeta(_)) => 'r',
        Some(Part::MirrorImage | Part::MirrorLog) => 'm',
        Some(Part::SnapshotCow) => 's',
        _ if relations.is_origin(lv) => 's',
        _ => '-',
    };
    match group.vg.lv(lv).first() {
        Some(SegmentType::Thin(_) | SegmentType::ThinPool(_)) => 't',
        Some(SegmentType::Cache(_) | SegmentType::CachePool(_) | SegmentType::Writecache(_)) => 'C',
        Some(SegmentType::Raid(_)) => 'r',
        Some(SegmentType::Mirror(_)) => 'm',
        Some(SegmentType::Unknown(_)) if of_part == '-' => 'u',
        Some(SegmentType::Vdo(_) | SegmentType::VdoPool(_)) if of_part == '-' => 'v',
        Some(SegmentType::Error | SegmentType::Zero) if used.is_none() => 'v',
        _ => of_part,
    }
}

fn zero_letter(group: &Group, lv: LvId) -> char {
    let zeroes = match group.vg.lv(lv).first() {
        Some(SegmentType::ThinPool(pool)) => pool.zero_new_blocks == ZeroNewBlocks::Yes,
        Some(SegmentType::Thin(thin)) => matches!(
            group.vg.lv(thin.pool).first(),
            Some(SegmentType::ThinPool(pool)) if pool.zero_new_blocks == ZeroNewBlocks::Yes
        ),
        _ => false,
    };
    if zeroes { 'z' } else { '-' }
}

fn health_letter(group: &Group, lv: LvId) -> char {
    if group.is_partial(lv) {
        'p'
    } else if group.vg.lv(lv).flags.has(LvFlag::WriteMostly) {
        'w'
    } else {
        '-'
    }
}

/// The letters of a volume group.
pub(crate) fn vg_attr(group: &Group) -> String {
    let vg = &group.vg;
    let flag = |flag, letter| if vg.flags.has(flag) { letter } else { '-' };
    let shared = match (vg.flags.has(VgFlag::Clustered), vg.lock_type.as_deref()) {
        (true, _) => 'c',
        (false, None | Some("none")) => '-',
        (false, Some(_)) => 's',
    };
    let letters = [
        if vg.is_writable() { 'w' } else { 'r' },
        flag(VgFlag::Resizeable, 'z'),
        flag(VgFlag::Exported, 'x'),
        if group.missing_count() > 0 { 'p' } else { '-' },
        policy_letter(vg.allocation),
        shared,
    ];
    letters.into_iter().collect()
}

/// The letters of a physical volume.
pub(crate) fn pv_attr(row: &Row<'_>) -> String {
    let duplicate = |pv: &FoundPv| pv.duplicate == Duplicate::Unchosen;
    let physical = row.physical();
    let used = physical.is_some() || row.label().is_some_and(super::pv::is_marked_used);
    let first = match physical {
        _ if row.label().is_some_and(duplicate) => 'd',
        Some((_, _, pv)) if pv.flags.has(PvFlag::Allocatable) => 'a',
        _ if used => 'u',
        _ => '-',
    };
    let exported = physical.is_some_and(|(group, _, _)| group.vg.flags.has(VgFlag::Exported));
    let missing = physical.is_some_and(|(group, pv, _)| group.is_missing(pv));
    [
        first,
        if exported { 'x' } else { '-' },
        if missing { 'm' } else { '-' },
    ]
    .into_iter()
    .collect()
}
