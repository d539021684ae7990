//! A disk of a layout: what it is, and how one is made of it.

use block::sim::Random;

use crate::disk::capped::{Cap, Capped};
use crate::disk::drive::{Drive, Model, SharedBus};
use crate::disk::flash::{Flash, FlashProfile};
use crate::disk::link::{Linked, Network};
use crate::disk::profile::{Profile, Scheduler, WritePolicy};
use crate::disk::rotation::{Angle, CIRCLE};
use crate::disk::server::{Server, ServerProfile};
use crate::error::Result;

/// Bytes of a block.
const BLOCK: u64 = 512;

/// A disk.
#[derive(Debug, Clone, PartialEq)]
pub struct Disk {
    /// What the text calls its kind.
    pub name: String,
    /// What it is.
    pub kind: DiskKind,
    /// Whether it is at the other end of a network.
    pub link: Option<Network>,
}

/// What a disk is.
#[derive(Debug, Clone, PartialEq)]
pub enum DiskKind {
    /// A drive with a head; the overrides are part of the profile.
    Drive(Box<Profile>),
    /// A volume with limits.
    Capped(Cap),
    /// A flash disk.
    Flash(FlashProfile),
    /// A server of queueing theory.
    Server(ServerProfile),
}

/// What a text may change of a known drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Overrides {
    /// The order of service.
    pub scheduler: Option<Scheduler>,
    /// Commands that it takes.
    pub depth: Option<usize>,
    /// When it reports writes.
    pub writes: Option<WritePolicy>,
    /// Times of the arm, seeks and settling, in per cent of its own.
    pub seek_percent: Option<u32>,
    /// Blocks of a track, and so the rate of the medium, in per cent of its own; a drive with more
    /// is larger too.
    pub media_percent: Option<u32>,
}

impl Overrides {
    /// Changes a profile.
    pub fn apply(self, profile: &mut Profile) {
        if let Some(scheduler) = self.scheduler {
            profile.queue.scheduler = scheduler;
        }
        if let Some(depth) = self.depth {
            profile.queue.depth = depth;
        }
        if let Some(writes) = self.writes {
            profile.cache.write_policy = writes;
        }
        if let Some(percent) = self.seek_percent {
            let mechanics = &mut profile.mechanics;
            mechanics.seek = mechanics.seek.scaled(f64::from(percent) / 100.0);
            let settle_ns = mechanics.settle_ns * u64::from(percent) / 100;
            mechanics.settle_ns = settle_ns;
            mechanics.write_settle_ns = mechanics.write_settle_ns * i64::from(percent) / 100;
            mechanics.write_switch_ns = mechanics.write_switch_ns * i64::from(percent) / 100;
        }
        if let Some(percent) = self.media_percent {
            let times = |count: u64| count * u64::from(percent) / 100;
            for zone in &mut profile.layout.zones {
                zone.per_track = times(u64::from(zone.per_track)) as u32;
                zone.track_skew_millisectors = times(zone.track_skew_millisectors);
                zone.cylinder_skew_millisectors = times(zone.cylinder_skew_millisectors);
            }
        }
    }
}

impl Disk {
    /// Its size in bytes; fails if its profile is impossible.
    pub fn size(&self) -> Result<u64> {
        let blocks = match &self.kind {
            DiskKind::Drive(profile) => {
                profile.validate()?;
                profile.layout.clone().build()?.blocks()
            }
            DiskKind::Capped(cap) => cap.blocks,
            DiskKind::Flash(flash) => flash.blocks,
            DiskKind::Server(server) => server.blocks,
        };
        Ok(blocks * BLOCK)
    }

    /// An unused disk. The seed is the phase of the platter, and the draws of a server.
    pub fn build(&self, seed: u64, bus: Option<&SharedBus>) -> Result<Box<dyn Model>> {
        let model: Box<dyn Model> = match &self.kind {
            DiskKind::Drive(profile) => {
                let phase = Angle::new(Random::new(seed).below(CIRCLE));
                let drive = Drive::new(Profile::clone(profile), phase)?;
                Box::new(match bus {
                    Some(bus) => drive.on_bus(bus),
                    None => drive,
                })
            }
            DiskKind::Capped(cap) => Box::new(Capped::new(*cap)?),
            DiskKind::Flash(flash) => Box::new(Flash::new(*flash)?),
            DiskKind::Server(server) => Box::new(Server::new(*server, seed)?),
        };
        Ok(match self.link {
            Some(network) => Box::new(Linked::new(model, network)?),
            None => model,
        })
    }
}
