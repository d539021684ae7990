//! What can go wrong while acting on devices, in the few kinds that a caller acts on.

use std::fmt;

/// The result of everything here that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// What a caller can tell apart. Small and stable; the text is for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A name (of a device, a group or a volume) that nothing here has.
    NotFound,
    /// A name that more than one thing has; the message lists how to tell them apart.
    Ambiguous,
    /// A device could not be opened or read.
    Device,
    /// What is written on the disks contradicts itself, or is damaged.
    Damaged,
    /// Physical volumes that this needs are missing.
    Missing,
    /// It may not be touched: foreign, shared, exported, or held by somebody else.
    Refused,
    /// Ashlar does not do this yet.
    Unsupported,
    /// A configuration file or a setting in it cannot be used.
    Config,
    /// A lock is held by somebody else.
    Locked,
    /// Whoever was asked ended before it began; it may be asked again, somewhere else.
    Ended,
    /// A change that reached some places and not others; the message says which.
    Incomplete,
    /// It was asked in a way that makes no sense, or not confirmed.
    Request,
    /// There is not enough free space where it may be taken.
    Space,
}

/// A failure: its kind, a sentence that names the object and the remedy, and the cause.
#[derive(Debug)]
pub struct Error {
    kind: Kind,
    context: Box<str>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error of `kind`; `context` names the object and the remedy, without a full stop.
    pub fn new(kind: Kind, context: impl Into<String>) -> Self {
        Self {
            kind,
            context: context.into().into_boxed_str(),
            source: None,
        }
    }

    /// The same error with what caused it.
    pub fn because(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// What a caller may act on.
    pub fn kind(&self) -> Kind {
        self.kind
    }
}

/// Why there is no plan, or what the bytes on a disk are not.
impl From<lvm2::Error> for Error {
    fn from(error: lvm2::Error) -> Self {
        let kind = match error.kind {
            lvm2::Kind::Space => Kind::Space,
            lvm2::Kind::Request => Kind::Request,
            lvm2::Kind::Refused | lvm2::Kind::Limit => Kind::Refused,
            _ => Kind::Damaged,
        };
        Self::new(kind, error.context)
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
        match &self.source {
            Some(source) => Some(source.as_ref()),
            None => None,
        }
    }
}
