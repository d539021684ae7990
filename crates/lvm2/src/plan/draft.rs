//! A change in the making: the group as it was, the group as it becomes, and what was noted so far.
//!
//! Every command begins a draft, which refuses groups that must not be changed at all, changes
//! `vg`, and finishes it. Finishing finds out by comparison what the change means for tables and
//! free space, so that no command can forget it, raises the seqno, and checks the result: a plan
//! with an error in it is a bug of ours, and is not handed out.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::author::Author;
use super::change::{
    AreaChange, Before, Change, GroupChange, HeaderChange, HeaderEdit, Message, Piece,
    VolumeChange, When,
};
use super::checksums::require_checksums_kept;
use super::moving::require_undisturbed;
use crate::model::{
    AllocationMap, Certainty, DM_NAME_LEN_MAX, ExtentRange, LogicalVolume, LvFlag, LvId, PvId,
    Relations, Severity, SnapshotState, VgFlag, VolumeGroup, check, dm_name_length,
};
use crate::ondisk::PvUse;
use crate::{Bytes, Error, Extents, Kind, Result, Sectors, Uuid};

/// A change in the making.
#[derive(Debug)]
pub(super) struct Draft {
    /// The group as it was.
    pub(super) old: VolumeGroup,
    /// The group as it becomes.
    pub(super) vg: VolumeGroup,
    /// See [`Change::before`].
    pub(super) before: Vec<Before>,
    /// See [`Change::headers`].
    pub(super) headers: Vec<HeaderChange>,
    /// See [`Change::areas`].
    pub(super) areas: Vec<AreaChange>,
    /// See [`Change::released`].
    pub(super) released: Vec<Uuid>,
    /// Volumes to be activated.
    pub(super) activate: Vec<LvId>,
    /// See [`Change::messages`].
    pub(super) messages: Vec<Message>,
}

impl Draft {
    /// A change of a group that may be changed.
    pub(super) fn begin(vg: &VolumeGroup) -> Result<Self> {
        require_not_exported(vg)?;
        Self::begin_any(vg)
    }

    /// A change of a group that may be exported.
    pub(super) fn begin_any(vg: &VolumeGroup) -> Result<Self> {
        if !vg.is_writable() {
            return Err(refused(format!(
                "Volume group {} is read-only: its text has no WRITE flag",
                vg.name
            )));
        }
        let findings = check(vg);
        if let Some(finding) = findings
            .iter()
            .find(|finding| finding.severity == Severity::Error)
        {
            return Err(refused(format!(
                "Volume group {} is damaged and must not be changed: {finding}",
                vg.name
            )));
        }
        Ok(Self {
            old: vg.clone(),
            vg: vg.clone(),
            before: Vec::new(),
            headers: Vec::new(),
            areas: Vec::new(),
            released: Vec::new(),
            activate: Vec::new(),
            messages: Vec::new(),
        })
    }

    pub(super) fn note(&mut self, text: impl Into<String>) {
        self.messages.push(Message::note(text));
    }

    pub(super) fn warn(&mut self, text: impl Into<String>) {
        self.messages.push(Message::warning(text));
    }

    /// Notes that a physical volume joins the group or leaves it.
    pub(super) fn set_usage(&mut self, pv: Uuid, usage: PvUse) {
        self.headers.push(usage_change(pv, usage));
        assert_ne!(usage, PvUse::Unknown, "a header is told something");
        if usage == PvUse::Free {
            self.released.push(pv);
        }
    }

    /// The finished change.
    pub(super) fn finish(mut self, author: &Author<'_>) -> Result<Change> {
        require_names_fit(Some(&self.old), &self.vg)?;
        require_undisturbed(&self.old, &self.vg)?;
        require_checksums_kept(&self.old, &self.vg)?;
        seal(&mut self.vg, author)?;
        assert!(
            self.vg.seqno > self.old.seqno,
            "a version is newer than the one before"
        );
        let is_member = |pv: &Uuid| self.vg.pv_by_uuid(pv).is_some();
        assert!(
            !self.released.iter().any(is_member),
            "what is released is no member"
        );
        let mut volumes = volume_changes(&self.old, &self.vg);
        for id in &self.activate {
            let lv = self.vg.lv(*id);
            volumes.push(VolumeChange::Activate {
                lv: lv.uuid,
                name: lv.name().to_owned(),
            });
        }
        let change = Change {
            before: self.before,
            headers: self.headers,
            areas: self.areas,
            released: self.released,
            freed: freed(&self.old, &self.vg),
            volumes,
            groups: vec![GroupChange::Commit(self.vg)],
            deferred: Vec::new(),
            messages: self.messages,
        };
        change.check();
        Ok(change)
    }
}

