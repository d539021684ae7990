//! A volume that is a mirror with a log: what raid1 becomes, and was.
//!
//! Its images are the legs, and the log is on the metadata disk of the first one. It loses no
//! image here: that is explored by itself (`mirror::explore`).

use block::sim::Disk;

use super::text::{Form, Leg, META_LEN, Text};
use crate::explore::{SECTOR, Saboteur, World, infos};
use crate::mirror::{LogPlace, Mirror, MirrorConfig, MirrorImage, Primary, log_length};

/// What a log begins with that a kernel has left (see `mirror::log_image`).
const HEADER: [u32; 2] = [0x4d69_5272, 2];
/// Where it says of how many regions it knows, and where their bits begin.
const COUNT_AT: usize = 8;
const BITS_AT: usize = 2 * SECTOR as usize;

impl Text {
    pub(super) fn is_mirror(&self) -> bool {
        matches!(self.form, Form::Mirror)
    }

    /// The disk with its log.
    pub(super) fn log_disk(&self) -> usize {
        Self::meta_disk(&self.legs[0])
    }

    /// A log that says of all regions that images are the same, or is new.
    pub(super) fn log(&self, is_in_sync: bool) -> Vec<u8> {
        let regions = self.leg_size.div_ceil(self.region);
        let mut log = vec![0; META_LEN as usize];
        assert!(log_length(regions) <= META_LEN, "it has room");
        if is_in_sync {
            for (at, word) in HEADER.into_iter().enumerate() {
                log[4 * at..4 * at + 4].copy_from_slice(&word.to_le_bytes());
            }
            log[COUNT_AT..COUNT_AT + 8].copy_from_slice(&regions.to_le_bytes());
            for region in 0..regions as usize {
                log[BITS_AT + region / 8] |= 1 << (region % 8);
            }
        }
        log
    }

    /// The mirror at work on these disks.
    pub(super) fn mirror(&self, disks: Vec<Disk>) -> Result<World<Mirror>, String> {
        let image = |leg: &Leg| MirrorImage::present(100 + leg.data as u64, leg.data);
        let images = self.legs.iter().map(image).collect();
        let mut config = MirrorConfig::new("mirror", self.leg_size, self.region, images);
        (config.log, config.primary) = (LogPlace::Disk(self.log_disk()), Primary::Image(0));
        let sizes = self.reach();
        let mirror = Mirror::new(config, &infos(&disks, &sizes));
        let mirror = mirror.map_err(|error| error.to_string())?;
        Ok(World::start(mirror, (disks, sizes), Saboteur::none()))
    }
}
