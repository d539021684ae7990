//! What was found, ready for questions: each group's text parsed once, its volumes related once.
//!
//! Reports ask the same questions for each of thousands of volumes: who uses it, is it visible,
//! is a disk of it missing, how much of a disk is taken. All answers are computed here in one
//! pass over the group, so that a report costs what it prints.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::sync::Arc;

use ashlar::scan::{PvIndex, Scan};
use lvm2::model::{Area, LvId, PvId, Relations, Segment, SegmentType, VolumeGroup};
use lvm2::{Extents, Sectors};

use super::arrays::Arrays;
use super::live::{Live, State};
use super::row::PvSegment;

/// What stands for the device of a physical volume that is missing, unless the configuration wants
/// two words.
const UNKNOWN_DEVICE: &str = "[unknown]";

/// Everything that was found.
#[derive(Debug)]
pub(crate) struct View {
    /// The devices and their labels.
    pub(crate) scan: Arc<Scan>,
    /// The volume groups, in the order in which stock lists them unsorted.
    pub(crate) groups: Vec<Group>,
    /// What stands for the device of a physical volume that is missing.
    pub(crate) unknown_device: &'static str,
}

/// A volume group and what follows from its metadata.
#[derive(Debug)]
pub(crate) struct Group {
    /// Its place in the scan.
    pub(crate) index: usize,
    /// Its metadata.
    pub(crate) vg: Arc<VolumeGroup>,
    /// Who uses whom.
    pub(crate) relations: Relations,
    /// The volumes in the order in which stock lists them unsorted.
    pub(crate) order: Vec<LvId>,
    /// Which volumes are active, if somebody was asked.
    pub(crate) live: Live,
    /// How its RAID volumes are, which nobody keeps for us.
    pub(super) arrays: Arrays,
    /// Whether names of volumes that people do not see stand in brackets.
    pub(crate) marks_hidden: bool,
    found: Vec<Option<PvIndex>>,
    usable: Vec<bool>,
    visible: Vec<bool>,
    partial: Vec<bool>,
    allocated: Vec<u64>,
    visible_count: usize,
    snapshot_count: usize,
    pv_segments: OnceCell<Vec<Vec<PvSegment>>>,
}

impl View {
    /// Relates what a scan found.
    pub(crate) fn new(scan: Scan) -> Self {
        let scan = Arc::new(scan);
        let mut groups: Vec<Group> = (0..scan.groups.len())
            .map(|index| Group::new(index, &scan))
            .collect();
        groups.sort_by_cached_key(|group| Reverse(group.first_device(&scan)));
        Self {
            scan,
            groups,
            unknown_device: UNKNOWN_DEVICE,
        }
    }

    /// The device name of a physical volume of a group, or what stands for that of a missing one.
    pub(crate) fn pv_name(&self, group: &Group, pv: PvId) -> &str {
        match group.found(pv) {
            Some(found) => &self.scan.device(self.scan.pv(found).device).name,
            None => self.unknown_device,
        }
    }
}

impl Group {
    fn new(index: usize, scan: &Arc<Scan>) -> Self {
        let vg = Arc::clone(&scan.groups[index].model);
        let relations = Relations::of(&vg);
        let mut found = vec![None; vg.pv_slots()];
        let mut usable = vec![false; vg.pv_slots()];
        for member in &scan.groups[index].members {
            found[member.id.index()] = member.presence.found();
            usable[member.id.index()] = member.presence.usable().is_some();
        }
        let mut visible = vec![false; vg.lv_slots()];
        for (id, _) in vg.lvs() {
            visible[id.index()] = relations.is_visible(&vg, id);
        }
        let visible_count = visible.iter().filter(|visible| **visible).count();
        let holders = vg
            .lvs()
            .filter(|(id, _)| lvm2::model::is_snapshot_holder(&vg, *id));
        let snapshot_count = holders.count();
        let order = stock_order(&vg);
        let partial = partial(&vg, &relations, &usable);
        let allocated = allocated(&vg);
        Self {
            index,
            vg,
            relations,
            order,
            live: Live::default(),
            arrays: Arrays::of(scan, index),
            marks_hidden: true,
            found,
            usable,
            visible,
            partial,
            allocated,
            visible_count,
            snapshot_count,
            pv_segments: OnceCell::new(),
        }
    }

