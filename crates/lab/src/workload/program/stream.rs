//! Any program, and the stream of its calls.

use super::bonnie::Bonnie;
use super::call::{Call, File};
use super::dd::Dd;
use super::iozone::IoZone;
use crate::workload::InputError;
use crate::workload::dbench::Dbench;
use crate::workload::postmark::Settings;
use crate::workload::source::Building;

/// A program's calls, in order.
pub type Stream = Box<dyn Iterator<Item = Call>>;

/// A program and its settings.
#[derive(Debug, Clone)]
pub enum Program {
    /// `PostMark` 1.53.
    PostMark(Box<Settings>),
    /// Bonnie or Bonnie++.
    Bonnie(Bonnie),
    /// `dd`.
    Dd(Dd),
    /// `IOzone`'s grid.
    IoZone(IoZone),
    /// dbench.
    Dbench(Dbench),
    /// tar or a compiler on a tree of source files.
    Building(Building),
}

impl Program {
    /// The calls of a run; the seed draws what the program draws. `PostMark` has a seed of its own,
    /// which 0 leaves as it is and others count on from.
    pub fn stream(&self, seed: u64) -> Result<Stream, InputError> {
        match self {
            Self::PostMark(settings) => {
                let mut settings = Settings::clone(settings);
                settings.seed = settings.seed.wrapping_add(seed as u32);
                super::postmark::postmark(&settings)
            }
            Self::Bonnie(bonnie) => bonnie.stream(seed),
            Self::Dd(dd) => dd.stream(),
            Self::IoZone(iozone) => iozone.stream(seed),
            Self::Dbench(dbench) => dbench.stream(seed),
            Self::Building(building) => building.stream(seed),
        }
    }

    /// What people would type to have the real program do the same, if there is a short way.
    pub fn command(&self) -> Option<String> {
        match self {
            Self::PostMark(settings) => Some(super::command::postmark(settings)),
            Self::Bonnie(bonnie) => Some(bonnie.command()),
            Self::Dd(dd) => Some(dd.command()),
            Self::IoZone(iozone) => Some(iozone.command()),
            Self::Dbench(_) | Self::Building(_) => None,
        }
    }
}

/// How bytes go between program and device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Path {
    /// Through the page cache.
    #[default]
    Buffered,
    /// Past it.
    Direct,
}

impl Path {
    /// A call that reads.
    pub(super) fn read(self, file: File, at: u64, bytes: u64) -> Call {
        match self {
            Self::Buffered => Call::Read { file, at, bytes },
            Self::Direct => Call::ReadDirect { file, at, bytes },
        }
    }

    /// A call that writes.
    pub(super) fn write(self, file: File, at: u64, bytes: u64) -> Call {
        match self {
            Self::Buffered => Call::Write { file, at, bytes },
            Self::Direct => Call::WriteDirect { file, at, bytes },
        }
    }
}

/// Whether what was written may still be in memory when it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Warmth {
    /// It may: nothing is done between writing and reading.
    #[default]
    Warm,
    /// It may not: the file system is unmounted and mounted in between, which is not measured.
    Cold,
}

impl Warmth {
    /// What is done before reading.
    pub(super) fn before_reading(self) -> Vec<Call> {
        match self {
            Self::Warm => Vec::new(),
            Self::Cold => vec![Call::Aside, Call::DropCaches],
        }
    }
}

/// Where calls of `step` bytes over `bytes` begin, and how long they are; the last may be shorter.
pub(super) fn pieces(bytes: u64, step: u64) -> impl Iterator<Item = (u64, u64)> + Clone {
    let count = bytes.div_ceil(step);
    (0..count).map(move |index| (index * step, step.min(bytes - index * step)))
}

/// A problem with a setting.
pub(super) fn refused<T>(field: &str, problem: impl Into<String>) -> Result<T, InputError> {
    Err(InputError::new(0, field, problem))
}
