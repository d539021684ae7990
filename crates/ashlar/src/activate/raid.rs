//! RAID: each image becomes a device, its metadata another one, and a machine at home serves them.
//!
//! RAID 0 keeps no state, with metadata or without: it is striped over its images. All others say
//! in superblocks what they hold. That an image cannot be had is for the array to make up for,
//! which knows what the others hold.

use std::sync::Arc;
use std::time::Duration;

use block::{Access, Device};
use dm::home::Home;
use dm::raid::{
    Array, ArrayConfig, ArrayLeg, Described, FirstSync, Geometry, Keeping, LegContent, LegReads,
    LegState,
};
use dm::table::{self, Layout, Piece};
use lvm2::model::{Area, LvFlag, LvId, Raid, RaidImage, Segment};
use lvm2::{Bytes, Extents, Uuid};

use super::activator::MissingPolicy;
use super::layout::Builder;
use super::mirror::identity;
use super::nodes::{Change, Known, Node, NodeId, NodeKind, Running, prepare};
use super::order::array_handler;
use crate::arrays::scheme;
use crate::{Error, Kind, Result};

/// How long superblocks may take to be read.
const START_MAX: Duration = Duration::from_mins(1);

/// The legs of an array, in order.
pub(super) struct ArrayLegs {
    pub(super) legs: Vec<ArrayLeg>,
    /// Data and metadata of those that are there.
    pub(super) devices: Vec<Arc<dyn Device>>,
    /// Why one is not.
    absent: Option<Error>,
}

