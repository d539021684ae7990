//! What can go wrong while acting on devices, in the few kinds that a caller acts on.

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

block::error_shape!(Kind, Box<dyn std::error::Error + Send + Sync>);

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
