//! From segments to layouts: what a volume is made of, as `dm` describes it.
//!
//! Each volume becomes one layout, made once, and volumes on volumes refer to each other's. The
//! metadata is not believed: loops, areas outside of what they are on, and lengths that do not
//! come out even are errors that name the volume.

use std::collections::HashMap;
use std::sync::Arc;

use dm::table::{self, DEPTH_MAX, Layout, Piece};
use dm::volume::Access;
use lvm2::model::{Area, LvId, PvId, Segment, SegmentType, Striped};
use lvm2::plan::logical::ExtendPolicy;
use lvm2::{Bytes, Extents};

use super::access::not_yet;
use super::activator::MissingPolicy;
use super::devices::PvDevices;
use super::nodes::{Node, Nodes};
use super::order::MetadataUpdater;
use crate::lock::PvLocks;
use crate::scan::{FoundVg, Presence, Scan};
use crate::{Error, Kind, Result};

/// Makes layouts of the volumes of one group.
pub(super) struct Builder<'a> {
    pub(super) scan: &'a Scan,
    pub(super) group: &'a FoundVg,
    pub(super) devices: &'a mut PvDevices,
    pub(super) updater: Option<Arc<dyn MetadataUpdater>>,
    /// Bytes per second that mirrors and moves may copy; `None`: no limit.
    pub(super) copy_rate: Option<u64>,
    /// When stores of snapshots grow by themselves.
    pub(super) extension: ExtendPolicy,
    /// How rows of arrays stay consistent.
    pub(super) consistency: dm::raid::Consistency,
    pub(super) access: Access,
    /// Whether what is activated may be written through another volume.
    pub(super) is_live: bool,
    /// Whether nobody but this process serves the group.
    pub(super) is_ours: bool,
    pub(super) missing: MissingPolicy,
    pub(super) nodes: &'a mut Nodes,
    pub(super) made: HashMap<LvId, Progress>,
    /// What was missing and allowed to be, for people.
    pub(super) gaps: Vec<String>,
    /// What has to be held as long as it is read.
    pub(super) locks: Vec<PvLocks>,
    /// Devices with a state that it stands on.
    pub(super) running: Vec<Node>,
}

/// How far a volume is.
pub(super) enum Progress {
    Begun,
    Done(Arc<Layout>),
}

