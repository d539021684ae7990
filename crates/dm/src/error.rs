//! What can be wrong with a layout, or with exchanging one.

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

block::error_shape!(Kind, block::Error);

impl Error {
    /// A device's failure while doing what `context` says.
    pub fn device(context: impl Into<String>, source: block::Error) -> Self {
        Self::new(Kind::Device, context).because(source)
    }
}
