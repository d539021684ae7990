//! Numbers that no statistic can be made of.

use std::fmt;

/// The result of a statistic.
pub type Result<T> = std::result::Result<T, Error>;

/// What a caller can tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Too few numbers for what was asked.
    TooFew,
    /// A number that cannot be one: not finite, or not above 0 where a ratio is taken.
    NotANumber,
    /// Limits that are upside down, a level outside 0 to 1.
    BadLimits,
    /// A text that is no histogram.
    Damaged,
}

/// Why there is no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: Kind,
    context: String,
}

impl Error {
    pub(super) fn new(kind: Kind, context: impl Into<String>) -> Self {
        Self {
            kind,
            context: context.into(),
        }
    }

    /// What kind of failure.
    pub fn kind(&self) -> Kind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.context)
    }
}

impl std::error::Error for Error {}
