//! A mirror that gets another size while it is suspended.
//!
//! It keeps what it knows of the regions that stay. New ones are copied from an image in sync,
//! unless no first copy is wanted; so is what was the last region, where that was not whole. Before
//! anything is written the log speaks of the new number of regions: the bits first, durably, and
//! then the count, so that bits which nobody wrote never count.
//!
//! A mirror that became smaller has to go on before it becomes larger again: until then the bits of
//! what it lost count on the disk.
//!
//! Its images and its log stay what they are; they may lie elsewhere, or be larger. An image that
//! failed may be gone, and one that was away may be back, which the next start takes. The mirror
//! keeps its own order of images: whoever hears its notices knows them by that.

use std::sync::Arc;

use block::Info;

use super::Mirror;
use super::config::{LogPlace, MirrorConfig, MirrorImage, Primary, Sync};
use super::map::MirrorMap;
use super::reads::Reads;
use super::state::Claim;
use crate::{Error, Kind, Result};

impl Mirror {
    /// Whether it may become what `config` says, on `devices`, while it runs.
    pub(super) fn may_become(&self, config: &MirrorConfig, devices: &[Info]) -> Result<()> {
        config.validate(devices)?;
        let refuse = |what: &str| {
            let what = format!("{}: {what}; stop it first", config.name);
            Err(Error::new(Kind::Busy, what))
        };
        let has_log = |config: &MirrorConfig| matches!(config.log, LogPlace::Disk(_));
        if config.region_size != self.config.region_size || config.access != self.config.access {
            return refuse("its regions, or whether it is written, cannot change while it is used");
        }
        if has_log(config) != has_log(&self.config) || config.log_block(devices) != self.log_block {
            return refuse("its log cannot change while it is used");
        }
        if config.images.len() != self.images.len() {
            return refuse("its images cannot change while it is used");
        }
        for state in &self.images {
            let Some(image) = config.image(state.id) else {
                return refuse("its images cannot change while it is used");
            };
            if image.device.is_none() && state.device.is_some() && !state.lost {
                return refuse("one of its images went");
            }
        }
        Ok(())
    }

    /// Becomes what `config` says, which it may.
    pub(super) fn reload(&mut self, config: MirrorConfig) {
        assert!(self.operations.is_empty(), "it is suspended");
        for state in &mut self.images {
            let image = config.image(state.id).expect("the same images");
            // One that is back lacks what was written meanwhile: it is away until the next start.
            state.device = state.device.and(image.device);
        }
        if let LogPlace::Disk(device) = config.log {
            self.journal.device = device;
        }
        let place = |id: u64| self.images.iter().position(|state| state.id == id);
        let primary = match config.primary {
            Primary::Image(image) => place(config.images[image].id).map(Primary::Image),
            primary => Some(primary),
        };
        let old = std::mem::replace(&mut self.config.size, config.size);
        self.config.name = config.name;
        self.config.log = config.log;
        self.config.sync = config.sync;
        self.config.primary = primary.expect("the same images");
        let before = self.regions.count();
        let legs = self.images.iter().map(|image| image.device);
        let map = Arc::new(MirrorMap::new(&self.config, legs));
        let assumed = self.config.sync == Sync::Assumed;
        self.regions.renew(map, assumed);
        self.reads = Reads::default();
        if old != self.config.size {
            self.resize(old, before);
        }
    }

    /// Takes note that it had another size, in bytes, and so many regions.
    fn resize(&mut self, old: u64, before: u64) {
        let count = self.regions.count();
        let assumed = self.config.sync == Sync::Assumed;
        if let Some(log) = &mut self.journal.log {
            log.resize(count, assumed);
        }
        let grows = self.config.size > old;
        let is_cut = !old.is_multiple_of(self.config.region_size);
        if grows && is_cut && !assumed {
            let last = before - 1;
            self.regions.set_in_sync(last, false);
            self.regions.drop_idle(last);
            if let Some(log) = &mut self.journal.log {
                log.set(last, false);
            }
        }
        if self.config.access == super::Access::ReadWrite {
            self.claim = Claim::Due;
        } else if let Some(log) = &mut self.journal.log {
            log.take_changed();
        }
    }
}

impl MirrorConfig {
    fn image(&self, id: u64) -> Option<&MirrorImage> {
        self.images.iter().find(|image| image.id == id)
    }
}
