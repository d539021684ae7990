//! Undo: the volume group as an older text had it, as a new version.
//!
//! The old texts are still in the rings, but their volumes are not what they were if somebody else
//! has used their extents in between. So every version from the old one to the present one is
//! walked, and each extent of the old volumes must in each of them either belong to the same place
//! of the same volume or to nobody, and to nobody only where the volume had no such place then:
//!
//! ```text
//!     version      7 (wanted)   8           9           10 (now)
//!     pv0 0-9      a 0-9        free        a 0-9       free        may come back
//!     pv0 10-19    b 0-9        free        c 0-9       free        c has written there: refused
//!     pv0 20-29    d 0-9        d 0-9       free        free        d is elsewhere since: refused
//! ```
//!
//! What a volume has left by moving is old, and may be overwritten: what was written to the volume
//! since is where it moved to. What it has left by becoming smaller, or by its removal, is the last
//! that it held there.
//!
//! Volumes with a state of their own on disk (mirrors, RAID, snapshots, pools, caches) come back
//! only if they never changed: their logs and maps would speak of another time. Where all of them
//! that belong together were gone together, nobody changed them: a RAID with its images comes back,
//! a snapshot whose origin stayed does not. What a volume held before it became the store of a
//! snapshot is gone. A volume that has since become the first copy of a
//! mirror is still the same volume.
//!
//! Does not know what was discarded: volumes whose extents were free in between come back with a
//! warning.

use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::author::Author;
use super::change::{Change, GroupChange, Level, Message};
use super::draft::{
    freed, refused, require_known_segments, require_not_exported, seal, usage_change,
    volume_changes, wrong,
};
use super::unfinished::unmark;
use crate::model::{
    AllocationMap, Area, ExtentRange, LvId, Part, PvFlag, Relations, SegmentType, VolumeGroup,
};
use crate::ondisk::PvUse;
use crate::{Extents, Result, Sectors, Uuid};

/// Goes back to the first of `versions`, which are all versions from that one to the present one.
pub fn undo(versions: &[VolumeGroup], author: &mut Author<'_>) -> Result<Change> {
    let [target, .., now] = versions else {
        return Err(wrong("There is no older version to go back to"));
    };
    require_complete(versions)?;
    require_not_exported(now)?;
    require_not_exported(target)?;
    for vg in versions {
        require_known_segments(vg)?;
        require_comparable(target, vg)?;
    }
    require_same_state(target, &versions[1..])?;
    let wanted = Map::of(target);
    let mut unused = BTreeSet::new();
    for vg in &versions[1..] {
        compare(&wanted, vg, &mut unused)?;
    }
    let mut vg = restored(target, now)?;
    seal(&mut vg, author)?;
    assert!(
        vg.seqno > now.seqno,
        "an old version comes back as a new one"
    );
    let mut headers = Vec::new();
    let mut released = Vec::new();
    for (_, pv) in now
        .pvs()
        .filter(|(_, pv)| vg.pv_by_uuid(&pv.uuid).is_none())
    {
        headers.push(usage_change(pv.uuid, PvUse::Free));
        released.push(pv.uuid);
    }
    let mut messages = Vec::new();
    for name in unused {
        messages.push(Message::warning(format!(
            "Extents of logical volume {name} were free in between: if they were discarded, or \
             written to by another program, its data is gone."
        )));
    }
    messages.push(Message::note(format!(
        "Volume group \"{}\" is as in version {} again, as version {}",
        vg.name, target.seqno, vg.seqno
    )));
    Ok(Change {
        headers,
        released,
        volumes: volume_changes(now, &vg),
        freed: freed(now, &vg),
        messages,
        groups: vec![GroupChange::Commit(vg)],
        ..Change::default()
    })
}

/// Brings back a group that is gone, as the first of `versions` has it, which are all versions from
/// that one to the last one that is known. `unknown` more may have followed: their numbers are not
/// used again. That its physical volumes are free, and were in no other group since, is for the
/// caller to know.
pub fn revive(versions: &[VolumeGroup], unknown: u32, author: &mut Author<'_>) -> Result<Change> {
    let (mut vg, mut messages) = match versions {
        [] => return Err(wrong("There is no older version to go back to")),
        [only] => {
            require_not_exported(only)?;
            require_known_segments(only)?;
            let mut vg = only.clone();
            unmark(&mut vg);
            seal(&mut vg, author)?;
            (vg, Vec::new())
        }
        _ => {
            let change = undo(versions, author)?;
            let vg = change.vg().expect("undo commits a group").clone();
            (vg, change.messages)
        }
    };
    vg.seqno = vg.seqno.checked_add(unknown).ok_or_else(|| {
        refused(format!(
            "Volume group {} has been changed more often than its seqno can count",
            vg.name
        ))
    })?;
    messages.retain(|message| message.level == Level::Warning);
    messages.push(Message::warning(format!(
        "The physical volumes of volume group {} were free in between: if they were discarded, or \
         written to by another program, data is gone.",
        vg.name
    )));
    messages.push(Message::note(format!(
        "Volume group \"{}\" is back as in version {}, as version {}",
        vg.name, versions[0].seqno, vg.seqno
    )));
    let headers = vg.pvs().map(|(_, pv)| usage_change(pv.uuid, PvUse::Used));
    Ok(Change {
        headers: headers.collect(),
        messages,
        groups: vec![GroupChange::Commit(vg)],
        ..Change::default()
    })
}

