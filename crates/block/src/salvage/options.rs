//! How a device is salvaged, and for whom.

use super::Map;
use crate::{Error, Kind, Piece, Range};

/// Whoever takes what was read.
pub trait Rescuer {
    /// Why it ends.
    type Error: From<Error>;

    /// Takes bytes of the device, those from `start` on.
    fn store(&mut self, start: u64, piece: Piece<'_>) -> Result<(), Self::Error>;

    /// Called again and again, several times a second even while the device does not answer a
    /// large read, with what is known so far. An error ends the salvage.
    fn look(&mut self, map: &Map) -> Result<(), Self::Error>;
}

/// What happens where a read fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnError {
    /// It ends everything.
    Stop,
    /// All else is read, and what failed is tried again so many times.
    GoOn {
        /// How often blocks that failed alone are read again.
        retries: u32,
    },
}

/// Where a salvage begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// At the first byte.
    Forward,
    /// At the last byte.
    Reverse,
}

impl Direction {
    pub(super) fn turned(self) -> Self {
        match self {
            Self::Forward => Self::Reverse,
            Self::Reverse => Self::Forward,
        }
    }
}

/// How a device is salvaged.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// What happens where a read fails.
    pub on_error: OnError,
    /// Where it begins.
    pub direction: Direction,
    /// Which parts of a range are known to be lost: disjoint, in order, whole logical blocks.
    pub lost: &'a dyn Fn(Range) -> Vec<Range>,
}

impl std::fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Options({:?}, {:?})", self.on_error, self.direction)
    }
}

impl Options<'_> {
    /// Gives back an error that ends the salvage; keeps one that says that a range is unreadable.
    pub(super) fn bear(&self, error: Error) -> Result<(), Error> {
        // What does not concern the medium would make all that follows look unreadable.
        let is_medium = matches!(error.kind(), Kind::Io | Kind::TimedOut);
        if is_medium && self.on_error != OnError::Stop {
            Ok(())
        } else {
            Err(error)
        }
    }

    pub(super) fn retries(&self) -> u32 {
        match self.on_error {
            OnError::Stop => 0,
            OnError::GoOn { retries } => retries,
        }
    }
}
