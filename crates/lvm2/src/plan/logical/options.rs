//! The options that several commands on logical volumes share.

use alloc::format;

use super::mirror::LEGS_MAX;
use super::raid::RaidOptions;
use crate::plan::draft::wrong;
use crate::{Extents, Result, Sectors};

/// Whether a volume may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// `-p rw`.
    ReadWrite,
    /// `-p r`.
    ReadOnly,
}

/// Whether a volume is activated when the machine starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Autoactivation {
    /// `--setautoactivation y`.
    Yes,
    /// `--setautoactivation n`.
    No,
}

/// Whether a volume is activated only when asked for twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skip {
    /// `-k y`.
    Yes,
    /// `-k n`.
    No,
}

/// Whether a new volume is activated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// `-a y`, or nothing said.
    Active,
    /// `-a n`.
    Inactive,
}

/// What happens to what a new volume's extents held before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zeroing {
    /// `-Z y -W y`: signatures are wiped and the first 4 KiB are zeros.
    ZeroAndWipe,
    /// `-Z y -W n`: the first 4 KiB are zeros.
    ZeroOnly,
    /// `-Z n`: all of it stays.
    Nothing,
}

/// How a volume is spread over physical volumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stripes {
    /// `-i`.
    pub count: usize,
    /// `-I`; without it a default.
    pub size: Option<Sectors>,
}

/// Where a mirror notes which of its regions are in sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MirrorLog {
    /// In memory: everything is synchronised again at each activation.
    Core,
    /// On a volume of its own.
    Disk,
    /// On a volume that is mirrored itself.
    Mirrored,
}

/// Whether the copies of a new mirror are made equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Initial {
    /// They are.
    Synchronise,
    /// They are taken for equal as they are: `--nosync`.
    NoSync,
}

/// What a mirror is made of beyond its extents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MirrorOptions {
    /// Copies, one more than `-m` says; two or more.
    pub legs: usize,
    /// The log.
    pub log: MirrorLog,
    /// What one note covers, where it was said: `-R`.
    pub region_size: Option<Sectors>,
    /// Whether the copies are made equal.
    pub initial: Initial,
}

impl MirrorOptions {
    /// Fails where no mirror is like this. The error is of the arguments.
    pub fn check(&self) -> Result<()> {
        if (2..=LEGS_MAX).contains(&self.legs) {
            return Ok(());
        }
        Err(wrong(format!(
            "Only up to {LEGS_MAX} mirrors in mirror supported currently."
        )))
    }
}

/// What a new volume is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewKind {
    /// Extents, one behind the other or in stripes.
    Striped(Stripes),
    /// Copies, each of which may have stripes.
    Mirror(MirrorOptions, Stripes),
    /// Copies or parity that the kernel's arrays keep.
    Raid(RaidOptions),
    /// Zeros.
    Zero,
    /// Errors.
    Error,
}

impl Stripes {
    /// No stripes.
    pub const LINEAR: Self = Self {
        count: 1,
        size: None,
    };
}

impl NewKind {
    /// Extents one behind the other.
    pub const LINEAR: Self = Self::Striped(Stripes::LINEAR);

    pub(super) fn stripes(self) -> Stripes {
        match self {
            Self::Striped(stripes) | Self::Mirror(_, stripes) => stripes,
            Self::Raid(raid) => raid.as_stripes(),
            Self::Zero | Self::Error => Stripes::LINEAR,
        }
    }

    /// Extents on physical volumes for each extent of data; as in stock, parity does not count.
    pub(super) fn copies(self) -> u64 {
        match self {
            Self::Striped(_) => 1,
            Self::Mirror(mirror, _) => mirror.legs as u64,
            Self::Raid(raid) => raid.copies() as u64,
            Self::Zero | Self::Error => 0,
        }
    }
}

/// Fewer extents than this are no volume.
pub(super) const EXTENTS_MIN: Extents = Extents(1);
