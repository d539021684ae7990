//! What a new array is asked to be, and which wishes no array fulfils.
//!
//! Refusals are in stock's words; they depend on nothing but the options, so that a command can
//! refuse them before it looks at a disk.

use alloc::format;

use super::super::options::{Initial, Stripes};
use super::integrity::ChecksumOptions;
use crate::model::{RaidFamily, RaidLevel};
use crate::plan::draft::wrong;
use crate::{Result, Sectors};

/// The kernel's arrays have no more images.
const IMAGES_MAX: usize = 64;
/// Copies of RAID 10.
const RAID10_COPIES: usize = 2;

/// How fast an array may be brought in sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecoveryRates {
    /// KiB per second and image that it may always use: `--minrecoveryrate`; `None` as the kernel
    /// finds right.
    pub min: Option<u32>,
    /// KiB per second and image that it may use at most: `--maxrecoveryrate`.
    pub max: Option<u32>,
}

/// What a new array is made of beyond its extents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RaidOptions {
    /// The level with its layout.
    pub level: RaidLevel,
    /// Copies in all, one more than `-m` says; `None` as the level has them.
    pub copies: Option<usize>,
    /// `-i`: images' worth of data; `None` as few as the level takes.
    pub stripes: Option<usize>,
    /// `-I`; without it a default.
    pub stripe_size: Option<Sectors>,
    /// `-R`; without it a default.
    pub region_size: Option<Sectors>,
    /// Whether the images are made consistent.
    pub initial: Initial,
    /// How fast.
    pub rates: RecoveryRates,
    /// `--raidintegrity y`: how images have checksums.
    pub checksums: Option<ChecksumOptions>,
}

impl RaidOptions {
    /// An array of this level with everything as it is where nothing is said.
    pub fn of(level: RaidLevel) -> Self {
        Self {
            level,
            copies: None,
            stripes: None,
            stripe_size: None,
            region_size: None,
            initial: Initial::Synchronise,
            rates: RecoveryRates::default(),
            checksums: None,
        }
    }

    /// Where no stripes were asked for, as many as `disks` give
    /// (`allocation/raid_stripe_all_devices`); no fewer than the level takes.
    pub fn fill(&mut self, disks: usize) {
        if self.stripes.is_some() || self.level.family() == RaidFamily::Raid1 {
            return;
        }
        let data = self.level.data_images(disks, RAID10_COPIES as u32);
        self.stripes = Some(data.max(self.stripes_min()));
    }

    /// Fails where no array is like this. The error is of the arguments.
    pub fn check(&self) -> Result<()> {
        let (name, family) = (self.level.name(), self.level.family());
        if let Some(checksums) = self.checksums {
            checksums.check()?;
            if family == RaidFamily::Raid0 {
                return Err(wrong("Integrity can only be added to raid1,4,5,6,10."));
            }
        }
        match (family, self.copies, self.stripes) {
            (RaidFamily::Raid1, _, Some(stripes)) if stripes > 1 => Err(wrong(format!(
                "Stripes argument cannot be used with segment type, {name}"
            ))),
            (RaidFamily::Raid1 | RaidFamily::Raid10, Some(0 | 1), _) => Err(wrong(format!(
                "--mirrors must be at least 1 with segment type {name}."
            ))),
            (RaidFamily::Raid1, Some(copies), _) if copies > IMAGES_MAX => Err(wrong(format!(
                "Only up to {IMAGES_MAX} mirrors in {name} supported currently."
            ))),
            (RaidFamily::Raid1, ..) => Ok(()),
            (RaidFamily::Raid10, Some(copies), _) if copies != RAID10_COPIES => Err(wrong(
                "RAID10 currently supports only 2-way mirroring (i.e. '-m 1')",
            )),
            (RaidFamily::Raid10, ..) => self.check_stripes(),
            (_, Some(copies), _) if copies > 1 => Err(wrong(format!(
                "Mirror argument cannot be used with segment type, {name}"
            ))),
            (RaidFamily::Raid6, ..) if self.initial == Initial::NoSync => {
                Err(wrong("nosync option prohibited on RAID6."))
            }
            _ => self.check_stripes(),
        }
    }

    fn check_stripes(&self) -> Result<()> {
        let (name, min) = (self.level.name(), self.stripes_min());
        let max = match self.level.family() {
            RaidFamily::Raid10 => IMAGES_MAX / RAID10_COPIES,
            _ => IMAGES_MAX - self.level.parity_count(),
        };
        match self.stripes {
            Some(stripes) if stripes < min => Err(wrong(format!(
                "Minimum of {min} stripes required for {name}."
            ))),
            Some(stripes) if stripes > max => Err(wrong(format!(
                "Only up to {max} stripes in {name} supported currently."
            ))),
            _ => Ok(()),
        }
    }

    fn stripes_min(&self) -> usize {
        match self.level.family() {
            RaidFamily::Raid1 => 1,
            RaidFamily::Raid6 => 3,
            _ => 2,
        }
    }

    /// Images' worth of data.
    pub fn data(&self) -> usize {
        match self.level.family() {
            RaidFamily::Raid1 => 1,
            _ => self.stripes.unwrap_or(self.stripes_min()),
        }
    }

    /// The same with the size of a chunk.
    pub(in crate::plan::logical) fn as_stripes(&self) -> Stripes {
        Stripes {
            count: self.data(),
            size: self.stripe_size,
        }
    }

    /// How often each byte is there.
    pub fn copies(&self) -> usize {
        match self.level.family() {
            RaidFamily::Raid1 => self.copies.unwrap_or(2),
            RaidFamily::Raid10 => RAID10_COPIES,
            _ => 1,
        }
    }

    /// How many images there are.
    pub fn images(&self) -> usize {
        let images = self.data() * self.copies() + self.level.parity_count();
        assert!(images > 1, "an array has several images");
        images
    }
}