/// Makes a group ready for being written: its next seqno, its author, and nothing wrong with it.
pub(super) fn seal(vg: &mut VolumeGroup, author: &Author<'_>) -> Result<()> {
    vg.seqno = vg.seqno.checked_add(1).ok_or_else(|| {
        let context = format!(
            "Volume group {} has been changed more often than its seqno can count",
            vg.name
        );
        Error::new(Kind::Limit, context)
    })?;
    lock_writes(vg);
    vg.check();
    vg.header = author.header();
    let findings = check(vg);
    match findings
        .iter()
        .find(|finding| finding.severity == Severity::Error)
    {
        None => Ok(()),
        Some(finding) => Err(Error::new(
            Kind::Model,
            format!(
                "The change would damage volume group {}: {finding}",
                vg.name
            ),
        )),
    }
}

/// Groups with an owner, and their volumes, are not to be written by releases of LVM2 that do not
/// know of owners: their permission has another name.
fn lock_writes(vg: &mut VolumeGroup) {
    let is_owned = vg.system_id.as_ref().is_some_and(|id| !id.is_empty());
    if vg.is_writable() {
        let both = (VgFlag::WriteLocked, VgFlag::Write);
        let (set, cleared) = if is_owned { both } else { (both.1, both.0) };
        vg.flags.insert(set);
        vg.flags.remove(cleared);
    }
    let writable = vg.lvs().filter(|(_, lv)| lv.is_writable());
    for id in writable.map(|(id, _)| id).collect::<Vec<_>>() {
        let both = (LvFlag::WriteLocked, LvFlag::Write);
        let (set, cleared) = if is_owned { both } else { (both.1, both.0) };
        let flags = &mut vg.lv_mut(id).flags;
        flags.insert(set);
        flags.remove(cleared);
    }
}

/// Refuses new names that are too long for device-mapper, those of hidden volumes included: nobody
/// could activate the volumes in the kernel. Names that `old` has already stay.
pub(super) fn require_names_fit(old: Option<&VolumeGroup>, new: &VolumeGroup) -> Result<()> {
    let was =
        |name: &str| old.is_some_and(|old| old.name == new.name && old.lv_by_name(name).is_some());
    for (_, lv) in new.lvs() {
        let length = dm_name_length(&new.name, lv.name());
        if length > DM_NAME_LEN_MAX && !was(lv.name()) {
            return Err(refused(format!(
                "LV name \"{}/{}\" length {length} is not supported: with its group and doubled \
                 hyphens a name may have {DM_NAME_LEN_MAX} bytes under /dev/mapper; choose a \
                 shorter one",
                new.name,
                lv.name()
            )));
        }
    }
    Ok(())
}

/// A header says that its volume is in use only while it is: set behind the commit that adds the
/// volume, cleared in front of the one that removes it.
pub(super) fn usage_change(pv: Uuid, usage: PvUse) -> HeaderChange {
    HeaderChange {
        pv,
        when: match usage {
            PvUse::Used => When::AfterCommit,
            _ => When::BeforeCommit,
        },
        edit: HeaderEdit::Usage(usage),
    }
}

/// An error of a change that must not be made.
pub(super) fn refused(context: impl Into<String>) -> Error {
    Error::new(Kind::Refused, context)
}

/// An error of arguments.
pub(super) fn wrong(context: impl Into<String>) -> Error {
    Error::new(Kind::Request, context)
}

pub(super) fn require_not_exported(vg: &VolumeGroup) -> Result<()> {
    if vg.flags.has(VgFlag::Exported) {
        return Err(refused(format!("Volume group {} is exported", vg.name)));
    }
    Ok(())
}

/// Refuses what nobody may do to a group with segments that we do not understand.
///
/// # Errors
///
/// `Refused`, with the name of the first volume that has one.
pub fn require_known_segments(vg: &VolumeGroup) -> Result<()> {
    if !vg.has_unknown_segments() {
        return Ok(());
    }
    let named = vg.lvs().find(|(_, lv)| {
        lv.segments
            .iter()
            .any(|segment| matches!(segment.kind, crate::model::SegmentType::Unknown(_)))
    });
    let name = named.map_or("", |(_, lv)| lv.name());
    Err(refused(format!(
        "Cannot change VG {} with unknown segments in it! Logical volume {name} has one of an \
         unknown type: use the version of LVM2 that made it",
        vg.name
    )))
}

/// The volume with this name, or stock's sentence.
pub(super) fn find_lv(vg: &VolumeGroup, name: &str) -> Result<LvId> {
    vg.lv_by_name(name).ok_or_else(|| {
        wrong(format!(
            "Failed to find logical volume \"{}/{name}\"",
            vg.name
        ))
    })
}

/// The name under which messages know a physical volume.
pub(super) fn pv_name(vg: &VolumeGroup, pv: PvId) -> String {
    let pv = vg.pv(pv);
    pv.device
        .clone()
        .unwrap_or_else(|| format!("with uuid {}", pv.uuid))
}