/// A version that is not known may have used any extent.
fn require_complete(versions: &[VolumeGroup]) -> Result<()> {
    for pair in versions.windows(2) {
        if pair[0].seqno.checked_add(1) != Some(pair[1].seqno) {
            return Err(refused(format!(
                "Version {} of volume group {} is followed by {}: what happened in between is not \
                 known, so it cannot be undone",
                pair[0].seqno, pair[0].name, pair[1].seqno
            )));
        }
    }
    Ok(())
}

/// Extents mean the same in both versions, and nothing that the old one stands on has left.
fn require_comparable(target: &VolumeGroup, vg: &VolumeGroup) -> Result<()> {
    let number = vg.seqno;
    if vg.uuid != target.uuid || vg.name != target.name {
        return Err(refused(format!(
            "Volume group {} got another identity in version {number}: go back no further",
            target.name
        )));
    }
    if vg.extent_size != target.extent_size {
        return Err(refused(format!(
            "Volume group {} got extents of another size in version {number}: go back no further",
            target.name
        )));
    }
    for (_, pv) in target.pvs() {
        let Some(same) = vg.pv_by_uuid(&pv.uuid) else {
            return Err(refused(format!(
                "Physical volume {} had left volume group {} in version {number}: it may have \
                 been used elsewhere",
                pv.uuid, target.name
            )));
        };
        if vg.pv(same).pe_start != pv.pe_start {
            return Err(refused(format!(
                "The extents of physical volume {} begin elsewhere in version {number}",
                pv.uuid
            )));
        }
    }
    Ok(())
}

/// Volumes with a state of their own never changed.
fn require_same_state(target: &VolumeGroup, later: &[VolumeGroup]) -> Result<()> {
    let wanted = states(target);
    let stores = |vg: &VolumeGroup| -> BTreeSet<Uuid> {
        let relations = Relations::of(vg);
        let stores = vg.lvs().filter(|(id, _)| relations.is_cow(*id));
        stores.map(|(_, lv)| lv.uuid).collect()
    };
    let same = stores(target);
    for vg in later {
        for uuid in stores(vg).difference(&same) {
            if let Some(id) = target.lv_by_uuid(uuid) {
                return Err(refused(format!(
                    "Logical volume {} was the store of a snapshot in version {}: what it held \
                     before is overwritten",
                    target.lv(id).name(),
                    vg.seqno
                )));
            }
        }
        let found = states(vg);
        let mut present = BTreeSet::new();
        for (uuid, state) in &wanted {
            if vg.lv_by_uuid(uuid).is_some() {
                present.insert(state.together);
            }
        }
        for (uuid, state) in &wanted {
            let is_same = match found.get(uuid) {
                Some(other) => other.text == state.text,
                None => !present.contains(&state.together),
            };
            if !is_same {
                return Err(refused(format!(
                    "Logical volume {} was changed in version {}: volumes of type {} keep a state \
                     of their own and cannot be set back",
                    state.name, vg.seqno, state.kind
                )));
            }
        }
    }
    Ok(())
}

/// What must not have changed.
struct State {
    name: String,
    kind: String,
    text: String,
    /// The same number for all that stand on each other.
    together: usize,
}

fn states(vg: &VolumeGroup) -> BTreeMap<Uuid, State> {
    let is_stateful = |lv: &LvId| {
        let is_plain = |kind: &SegmentType| {
            matches!(
                kind,
                SegmentType::Striped(_) | SegmentType::Zero | SegmentType::Error
            )
        };
        !vg.lv(*lv)
            .segments
            .iter()
            .all(|segment| is_plain(&segment.kind))
    };
    let mut left: Vec<LvId> = vg.lvs().map(|(id, _)| id).filter(is_stateful).collect();
    let mut seen = BTreeSet::new();
    let mut groups: Vec<usize> = (0..vg.lv_slots()).collect();
    let mut states = BTreeMap::new();
    while let Some(id) = left.pop() {
        if !seen.insert(id) {
            continue;
        }
        let lv = vg.lv(id);
        for segment in &lv.segments {
            segment.for_each_reference(|part, _| {
                left.push(part);
                join(&mut groups, id.index(), part.index());
            });
        }
        let state = State {
            name: lv.name().to_owned(),
            kind: lv.first().map_or("", SegmentType::name).to_owned(),
            text: state_text(vg, id),
            together: id.index(),
        };
        states.insert(lv.uuid, state);
    }
    for state in states.values_mut() {
        state.together = root(&mut groups, state.together);
    }
    states
}