impl Builder<'_> {
    /// A RAID segment of `len` bytes.
    pub(super) fn raid(
        &mut self,
        lv: LvId,
        segment: &Segment,
        raid: &Raid,
        len: u64,
        depth: u32,
    ) -> Result<Piece> {
        let Some(described) = self.described(lv, segment, raid)? else {
            let share = self.share(lv, segment)?;
            let chunk = raid.stripe_size.to_bytes().unwrap_or(Bytes(0));
            let areas = raid.images.iter().map(|image| Area::Lv {
                lv: image.data,
                start: Extents(0),
            });
            let areas: Vec<Area> = areas.collect();
            return self.in_turns(lv, &areas, (len, share, chunk), depth);
        };
        let id = NodeId {
            lv: self.group.model.lv(lv).uuid,
            start: segment.start,
            kind: NodeKind::Array,
        };
        let node = match self.nodes.find(id) {
            Known::Ready(node) => self.shared(lv, node, 0)?,
            known => {
                let shape = (raid, described, len);
                self.standing(|builder| builder.array(lv, (id, &known), shape, depth))?
            }
        };
        let face = node.face(0).expect("an array has one face");
        self.stands_on(&node);
        let held = face.info().size;
        assert!(held <= len, "an array is not longer than its volume");
        if held == len {
            return Ok(Piece::linear(len, face, 0));
        }
        // What a reshape adds is not there yet, and nobody has written it, or may; what it takes
        // away is lost.
        let why = match described.leaving {
            0 => "a reshape adds this, and it is not over",
            _ => "a reshape takes this away",
        };
        let other = match self.access {
            Access::ReadOnly => Piece::zero(len - held),
            Access::ReadWrite => Piece::error(len - held, why),
        };
        let pieces = vec![Piece::linear(held, face, 0), other];
        let layout = Layout::new(self.name(lv), pieces).map_err(|error| self.unfit(lv, error))?;
        Ok(Piece::of(len, table::Area::layout(layout, 0)))
    }

    /// What each image of a RAID segment has of it.
    fn share(&self, lv: LvId, segment: &Segment) -> Result<Bytes> {
        let share = segment.area_length().and_then(|share| {
            // What a reshape has set aside is in front of the data, or behind them.
            Some(Extents(share.0.checked_sub(segment.reshape.0)?))
        });
        let share = share.ok_or_else(|| self.damaged(lv, "its images do not come out even"))?;
        self.bytes(lv, share)
    }

    /// What a RAID segment says of its array; `None`: RAID 0, which is none.
    pub(super) fn described(
        &self,
        lv: LvId,
        segment: &Segment,
        raid: &Raid,
    ) -> Result<Option<Described>> {
        let Some(scheme) = scheme(raid) else {
            return Ok(None);
        };
        let in_bytes = |size: lvm2::Sectors| size.to_bytes().unwrap_or(Bytes(0)).0;
        let (share, chunk) = (self.share(lv, segment)?, in_bytes(raid.stripe_size));
        let leaving = raid.leaving(&self.group.model);
        let geometry = Geometry::new(scheme, raid.images.len() - leaving, chunk, share.0);
        let geometry = geometry.map_err(|error| self.unfit(lv, error))?;
        let region = in_bytes(raid.region_size);
        Ok(Some(Described::new(geometry, region).with_leaving(leaving)))
    }

    /// The legs of an array; what may be missing of them is noted.
    pub(super) fn array_legs(&mut self, lv: LvId, raid: &Raid, depth: u32) -> Result<ArrayLegs> {
        let (mut legs, mut devices, mut absent) = (Vec::new(), Vec::new(), None);
        for image in &raid.images {
            if self.group.model.lv(image.data).is_set_aside() {
                // It is read by itself, and gets what it misses when it is merged.
                legs.push(ArrayLeg {
                    id: identity(self.group.model.lv(image.data).uuid),
                    ..ArrayLeg::default()
                });
                continue;
            }
            let leg = self.leg(*image, &mut devices, depth);
            legs.push(leg.or_else(|error| {
                if !self.may_miss(&error) {
                    return Err(error);
                }
                self.gap(format!("{} lacks an image: {error}", self.name(lv)));
                absent = Some(error);
                Ok(ArrayLeg {
                    id: identity(self.group.model.lv(image.data).uuid),
                    content: self.content(image.data),
                    ..ArrayLeg::default()
                })
            })?);
        }
        assert_eq!(legs.len(), raid.images.len(), "each image is a leg");
        Ok(ArrayLegs {
            legs,
            devices,
            absent,
        })
    }

    /// An array that is started now, or becomes what is needed.
    fn array(
        &mut self,
        lv: LvId,
        (id, known): (NodeId, &Known),
        (raid, described, len): (&Raid, Described, u64),
        depth: u32,
    ) -> Result<Node> {
        let before = self.gaps.len();
        let ArrayLegs {
            legs,
            devices,
            absent,
        } = self.array_legs(lv, raid, depth)?;
        if let (true, Some(error)) = (devices.is_empty(), absent) {
            return Err(error);
        }
        assert!(
            devices.len() <= 2 * legs.len(),
            "a leg has two devices at most"
        );
        let config = self.array_config(lv, (raid, described, len), legs);
        let images = raid.images.iter().map(|image| {
            let image = self.group.model.lv(image.data);
            (image.uuid, image.name().to_owned())
        });
        let images: Vec<(Uuid, String)> = images.collect();
        let uuids: Vec<Uuid> = images.iter().map(|(uuid, _)| *uuid).collect();
        if let Known::Suspended(node) = known
            && let Running::Array { home, .. } = &node.machine
        {
            let name = self.name(lv);
            let change = prepare(&name, home, config, devices)?;
            // Its legs have other numbers from then on.
            let change = change.heard_by(array_handler(self.updater.clone(), name, images));
            let node = Node {
                machine: Running::Array {
                    images: uuids,
                    home: change.home().clone(),
                },
                gaps: self.gaps[before..].to_vec(),
                ..node.clone()
            };
            self.nodes.prepared(node.clone(), Change::Array(change));
            return Ok(node);
        }
        let waits = self.waits(lv, id)?;
        let home = self.array_home(lv, waits, (config, devices), images)?;
        self.tell_of_array(lv, &home)?;
        Ok(Node {
            id,
            machine: Running::Array {
                images: uuids,
                home,
            },
            below: Vec::new(),
            gaps: self.gaps[before..].to_vec(),
        })
    }

    /// Notes what people should know of an array that was started; not one that lacks legs, where
    /// it has to be whole.
    fn tell_of_array(&mut self, lv: LvId, home: &Home<Array>) -> Result<()> {
        let name = self.name(lv);
        let status = home
            .status(START_MAX)
            .map_err(|error| self.unfit(lv, error))?;
        let is_untrusted = |leg: &(LegState, u64)| matches!(leg.0, LegState::Untrusted(_));
        let remarks: Vec<String> = status
            .remarks
            .iter()
            .map(|one| format!("{name}: {one}"))
            .collect();
        if self.missing == MissingPolicy::Complete && status.legs.iter().any(is_untrusted) {
            let what = format!("{name} is not complete: {}", remarks.join("; "));
            return Err(Error::new(Kind::Missing, what));
        }
        for remark in remarks {
            self.gap(remark);
        }
        Ok(())
    }

    fn array_home(
        &self,
        lv: LvId,
        waits: bool,
        (config, devices): (ArrayConfig, Vec<Arc<dyn Device>>),
        images: Vec<(Uuid, String)>,
    ) -> Result<Home<Array>> {
        let infos: Vec<_> = devices.iter().map(|device| device.info()).collect();
        let name = self.name(lv);
        let handler = array_handler(self.updater.clone(), name.clone(), images);
        let begin = if waits {
            Home::suspended
        } else {
            Home::start_with_notices
        };
        Array::new(config, &infos)
            .and_then(|array| begin(name.clone(), array, devices, START_MAX, handler))
            .map_err(|error| {
                let what = format!("{name} cannot be used");
                Error::new(Kind::Device, what).because(error)
            })
    }

    pub(super) fn array_config(
        &self,
        lv: LvId,
        (raid, described, len): (&Raid, Described, u64),
        legs: Vec<ArrayLeg>,
    ) -> ArrayConfig {
        let name = |image: &RaidImage| self.group.model.lv(image.data).name().to_owned();
        let is_assumed = self.group.model.lv(lv).flags.has(LvFlag::NotSynced);
        ArrayConfig {
            name: self.name(lv),
            id: identity(self.group.model.lv(lv).uuid),
            size: len,
            described,
            legs,
            leg_names: raid.images.iter().map(name).collect(),
            access: self.access,
            first: if is_assumed {
                FirstSync::Assumed
            } else {
                FirstSync::Due
            },
            consistency: self.consistency,
            keeping: Keeping::Mapper,
        }
    }

    /// What an image holds before its superblock is read.
    fn content(&self, image: LvId) -> LegContent {
        if self.group.model.lv(image).flags.has(LvFlag::Rebuild) {
            LegContent::Rebuild
        } else {
            LegContent::Kept
        }
    }

    /// An image and its metadata, as devices behind those that are known.
    pub(super) fn leg(
        &mut self,
        image: RaidImage,
        devices: &mut Vec<Arc<dyn Device>>,
        depth: u32,
    ) -> Result<ArrayLeg> {
        let data = self.whole(image.data, depth)?;
        let data = self.device(image.data, &data)?;
        let meta = match image.meta {
            Some(meta) => {
                let layout = self.whole(meta, depth)?;
                Some(self.device(meta, &layout)?)
            }
            None => None,
        };
        let flags = &self.group.model.lv(image.data).flags;
        let content = self.content(image.data);
        let reads = if flags.has(LvFlag::WriteMostly) {
            LegReads::Last
        } else {
            LegReads::Equally
        };
        let mut place = |device| {
            devices.push(device);
            devices.len() - 1
        };
        Ok(ArrayLeg {
            id: identity(self.group.model.lv(image.data).uuid),
            data: Some(place(data)),
            meta: meta.map(place),
            content,
            reads,
        })
    }
}
