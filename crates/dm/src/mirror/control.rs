//! What a mirror is told, what it tells, and how it says that it is.

use std::time::Duration;

use block::Range;

use super::Mirror;
use super::config::CopyStart;
use super::health::ImageState;
use super::primary::ImageOrder;
use crate::machine;

/// An order to a mirror.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Control {
    /// Copying takes so many bytes in a second; 0 for no limit.
    Rate(u64),
    /// Copying begins, where it waits for that.
    Copy,
    /// The images are described in the order that was asked for last, durably.
    Persisted,
    /// They cannot be, and why.
    PersistFailed(String),
    /// Obeyed when all images hold the same, durably; fails where that cannot be. Nobody else may
    /// ask anything meanwhile. For [`super::Primary::Source`].
    Finish,
}

/// What a mirror tells by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The images have to be described in this order. What missed an image waits for
    /// [`Control::Persisted`] or [`Control::PersistFailed`].
    Persist(ImageOrder),
    /// These images are lost, by their places; nothing waits for anything.
    Lost(Vec<usize>),
    /// All images hold the same now, of which perhaps not all is durable. For
    /// [`super::Primary::Source`].
    Copied,
    /// These bytes are not copied, since no image can be read there; it is tried again and again.
    /// For [`super::Primary::Source`], once.
    Stuck(Range),
}

/// How a mirror is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// How its images are, in their order.
    pub images: Vec<ImageHealth>,
    /// Regions that are the same on all images.
    pub in_sync: u64,
    /// Regions in all.
    pub regions: u64,
    /// Regions that are being written, or were a moment ago.
    pub dirty: u64,
    /// Regions that are being copied.
    pub copying: u64,
    /// Where it keeps what it knows.
    pub log: LogHealth,
}

/// How an image of a mirror is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageHealth {
    /// It is used.
    Good,
    /// It is used, and reads from it have failed.
    ReadErrors,
    /// It is being copied to.
    OutOfSync,
    /// It failed, and is not used any more.
    Lost,
    /// It was not there when the mirror was started.
    Missing,
}

/// Where a mirror keeps what it knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogHealth {
    /// In memory.
    Memory,
    /// On a disk.
    Disk,
    /// On a disk that does not take it any more.
    Failed,
}

pub(super) type Event = machine::EventOf<Mirror>;
pub(super) type Step = machine::Step<Notice>;
pub(super) type Steps = machine::Steps<Notice>;

impl ImageHealth {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Good,
        Self::ReadErrors,
        Self::OutOfSync,
        Self::Lost,
        Self::Missing,
    ];

    /// The word for it, for people and programs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::ReadErrors => "read errors",
            Self::OutOfSync => "out of sync",
            Self::Lost => "lost",
            Self::Missing => "missing",
        }
    }

    /// Whether what it lacks is being written to it.
    pub fn is_filled(self) -> bool {
        self == Self::OutOfSync
    }

    /// Whether it is read and written.
    pub fn is_used(self) -> bool {
        matches!(self, Self::Good | Self::ReadErrors)
    }

    fn of(image: &ImageState) -> Self {
        match image {
            ImageState { device: None, .. } => Self::Missing,
            ImageState { lost: true, .. } => Self::Lost,
            ImageState { in_sync: false, .. } => Self::OutOfSync,
            ImageState { errors: 1.., .. } => Self::ReadErrors,
            _ => Self::Good,
        }
    }
}

impl Mirror {
    pub(super) fn health(&self) -> Status {
        Status {
            images: self.images.iter().map(ImageHealth::of).collect(),
            in_sync: self.regions.in_sync_count(),
            regions: self.regions.count(),
            dirty: self.regions.dirty_count() as u64,
            copying: self.copies.in_flight as u64,
            log: match (&self.journal.log, self.journal.failure()) {
                (None, _) => LogHealth::Memory,
                (Some(_), None) => LogHealth::Disk,
                (Some(_), Some(_)) => LogHealth::Failed,
            },
        }
    }

    /// Does what it is told.
    pub(super) fn obey(
        &mut self,
        control: Control,
        now: Duration,
        steps: &mut Steps,
    ) -> block::Result<()> {
        match control {
            Control::Rate(rate) => {
                self.config.copy_rate = Some(rate).filter(|rate| *rate > 0);
                Ok(())
            }
            Control::Copy => {
                self.config.copy_start = CopyStart::AtOnce;
                Ok(())
            }
            Control::Persisted => self.primary_persisted(Ok(()), now, steps),
            Control::PersistFailed(why) => self.primary_persisted(Err(why), now, steps),
            Control::Finish => unreachable!("it is obeyed later"),
        }
    }
}