/// The number that stands for all that were joined with `at`.
fn root(groups: &mut [usize], mut at: usize) -> usize {
    while groups[at] != at {
        // Halves the way for who comes next.
        groups[at] = groups[groups[at]];
        at = groups[at];
    }
    at
}

fn join(groups: &mut [usize], one: usize, other: usize) {
    debug_assert!(
        one < groups.len() && other < groups.len(),
        "both are volumes"
    );
    let (one, other) = (root(groups, one), root(groups, other));
    groups[one] = other;
}

/// Everything that matters of a volume's segments, without ids.
fn state_text(vg: &VolumeGroup, id: LvId) -> String {
    let mut text = String::new();
    for segment in &vg.lv(id).segments {
        let mut parts = vec![format!(
            "{} {} {}",
            segment.type_name(),
            segment.start.0,
            segment.length.0
        )];
        for area in segment.areas() {
            parts.push(match area {
                Area::Pv { pv, start } => format!("{}:{}", vg.pv(*pv).uuid, start.0),
                Area::Lv { lv, start } => format!("{}:{}", vg.lv(*lv).uuid, start.0),
            });
        }
        segment.for_each_reference(|lv, part| parts.push(format!("{part:?} {}", vg.lv(lv).uuid)));
        parts.push(match &segment.kind {
            SegmentType::ThinPool(pool) => {
                format!(
                    "{} {} {:?}",
                    pool.transaction_id, pool.chunk_size.0, pool.messages
                )
            }
            SegmentType::Thin(thin) => format!("{} {}", thin.transaction_id, thin.device_id),
            SegmentType::Mirror(mirror) => {
                format!("{} {:?}", mirror.region_size.0, mirror.extents_moved)
            }
            SegmentType::Raid(raid) => format!("{} {}", raid.stripe_size.0, raid.region_size.0),
            SegmentType::Snapshot(snapshot) => {
                format!("{} {:?}", snapshot.chunk_size.0, snapshot.state)
            }
            _ => String::new(),
        });
        text.push_str(&parts.join(" "));
        text.push('\n');
    }
    text
}

/// Extents of one area, and which of a volume's they are.
#[derive(Debug, Clone)]
struct Piece {
    range: ExtentRange,
    /// The volume whose data this is.
    lv: Uuid,
    name: String,
    /// How many areas take turns, and how much each gets at a time.
    stripes: (u64, Sectors),
    /// The number of the first extent, in an order in which those of all areas differ.
    first: u64,
}

impl Piece {
    /// Where an extent stands in its volume.
    fn place(&self, extent: Extents) -> (Uuid, (u64, Sectors), u64) {
        let row = (extent - self.range.start).0;
        (self.lv, self.stripes, self.first + row * self.stripes.0)
    }
}

/// What stands on the physical volumes of a version.
struct Map {
    pvs: BTreeMap<Uuid, Vec<Piece>>,
}

impl Map {
    fn of(vg: &VolumeGroup) -> Self {
        let relations = Relations::of(vg);
        let map = AllocationMap::of(vg);
        let mut pvs = BTreeMap::new();
        for (id, pv) in vg.pvs() {
            let pieces = map.allocations(id).iter().map(|allocation| {
                let owner = vg.lv(owner(vg, &relations, allocation.lv));
                let segment = &vg.lv(allocation.lv).segments[allocation.segment];
                let stripes = match &segment.kind {
                    SegmentType::Striped(striped) if striped.areas.len() > 1 => {
                        (striped.areas.len() as u64, striped.stripe_size)
                    }
                    _ => (1, Sectors::ZERO),
                };
                let is_copy = !matches!(segment.kind, SegmentType::Striped(_));
                let area = if is_copy { 0 } else { allocation.area as u64 };
                Piece {
                    range: allocation.range,
                    lv: owner.uuid,
                    name: vg.lv(allocation.lv).name().to_owned(),
                    stripes,
                    first: segment.start.0 + area,
                }
            });
            pvs.insert(pv.uuid, pieces.collect());
        }
        Self { pvs }
    }
}