/// What happens to the volumes of a group that changes from `old` to `new`, which share their ids.
///
/// A volume that becomes the store of a snapshot, was one, or is merged from now on, is something
/// else under its name afterwards: nobody may have it meanwhile. The table of an origin says which
/// stores it fills.
pub(super) fn volume_changes(old: &VolumeGroup, new: &VolumeGroup) -> Vec<VolumeChange> {
    let mut changes = Vec::new();
    let by_uuid: BTreeMap<Uuid, (LvId, &LogicalVolume)> =
        new.lvs().map(|(id, lv)| (lv.uuid, (id, lv))).collect();
    debug_assert_eq!(by_uuid.len(), new.lv_count(), "identities differ");
    let (before, after) = (Relations::of(old), Relations::of(new));
    let is_store = |vg: &VolumeGroup, relations: &Relations, id| {
        let snapshot = relations.snapshot_of_cow(vg, id);
        snapshot.map(|snapshot| snapshot.state)
    };
    for (id, was) in old.lvs() {
        let there = by_uuid.get(&was.uuid).copied();
        let there =
            there.filter(|(there, _)| is_store(old, &before, id) == is_store(new, &after, *there));
        let Some((there, is)) = there else {
            changes.push(VolumeChange::Deactivate {
                lv: was.uuid,
                name: was.name().to_owned(),
            });
            continue;
        };
        if was.name() != is.name() {
            changes.push(VolumeChange::Rename {
                lv: was.uuid,
                from: was.name().to_owned(),
                to: is.name().to_owned(),
            });
        }
        if is_table_changed(was, is) || snapshots(old, &before, id) != snapshots(new, &after, there)
        {
            changes.push(VolumeChange::Reload {
                lv: is.uuid,
                name: is.name().to_owned(),
            });
        }
    }
    changes
}

/// The stores of a volume's snapshots, and what each does.
fn snapshots(
    vg: &VolumeGroup,
    relations: &Relations,
    origin: LvId,
) -> Vec<(Uuid, Sectors, SnapshotState)> {
    let snapshots = relations.snapshots(vg, origin);
    let mut found: Vec<_> = snapshots
        .map(|one| (vg.lv(one.cow).uuid, one.chunk_size, one.state))
        .collect();
    found.sort_by_key(|one| one.0);
    found
}

fn is_table_changed(was: &LogicalVolume, is: &LogicalVolume) -> bool {
    let is_writable = |lv: &LogicalVolume| lv.is_writable();
    // Flags of an image are arguments of its array.
    let mut told = [LvFlag::NotSynced, LvFlag::Rebuild, LvFlag::WriteMostly].into_iter();
    was.segments.len() != is.segments.len()
        || is_writable(was) != is_writable(is)
        || told.any(|flag| was.flags.has(flag) != is.flags.has(flag))
        || was.segments.iter().zip(&is.segments).any(|(was, is)| {
            (was.start, was.length, was.reshape) != (is.start, is.length, is.reshape)
                || was.kind != is.kind
        })
}

/// The pieces that `old` uses and `new` does not, on physical volumes that both have.
pub(super) fn freed(old: &VolumeGroup, new: &VolumeGroup) -> Vec<Piece> {
    let (was, is) = (AllocationMap::of(old), AllocationMap::of(new));
    let mut pieces = Vec::new();
    for (id, pv) in old.pvs() {
        let Some(same) = new.pv_by_uuid(&pv.uuid) else {
            continue;
        };
        let kept: Vec<ExtentRange> = ranges(&is, same);
        for range in ranges(&was, id) {
            for hole in subtract(range, &kept) {
                pieces.extend(piece(old, id, hole));
            }
        }
    }
    pieces
}

fn ranges(map: &AllocationMap, pv: PvId) -> Vec<ExtentRange> {
    let taken = map.allocations(pv).iter();
    taken
        .filter(|allocation| allocation.certainty == Certainty::Known)
        .map(|allocation| allocation.range)
        .collect()
}

/// What is left of `range` without `kept`, which is sorted.
fn subtract(range: ExtentRange, kept: &[ExtentRange]) -> Vec<ExtentRange> {
    let mut left = Vec::new();
    let mut next = range.start;
    for other in kept {
        if other.end() <= next || other.start >= range.end() {
            continue;
        }
        if next < other.start {
            left.push(ExtentRange::between(next, other.start));
        }
        next = next.max(other.end());
    }
    if next < range.end() {
        left.push(ExtentRange::between(next, range.end()));
    }
    let is_within = |hole: &ExtentRange| range.start <= hole.start && hole.end() <= range.end();
    assert!(left.iter().all(is_within), "what is left was there");
    left
}

/// A run of extents as a piece of its device.
pub(super) fn piece(vg: &VolumeGroup, pv: PvId, range: ExtentRange) -> Option<Piece> {
    let volume = vg.pv(pv);
    let start = volume
        .extent_start(range.start, vg.extent_size)?
        .to_bytes()?;
    let length: Bytes = range.length.to_sectors(vg.extent_size)?.to_bytes()?;
    (range.length > Extents::ZERO).then_some(Piece {
        pv: volume.uuid,
        start,
        length,
    })
}
