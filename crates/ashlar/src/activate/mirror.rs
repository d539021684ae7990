//! Mirrors: each image becomes a device, the log another one, and a machine at home serves them.
//!
//! An image that cannot be had is a missing image; that the others suffice is for the mirror to
//! say, which knows from its log what they hold. Without its log nothing is known of the images, so
//! such a mirror is read from its first leg and not written: a log that came back later would not
//! know what had changed.
//!
//! A piece of a move that is under way (`moving.rs`) is a mirror, too, of a source and a target.

use std::sync::Arc;
use std::time::Duration;

use block::Device;
use dm::home::Home;
use dm::mirror::{self, LogPlace, MirrorConfig, MirrorImage, Primary, Sync};
use dm::table::{self, Layout, Piece, Table};
use dm::volume::{Access, Volume};
use lvm2::model::{Area, LvFlag, LvId, Mirror, Segment};
use lvm2::{Bytes, Uuid};

use super::activator::MissingPolicy;
use super::layout::Builder;
use super::moving::Moving;
use super::nodes::{Change, Known, Node, NodeId, NodeKind, Running, prepare};
use super::order::handler;
use crate::{Error, Kind, Result};

/// How long a mirror's log may take to be read.
const START_MAX: Duration = Duration::from_mins(1);

/// The images of a mirror.
#[derive(Default)]
struct Images {
    legs: Vec<MirrorImage>,
    /// What they are, in the same order.
    uuids: Vec<Uuid>,
    /// Those that are there.
    devices: Vec<Arc<dyn Device>>,
}