/// The volume whose data another holds: the first copy of a mirror holds the mirror's.
fn owner(vg: &VolumeGroup, relations: &Relations, lv: LvId) -> LvId {
    let Some(used) = relations.component_use(lv) else {
        return lv;
    };
    let areas = vg.lv(used.by).segments[used.segment].areas();
    let start = Extents::ZERO;
    let is_first = areas.first() == Some(&Area::Lv { lv, start });
    if used.part == Part::MirrorImage && is_first {
        used.by
    } else {
        lv
    }
}

/// Finds extents that belong to something else in a later version, or that their volumes have moved
/// away from, and notes volumes whose extents belong to nobody there.
fn compare(wanted: &Map, vg: &VolumeGroup, unused: &mut BTreeSet<String>) -> Result<()> {
    let found = Map::of(vg);
    for (pv, pieces) in &wanted.pvs {
        let others = found.pvs.get(pv).map_or(&[][..], Vec::as_slice);
        for piece in pieces {
            let mut covered = Vec::new();
            for other in others {
                let start = piece.range.start.max(other.range.start);
                let end = piece.range.end().min(other.range.end());
                if start >= end {
                    continue;
                }
                covered.push((start, end));
                if piece.place(start) != other.place(start) {
                    return Err(refused(format!(
                        "Extents {}-{} of physical volume {pv}, which are logical volume {}'s, \
                         were mapped to {} in version {}: its data is gone",
                        start.0,
                        end.0 - 1,
                        piece.name,
                        other.name,
                        vg.seqno
                    )));
                }
            }
            for (start, end) in left(piece.range, covered) {
                require_not_moved(piece, (start, end), *pv, vg)?;
                unused.insert(piece.name.clone());
            }
        }
    }
    Ok(())
}

/// The parts of a range that are in none of `covered`, which do not overlap.
fn left(range: ExtentRange, mut covered: Vec<(Extents, Extents)>) -> Vec<(Extents, Extents)> {
    covered.sort_unstable();
    covered.push((range.end(), range.end()));
    let mut at = range.start;
    let mut left = Vec::new();
    for (start, end) in covered {
        if at < start {
            left.push((at, start));
        }
        at = end;
    }
    let is_within = |hole: &(Extents, Extents)| range.start <= hole.0 && hole.1 <= range.end();
    assert!(left.iter().all(is_within), "what is left was there");
    left
}

/// Fails where the volume has the contents of these extents of its piece elsewhere in `vg`.
fn require_not_moved(
    piece: &Piece,
    (start, end): (Extents, Extents),
    pv: Uuid,
    vg: &VolumeGroup,
) -> Result<()> {
    let Some(id) = vg.lv_by_uuid(&piece.lv) else {
        return Ok(());
    };
    let (_, _, first) = piece.place(start);
    let (_, _, last) = piece.place(end - Extents(1));
    let is_there = vg.lv(id).segments.iter().any(|segment| {
        let holds_data = !matches!(segment.kind, SegmentType::Zero | SegmentType::Error);
        holds_data && segment.start.0 <= last && first < (segment.start + segment.length).0
    });
    if !is_there {
        return Ok(());
    }
    Err(refused(format!(
        "Logical volume {} was moved away from extents {}-{} of physical volume {pv} in version \
         {}: what was written to it since is elsewhere, and they may be overwritten; go back no \
         further than to version {3}",
        piece.name,
        start.0,
        end.0 - 1,
        vg.seqno
    )))
}

/// The old group on the physical volumes as they are now.
fn restored(target: &VolumeGroup, now: &VolumeGroup) -> Result<VolumeGroup> {
    let mut vg = target.clone();
    unmark(&mut vg);
    vg.seqno = now.seqno;
    let pvs: Vec<_> = vg.pvs().map(|(id, pv)| (id, pv.uuid)).collect();
    let map = AllocationMap::of(target);
    for (id, uuid) in pvs {
        let same = now
            .pv_by_uuid(&uuid)
            .expect("versions without it were refused");
        let present = now.pv(same);
        let ends = map
            .allocations(id)
            .iter()
            .map(|allocation| allocation.range.end());
        if ends.max().unwrap_or_default() > present.pe_count {
            return Err(refused(format!(
                "Physical volume {uuid} is smaller than in version {}",
                target.seqno
            )));
        }
        let old = vg.pv_mut(id);
        old.device.clone_from(&present.device);
        old.device_id_type.clone_from(&present.device_id_type);
        old.device_id.clone_from(&present.device_id);
        old.dev_size = present.dev_size;
        old.pe_count = present.pe_count;
        if present.flags.has(PvFlag::Missing) {
            old.flags.insert(PvFlag::Missing);
        } else {
            old.flags.remove(PvFlag::Missing);
        }
    }
    Ok(vg)
}

#[cfg(test)]
mod tests;