    /// Its first device: by number where devices have numbers, else by place in the list. Stock
    /// lists groups in the order in which it found them, the last one first.
    fn first_device(&self, scan: &Scan) -> Option<(u32, u32, usize)> {
        let indices = self
            .found
            .iter()
            .flatten()
            .map(|found| scan.pv(*found).device);
        let places = indices.map(|index| {
            let number = scan.device(index).number;
            (
                number.map_or(0, |n| n.major),
                number.map_or(0, |n| n.minor),
                index.0,
            )
        });
        places.min()
    }

    /// Where a physical volume is; nothing if it is missing.
    pub(crate) fn found(&self, pv: PvId) -> Option<PvIndex> {
        self.found[pv.index()]
    }

    /// Whether a physical volume is not there, or came back with what may be stale.
    pub(crate) fn is_missing(&self, pv: PvId) -> bool {
        !self.usable[pv.index()]
    }

    /// How many physical volumes are missing.
    pub(crate) fn missing_count(&self) -> usize {
        self.vg.pvs().filter(|(id, _)| self.is_missing(*id)).count()
    }

    /// Whether people see a volume.
    pub(crate) fn is_visible(&self, lv: LvId) -> bool {
        self.visible[lv.index()]
    }

    /// Whether a volume is active.
    pub(crate) fn state(&self, lv: LvId) -> State<'_> {
        self.live.state(lv)
    }

    /// How many of the volumes that people see are active.
    pub(crate) fn active_count(&self) -> usize {
        let visible = self.vg.lvs().filter(|(lv, _)| self.is_visible(*lv));
        visible
            .filter(|(lv, _)| self.state(*lv).active().is_some())
            .count()
    }

    /// How many of the volumes that people see somebody uses.
    pub(crate) fn open_count(&self) -> usize {
        let visible = self.vg.lvs().filter(|(lv, _)| self.is_visible(*lv));
        let is_open = |lv: LvId| self.state(lv).active().is_some_and(|active| active.is_open);
        visible.filter(|(lv, _)| is_open(*lv)).count()
    }

    /// How many volumes people see.
    pub(crate) fn visible_count(&self) -> usize {
        self.visible_count
    }

    /// How many snapshots with a store of their own there are.
    pub(crate) fn snapshot_count(&self) -> usize {
        self.snapshot_count
    }

    /// Whether a disk of a volume is missing.
    pub(crate) fn is_partial(&self, lv: LvId) -> bool {
        self.partial[lv.index()]
    }

    /// The name of a volume, in brackets where people do not see it.
    pub(crate) fn marked_name(&self, lv: LvId) -> String {
        let name = self.vg.lv(lv).name();
        if self.is_visible(lv) || !self.marks_hidden {
            name.to_owned()
        } else {
            format!("[{name}]")
        }
    }

    /// Extents of a physical volume that are in use.
    pub(crate) fn allocated(&self, pv: PvId) -> u64 {
        self.allocated[pv.index()]
    }

    /// Extents of the group that are in use.
    pub(crate) fn allocated_total(&self) -> u64 {
        self.allocated
            .iter()
            .fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// `extents` in sectors; more than 64 bits can count becomes as much as they can.
    pub(crate) fn sectors(&self, extents: Extents) -> u64 {
        extents
            .to_sectors(self.vg.extent_size)
            .unwrap_or(Sectors(u64::MAX))
            .0
    }

    /// The size of a volume in sectors.
    pub(crate) fn lv_sectors(&self, lv: LvId) -> u64 {
        self.sectors(self.vg.lv(lv).extents())
    }

    /// The same, without what a reshape has reserved.
    pub(crate) fn usable_sectors(&self, lv: LvId) -> u64 {
        let volume = self.vg.lv(lv);
        let reserved = |segment: &Segment| match &segment.kind {
            SegmentType::Raid(raid) => {
                let data = raid.images.len().saturating_sub(raid.level.parity_count());
                segment.reshape.0.saturating_mul(data as u64)
            }
            _ => 0,
        };
        let reserved = volume
            .segments
            .iter()
            .map(reserved)
            .fold(0, u64::saturating_add);
        self.sectors(Extents(volume.extents().0.saturating_sub(reserved)))
    }

    /// The physical volume's extents in runs, in use and free, from the first to the last.
    pub(crate) fn pv_segments(&self, pv: PvId) -> &[PvSegment] {
        let all = self.pv_segments.get_or_init(|| pv_segments(&self.vg));
        &all[pv.index()]
    }
}