impl Builder<'_> {
    /// A mirrored segment of `len` bytes.
    pub(super) fn mirror(
        &mut self,
        lv: LvId,
        segment: &Segment,
        mirror: &Mirror,
        len: u64,
        depth: u32,
    ) -> Result<Piece> {
        let kind = match self.moving(lv, segment, mirror)? {
            Moving::No => NodeKind::Mirror,
            Moving::Now => NodeKind::Move,
            Moving::At(area) => return Ok(Piece::of(len, self.area(lv, area, Bytes(len), depth)?)),
        };
        let id = NodeId {
            lv: self.group.model.lv(lv).uuid,
            start: segment.start,
            kind,
        };
        let known = self.nodes.find(id);
        let node = match known {
            Known::Ready(node) => self.shared(lv, node, 0)?,
            known => {
                let access = self.access;
                if kind == NodeKind::Move {
                    // Whoever opens it: what is read only is moved, too.
                    self.access = Access::ReadWrite;
                }
                let node =
                    self.standing(|builder| builder.made(lv, id, (mirror, len), &known, depth));
                self.access = access;
                node?
            }
        };
        let face = node.face(0).expect("a mirror has one face");
        self.stands_on(&node);
        Ok(Piece::linear(len, face, 0))
    }

    /// Whether what is made as `id` starts with the commit only: the volume is in use as something
    /// else, and both would write to the same images. What that knows of them, the plan went by.
    ///
    /// # Errors
    ///
    /// It is not so any more.
    pub(super) fn waits(&mut self, lv: LvId, id: NodeId) -> Result<bool> {
        let Some(other) = self.nodes.other(id) else {
            return Ok(false);
        };
        if !other.is_whole() {
            let what = format!(
                "Logical volume {} in use: not all of its images are in sync; try again when they \
                 are",
                self.name(lv)
            );
            return Err(Error::new(Kind::Refused, what));
        }
        self.nodes.wait(id);
        Ok(true)
    }

    /// Takes note of a device with a state that the volume stands on.
    pub(super) fn stands_on(&mut self, node: &Node) {
        for node in node.below.iter().cloned().chain([node.clone()]) {
            if !self.running.iter().any(|other| other.id == node.id) {
                self.running.push(node);
            }
        }
    }

    /// A device with a state that runs already, for one more user, who needs face `number`.
    pub(super) fn shared(&mut self, lv: LvId, node: Node, number: usize) -> Result<Node> {
        let face = node.face(number);
        let is_read_only = face.is_some_and(|face| face.info().read_only);
        if self.access == Access::ReadWrite && is_read_only {
            let what = format!(
                "Logical volume {} in use: it is only read; stop that before it is written",
                self.name(lv)
            );
            return Err(Error::new(Kind::Locked, what));
        }
        if let [gap, ..] = &node.gaps[..]
            && self.missing == MissingPolicy::Complete
        {
            return Err(Error::new(Kind::Missing, gap.clone()));
        }
        for gap in &node.gaps {
            self.gap(gap.clone());
        }
        Ok(node)
    }

    /// A mirror that is started now, or becomes what is needed.
    fn made(
        &mut self,
        lv: LvId,
        id: NodeId,
        (mirror, len): (&Mirror, u64),
        known: &Known,
        depth: u32,
    ) -> Result<Node> {
        let before = self.gaps.len();
        let Images {
            legs,
            uuids: images,
            mut devices,
        } = self.images(lv, (mirror, len), id.kind, depth)?;
        let mut config = self.config(lv, mirror, len, legs);
        if id.kind == NodeKind::Move {
            Self::as_move(&mut config);
        }
        if let Some(log) = mirror.log
            && let Some(device) = self.log(lv, log, depth)?
        {
            config.log = LogPlace::Disk(devices.len());
            devices.push(device);
        }
        if let Known::Suspended(node) = known
            && let Running::Mirror { home, images } = &node.machine
        {
            let change = prepare(&self.name(lv), home, config, devices)?;
            let node = Node {
                machine: Running::Mirror {
                    images: images.clone(),
                    home: change.home().clone(),
                },
                ..node.clone()
            };
            self.nodes.prepared(node.clone(), Change::Mirror(change));
            return Ok(node);
        }
        let waits = self.waits(lv, id)?;
        let home = self.home(lv, (id, waits), config, devices, images.clone())?;
        let node = Node {
            id,
            machine: Running::Mirror { images, home },
            below: Vec::new(),
            gaps: self.gaps[before..].to_vec(),
        };
        Ok(node)
    }

    /// The images of a mirror, of which some may be missing.
    fn images(
        &mut self,
        lv: LvId,
        (mirror, len): (&Mirror, u64),
        kind: NodeKind,
        depth: u32,
    ) -> Result<Images> {
        let is_move = kind == NodeKind::Move;
        let mut images = Images::default();
        let mut absent = None;
        for image in &mirror.images {
            let uuid = self.image_uuid(*image);
            // A move may go from one place of a disk to another.
            let is_known = images.uuids.contains(&uuid);
            let identity = identity(uuid).wrapping_add(u64::from(is_known));
            images.uuids.push(uuid);
            let is_target = is_move && !images.legs.is_empty();
            match self.image(lv, *image, len, depth) {
                Ok(device) => {
                    let place = images.devices.len();
                    images.legs.push(MirrorImage::present(identity, place));
                    images.devices.push(device);
                }
                // The move stands still.
                Err(error) if is_target && error.kind() == Kind::Missing => {
                    images.legs.push(MirrorImage::missing(identity));
                }
                Err(error) if self.may_miss(&error) && !is_move => {
                    self.gap(format!("{} lacks an image: {error}", self.name(lv)));
                    images.legs.push(MirrorImage::missing(identity));
                    absent = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        assert_eq!(images.legs.len(), images.uuids.len(), "each image is a leg");
        assert!(
            images.devices.len() <= images.legs.len(),
            "a leg has one device at most"
        );
        match absent {
            Some(error) if images.devices.is_empty() => Err(error),
            _ => Ok(images),
        }
    }

    /// What a mirror is made of, but for its log.
    fn config(&self, lv: LvId, mirror: &Mirror, len: u64, legs: Vec<MirrorImage>) -> MirrorConfig {
        let region = mirror.region_size.to_bytes().map_or(0, |bytes| bytes.0);
        assert_eq!(legs.len(), mirror.images.len(), "each image is a leg");
        let mut config = MirrorConfig::new(self.name(lv), len, region, legs);
        config.copy_rate = self.copy_rate;
        config.access = self.access;
        if self.group.model.lv(lv).flags.has(LvFlag::NotSynced) {
            config.sync = Sync::Assumed;
        }
        config.primary = match config.sync {
            Sync::Assumed if mirror.log.is_none() => Primary::All,
            _ => Primary::Image(0),
        };
        config
    }

    fn home(
        &self,
        lv: LvId,
        (id, waits): (NodeId, bool),
        config: MirrorConfig,
        devices: Vec<Arc<dyn Device>>,
        images: Vec<Uuid>,
    ) -> Result<Home<mirror::Mirror>> {
        let name = self.name(lv);
        let named = |uuid: Uuid| {
            let mut all = self.group.model.lvs();
            let found = all.find(|(_, volume)| volume.uuid == uuid);
            let image = found.map(|(_, volume)| volume.name().to_owned());
            (uuid, image.unwrap_or_else(|| uuid.to_string()))
        };
        let images = images.into_iter().map(named).collect();
        let handler = match id.kind {
            NodeKind::Move => self.handler_of_move(lv, id),
            _ => handler(self.updater.clone(), id.lv, name.clone(), images),
        };
        let infos: Vec<_> = devices.iter().map(|device| device.info()).collect();
        let begin = if waits {
            Home::suspended
        } else {
            Home::start_with_notices
        };
        mirror::Mirror::new(config, &infos)
            .and_then(|machine| begin(name.clone(), machine, devices, START_MAX, handler))
            .map_err(|error| {
                let what = format!("{name} cannot be used");
                Error::new(Kind::Device, what).because(error)
            })
    }

    /// What tells a leg from all that the mirror ever had.
    fn image_uuid(&self, image: Area) -> Uuid {
        match image {
            Area::Lv { lv, .. } => self.group.model.lv(lv).uuid,
            Area::Pv { pv, .. } => self.group.model.pv(pv).uuid,
        }
    }

    fn image(&mut self, lv: LvId, image: Area, len: u64, depth: u32) -> Result<Arc<dyn Device>> {
        let policy = std::mem::replace(&mut self.missing, MissingPolicy::Complete);
        let area = match image {
            Area::Lv { lv: below, start } => self.bytes(lv, start).and_then(|start| {
                let layout = self.whole(below, depth)?;
                Ok((below, table::Area::layout(layout, start.0)))
            }),
            Area::Pv { .. } => self
                .area(lv, image, Bytes(len), depth)
                .map(|area| (lv, area)),
        };
        self.missing = policy;
        let (named, area) = area?;
        let layout = Layout::new(self.name(named), vec![Piece::of(len, area)]);
        self.device(named, &layout.map_err(|error| self.unfit(lv, error))?)
    }

    /// The log's device; `None`: it is missing, and need not be there to read.
    fn log(&mut self, lv: LvId, log: LvId, depth: u32) -> Result<Option<Arc<dyn Device>>> {
        match self.whole(log, depth) {
            Ok(layout) => self.device(log, &layout).map(Some),
            Err(error) if self.may_miss(&error) && self.access == Access::ReadOnly => {
                self.gap(format!("{} lacks its log: {error}", self.name(lv)));
                Ok(None)
            }
            Err(error) if error.kind() == Kind::Missing => {
                let what = format!(
                    "{} lacks its log; bring it back, or read only",
                    self.name(lv)
                );
                Err(Error::new(Kind::Missing, what).because(error))
            }
            Err(error) => Err(error),
        }
    }

    /// The layout of a volume of which nothing is missing.
    pub(super) fn whole(&mut self, lv: LvId, depth: u32) -> Result<Arc<Layout>> {
        let policy = std::mem::replace(&mut self.missing, MissingPolicy::Complete);
        let layout = self.layout(lv, depth + 1);
        self.missing = policy;
        if layout
            .as_ref()
            .is_err_and(|error| error.kind() == Kind::Missing)
        {
            // Not a loop if it is met again.
            self.made.remove(&lv);
        }
        layout
    }

    pub(super) fn device(&self, lv: LvId, layout: &Arc<Layout>) -> Result<Arc<dyn Device>> {
        let table = Table::compile(layout).map_err(|error| self.unfit(lv, error))?;
        Ok(Arc::new(Volume::new(self.name(lv), self.access, table)))
    }

    /// Whether it may be done without what is missing.
    pub(super) fn may_miss(&self, error: &Error) -> bool {
        error.kind() == Kind::Missing && self.missing != MissingPolicy::Complete
    }

    pub(super) fn gap(&mut self, gap: String) {
        if !self.gaps.contains(&gap) {
            self.gaps.push(gap);
        }
    }
}

/// What the log calls a leg.
pub(super) fn identity(image: lvm2::Uuid) -> u64 {
    let bytes = image.as_bytes().iter();
    // FNV-1a; what matters is that it stays the same.
    bytes.fold(0xcbf2_9ce4_8422_2325, |id: u64, byte| {
        (id ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    })
}

#[cfg(test)]
mod tests;