impl Builder<'_> {
    /// The layout of `lv`, `depth` volumes below the one that was asked for.
    pub(super) fn layout(&mut self, lv: LvId, depth: u32) -> Result<Arc<Layout>> {
        match self.made.get(&lv) {
            Some(Progress::Done(layout)) => return Ok(Arc::clone(layout)),
            Some(Progress::Begun) => {
                return Err(self.damaged(lv, "it stands on itself, through other volumes"));
            }
            None if depth >= DEPTH_MAX => {
                return Err(self.damaged(lv, "it stands on too many volumes"));
            }
            None => {}
        }
        self.made.insert(lv, Progress::Begun);
        let model = Arc::clone(&self.group.model);
        let volume = model.lv(lv);
        let mut pieces = Vec::new();
        let mut next = Extents(0);
        // What a reshape has set aside is not the volume's.
        let mut held = Extents(0);
        for segment in &volume.segments {
            if segment.start != next || segment.length == Extents(0) {
                return Err(self.damaged(lv, "its segments leave gaps or overlap"));
            }
            next = segment.end();
            held = Extents(held.0 + segment.usable_length().0);
            pieces.push(self.piece(lv, segment, depth)?);
        }
        let layout = Layout::new(self.name(lv), pieces).map_err(|error| self.unfit(lv, error))?;
        let size = self.bytes(lv, held)?;
        assert_eq!(layout.size(), size.0, "a volume is as long as its segments");
        self.made.insert(lv, Progress::Done(Arc::clone(&layout)));
        Ok(layout)
    }

    fn piece(&mut self, lv: LvId, segment: &Segment, depth: u32) -> Result<Piece> {
        let len = self.bytes(lv, segment.usable_length())?;
        match &segment.kind {
            SegmentType::Striped(striped) => self.striped(lv, segment, striped, len.0, depth),
            SegmentType::Mirror(mirror) => self.mirror(lv, segment, mirror, len.0, depth),
            SegmentType::Raid(raid) => self.raid(lv, segment, raid, len.0, depth),
            SegmentType::Integrity(parts) => self.integrity(lv, (segment, parts), len.0, depth),
            SegmentType::Zero => Ok(Piece::zero(len.0)),
            SegmentType::Error => Ok(Piece::error(len.0, "an error segment")),
            _ => Err(not_yet(&self.name(lv), segment.type_name())),
        }
    }

    fn striped(
        &mut self,
        lv: LvId,
        segment: &Segment,
        striped: &Striped,
        len: u64,
        depth: u32,
    ) -> Result<Piece> {
        let share = segment
            .area_length()
            .ok_or_else(|| self.damaged(lv, "its stripes do not come out even"))?;
        let share = self.bytes(lv, share)?;
        let chunk = striped.stripe_size.to_bytes().unwrap_or(Bytes(0));
        self.in_turns(lv, &striped.areas, (len, share, chunk), depth)
    }

    /// `len` bytes in turns of `chunk` bytes over areas, of which each has its `share`.
    pub(super) fn in_turns(
        &mut self,
        lv: LvId,
        areas: &[Area],
        (len, share, chunk): (u64, Bytes, Bytes),
        depth: u32,
    ) -> Result<Piece> {
        let areas = areas.iter().map(|area| self.area(lv, *area, share, depth));
        let areas = areas.collect::<Result<Vec<_>>>()?;
        Ok(Piece::in_turns(len, chunk.0, areas))
    }

    pub(super) fn area(
        &mut self,
        lv: LvId,
        area: Area,
        len: Bytes,
        depth: u32,
    ) -> Result<table::Area> {
        match area {
            Area::Pv { pv, start } => self.pv_area(lv, pv, start, len),
            Area::Lv { lv: below, start } => {
                let start = self.bytes(lv, start)?;
                let layout = self.layout(below, depth + 1)?;
                Ok(table::Area::layout(layout, start.0))
            }
        }
    }

    /// `len` bytes from extent `start` of a physical volume.
    fn pv_area(&mut self, lv: LvId, id: PvId, start: Extents, len: Bytes) -> Result<table::Area> {
        let pv = self.group.model.pv(id);
        let first = pv
            .extent_start(start, self.group.model.extent_size)
            .and_then(lvm2::Sectors::to_bytes)
            .and_then(|first| Some((first, first.checked_add(len)?)));
        let Some((first, end)) = first else {
            return Err(self.damaged(lv, "it uses extents past 2^64 bytes"));
        };
        let presence = self
            .group
            .member(id)
            .map_or(Presence::Missing, |member| member.presence);
        let reason = match presence {
            Presence::Present(index) => {
                let found = self.scan.device(self.scan.pv(index).device);
                if end <= found.size {
                    let device = self.devices.get(self.scan, index, self.access)?;
                    return Ok(table::Area::device(device, first.0));
                }
                format!("the end of {} ({} bytes)", found.name, found.size.0)
            }
            Presence::Returned(index) => {
                let name = &self.scan.device(self.scan.pv(index).device).name;
                format!(
                    "PV {} (on {name}, which was away and may be stale)",
                    pv.uuid
                )
            }
            Presence::Missing => {
                let hint = pv.device.as_deref().unwrap_or("unknown");
                format!("PV {} (last on {hint})", pv.uuid)
            }
        };
        match self.missing {
            MissingPolicy::Complete | MissingPolicy::Degraded => {
                let what = format!(
                    "{} needs {reason}, which is missing; name its device too, or use \
                     --activationmode partial to read the rest",
                    self.name(lv)
                );
                Err(Error::new(Kind::Missing, what))
            }
            MissingPolicy::Partial => {
                let gap = format!(
                    "{} lies partly on {reason}, which is missing",
                    self.name(lv)
                );
                if !self.gaps.contains(&gap) {
                    self.gaps.push(gap);
                }
                Ok(table::Area::missing(reason))
            }
        }
    }

    pub(super) fn bytes(&self, lv: LvId, extents: Extents) -> Result<Bytes> {
        let sectors = extents.to_sectors(self.group.model.extent_size);
        let bytes = sectors.and_then(lvm2::Sectors::to_bytes);
        bytes.ok_or_else(|| self.damaged(lv, "it is larger than 2^64 bytes"))
    }

    pub(super) fn name(&self, lv: LvId) -> String {
        format!("{}/{}", self.group.name, self.group.model.lv(lv).name())
    }

    pub(super) fn damaged(&self, lv: LvId, why: &str) -> Error {
        let what = format!(
            "{} cannot be used: {why}; see vgck {}, and history for an older version",
            self.name(lv),
            self.group.name
        );
        Error::new(Kind::Damaged, what)
    }

    pub(super) fn unfit(&self, lv: LvId, error: dm::Error) -> Error {
        self.damaged(lv, "its segments do not fit together")
            .because(error)
    }
}