/// Stock keeps the order of the text, but for pools, which it needs before what stands on them.
fn stock_order(vg: &VolumeGroup) -> Vec<LvId> {
    let shown = vg
        .lvs()
        .filter(|(id, _)| !lvm2::model::is_snapshot_holder(vg, *id));
    let (mut pools, others): (Vec<LvId>, Vec<LvId>) = shown
        .map(|(id, _)| id)
        .partition(|id| matches!(vg.lv(*id).first(), Some(SegmentType::ThinPool(_))));
    pools.extend(others);
    pools
}

/// A volume is partial if an extent of it, or anything that it stands on, is on a missing disk.
fn partial(vg: &VolumeGroup, relations: &Relations, usable: &[bool]) -> Vec<bool> {
    let mut partial = vec![false; vg.lv_slots()];
    let mut pending = Vec::new();
    for (id, lv) in vg.lvs() {
        let areas = lv.segments.iter().flat_map(Segment::areas);
        let misses = |area: &Area| matches!(area, Area::Pv { pv, .. } if !usable[pv.index()]);
        if areas.into_iter().any(misses) {
            pending.push(id);
        }
    }
    while let Some(id) = pending.pop() {
        if !std::mem::replace(&mut partial[id.index()], true) {
            pending.extend(relations.used_by(id).iter().map(|used| used.by));
        }
    }
    partial
}

fn allocated(vg: &VolumeGroup) -> Vec<u64> {
    let mut allocated = vec![0_u64; vg.pv_slots()];
    for_each_pv_area(vg, |pv, _, length, _, _| {
        allocated[pv.index()] = allocated[pv.index()].saturating_add(length);
    });
    allocated
}

fn pv_segments(vg: &VolumeGroup) -> Vec<Vec<PvSegment>> {
    let mut used = vec![Vec::new(); vg.pv_slots()];
    for_each_pv_area(vg, |pv, start, length, lv, segment| {
        used[pv.index()].push(PvSegment {
            start,
            length,
            used_by: Some((lv, segment)),
        });
    });
    for (id, pv) in vg.pvs() {
        let runs = &mut used[id.index()];
        runs.sort_by_key(|run| run.start);
        let mut all = Vec::with_capacity(runs.len() * 2 + 1);
        let mut next = 0;
        for run in runs.drain(..) {
            if run.start > next {
                all.push(PvSegment {
                    start: next,
                    length: run.start - next,
                    used_by: None,
                });
            }
            next = next.max(run.start.saturating_add(run.length));
            all.push(run);
        }
        if next < pv.pe_count.0 {
            all.push(PvSegment {
                start: next,
                length: pv.pe_count.0 - next,
                used_by: None,
            });
        }
        *runs = all;
    }
    used
}

fn for_each_pv_area(vg: &VolumeGroup, mut visit: impl FnMut(PvId, u64, u64, LvId, usize)) {
    for (id, lv) in vg.lvs() {
        for (index, segment) in lv.segments.iter().enumerate() {
            let Some(length) = segment.area_length() else {
                continue;
            };
            for area in segment.areas() {
                if let Area::Pv { pv, start } = area {
                    visit(*pv, start.0, length.0, id, index);
                }
            }
        }
    }
}
