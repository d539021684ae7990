//! What a mirror is made of, as whoever activates it knows it.

use std::time::Duration;

use block::{Access, Info};

use super::log_image::LogImage;
use crate::{Error, Kind, Result};

/// Images of a mirror at most: what one record of images out of sync holds, and more than anybody
/// has.
pub const IMAGES_MAX: usize = 32;
/// Regions at most, so that the bits of a mirror never take more than 32 MiB. Larger regions
/// cover more.
pub const REGIONS_MAX: u64 = 1 << 28;
/// How long a region rests before its log bit is set again.
const CLEAN_AFTER: Duration = Duration::from_secs(5);

/// Where it is noted which regions are in sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogPlace {
    /// In memory only: after each start everything is copied again, unless [`Sync::Assumed`].
    Core,
    /// On this device of the home's.
    Disk(usize),
}

/// What is taken to be in sync at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sync {
    /// What the log says; without one, that none is in sync.
    #[default]
    AsLogged,
    /// Regions of which the log says nothing are in sync ("nosync": no first copy is wanted).
    Assumed,
    /// None is in sync.
    Full,
}

/// What an image holds at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Content {
    /// What it held when the mirror ran last.
    #[default]
    Kept,
    /// Nothing: it is new, and everything is to be copied to it.
    Rebuild,
}

/// Which image the mirror's description names as right, for those who read the description and not
/// the record in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Primary {
    /// There is no description, or nobody who reads it.
    #[default]
    Unrecorded,
    /// Where images may differ, this one is right; at the start it is the first one.
    Image(usize),
    /// All of them, everywhere: nothing is ever copied at a start.
    All,
    /// The first one, whatever happens: the others are copies in the making, of which nobody knows
    /// until [`super::Control::Finish`] (a move of extents).
    Source,
}

/// When copying begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CopyStart {
    /// With the mirror.
    #[default]
    AtOnce,
    /// With [`super::Control::Copy`]: until then the copies may be somebody else's.
    WhenTold,
}

/// One copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MirrorImage {
    /// Tells it from all images that this mirror ever had.
    pub id: u64,
    /// Which device of the home's it is; `None`: it is missing.
    pub device: Option<usize>,
    /// What it holds.
    pub content: Content,
}

impl MirrorImage {
    /// An image that is there and holds what it held.
    pub fn present(id: u64, device: usize) -> Self {
        Self {
            id,
            device: Some(device),
            content: Content::Kept,
        }
    }

    /// An image that is not there.
    pub fn missing(id: u64) -> Self {
        Self {
            id,
            device: None,
            content: Content::Kept,
        }
    }
}

/// A mirror to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MirrorConfig {
    /// What people know it by.
    pub name: String,
    /// Its size in bytes; images may be larger.
    pub size: u64,
    /// What one bit of the log covers, in bytes; a power of two.
    pub region_size: u64,
    /// The copies; where nothing else is known, the first one is right.
    pub images: Vec<MirrorImage>,
    /// Where the log is.
    pub log: LogPlace,
    /// What is in sync at the start.
    pub sync: Sync,
    /// What the description says; it is changed before that could do harm (see
    /// [`super::ImageOrder`]).
    pub primary: Primary,
    /// Whether it is written.
    pub access: Access,
    /// How long a region rests before its log bit is set again.
    pub clean_after: Duration,
    /// When copying begins.
    pub copy_start: CopyStart,
    /// Bytes per second that copying may take; `None`: no limit.
    pub copy_rate: Option<u64>,
}

impl MirrorConfig {
    /// A mirror that is written, of images that hold what they held, with the log in memory.
    pub fn new(
        name: impl Into<String>,
        size: u64,
        region_size: u64,
        images: Vec<MirrorImage>,
    ) -> Self {
        Self {
            name: name.into(),
            size,
            region_size,
            images,
            log: LogPlace::Core,
            sync: Sync::AsLogged,
            primary: Primary::Unrecorded,
            access: Access::ReadWrite,
            clean_after: CLEAN_AFTER,
            copy_start: CopyStart::AtOnce,
            copy_rate: None,
        }
    }

    /// How many regions there are.
    pub fn region_count(&self) -> u64 {
        self.size.div_ceil(self.region_size)
    }

    /// What the log is written in multiples of, in bytes.
    pub(super) fn log_block(&self, devices: &[Info]) -> u32 {
        match self.log {
            LogPlace::Core => 512,
            LogPlace::Disk(device) => devices[device].logical_block.max(512),
        }
    }

    /// Whether this can be served by `devices`.
    pub(super) fn validate(&self, devices: &[Info]) -> Result<()> {
        let name = &self.name;
        let refuse = |kind, what: String| Err(Error::new(kind, format!("{name}: {what}")));
        if self.images.is_empty() || self.images.len() > IMAGES_MAX {
            let what = format!(
                "a mirror has 1 to {IMAGES_MAX} images, not {}",
                self.images.len()
            );
            return refuse(Kind::InvalidLayout, what);
        }
        if !self.region_size.is_power_of_two() || self.region_size < 512 {
            let what = format!(
                "regions of {} bytes; a power of two is needed",
                self.region_size
            );
            return refuse(Kind::InvalidLayout, what);
        }
        if self.size == 0 || self.region_count() > REGIONS_MAX {
            let what = format!("{} regions; 1 to {REGIONS_MAX} work", self.region_count());
            return refuse(Kind::TooComplex, what);
        }
        if self.images.iter().all(|image| image.device.is_none()) {
            let what = "all its images are missing; bring one back".to_owned();
            return refuse(Kind::Device, what);
        }
        let mut used = Vec::new();
        let log = match self.log {
            LogPlace::Core => None,
            LogPlace::Disk(device) => Some(device),
        };
        for device in self
            .images
            .iter()
            .filter_map(|image| image.device)
            .chain(log)
        {
            if device >= devices.len() || used.contains(&device) {
                let what = format!("device {device} is not there, or used twice");
                return refuse(Kind::InvalidLayout, what);
            }
            used.push(device);
        }
        for image in self.images.iter().filter_map(|image| image.device) {
            let info = &devices[image];
            if info.size < self.size {
                let what = format!(
                    "image {} has {} bytes, not {}",
                    info.name, info.size, self.size
                );
                return refuse(Kind::DeviceTooSmall, what);
            }
            let block = u64::from(info.logical_block);
            if !self.size.is_multiple_of(block) || !self.region_size.is_multiple_of(block) {
                let what = format!("image {} has blocks of {block} bytes", info.name);
                return refuse(Kind::Misaligned, what);
            }
        }
        self.validate_log(devices)?;
        if self.access == Access::ReadWrite && used.iter().any(|one| devices[*one].read_only) {
            let what = "one of its devices is read-only; use it read-only".to_owned();
            return refuse(Kind::Device, what);
        }
        Ok(())
    }

    /// Whether the log has room for all regions.
    fn validate_log(&self, devices: &[Info]) -> Result<()> {
        let LogPlace::Disk(device) = self.log else {
            return Ok(());
        };
        let (info, count) = (&devices[device], self.region_count());
        let len = LogImage::len_for(count, self.log_block(devices));
        if info.size >= len {
            return Ok(());
        }
        let what = format!(
            "{}: the log {} has {} bytes, but {count} regions need {len}",
            self.name, info.name, info.size
        );
        Err(Error::new(Kind::DeviceTooSmall, what))
    }
}
