//! What can be wrong with a layout, or with exchanging one.

use std::fmt;

/// The result of building something from devices.
pub type Result<T> = std::result::Result<T, Error>;

/// What a caller can tell apart and act on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// The layout contradicts itself: lengths, chunks or slices that do not fit.
    InvalidLayout,
    /// The layout is larger or deeper than what is served.
    TooComplex,
    /// A device is smaller than what the layout uses of it.
    DeviceTooSmall,
    /// A boundary in the layout is not a multiple of a device's logical block.
    Misaligned,
    /// Somebody else is exchanging the table.
    Busy,
    /// Requests in flight did not end in time.
    TimedOut,
    /// A device failed; the cause says how.
    Device,
    /// What is written on a device contradicts itself.
    Damaged,
}

/// A failed operation: its kind, the object and what to do, and the cause if there was one.
#[derive(Debug)]
pub struct Error {
    kind: Kind,
    context: String,
    source: Option<block::Error>,
}

impl Error {
    /// An error of `kind`; `context` names the object and the remedy.
    pub fn new(kind: Kind, context: impl Into<String>) -> Self {
        Self {
            kind,
            context: context.into(),
            source: None,
        }
    }

    /// A device's failure while doing what `context` says.
    pub fn device(context: impl Into<String>, source: block::Error) -> Self {
        Self {
            kind: Kind::Device,
            context: context.into(),
            source: Some(source),
        }
    }

    /// What a caller may act on.
    pub fn kind(&self) -> Kind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Some(source) => write!(f, "{}: {source}", self.context),
            None => f.write_str(&self.context),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source
            .as_ref()
            .map(|source| source as &(dyn std::error::Error + 'static))
    }
}
