//! What can go wrong with a device, in the few kinds that a caller acts on.

use std::fmt;

/// The result of an operation on a device.
pub type Result<T> = std::result::Result<T, Error>;

/// What a caller can tell apart and act on. Small and stable; the text is for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// The request lies (partly) outside the device, or is not aligned to its logical block.
    InvalidRequest,
    /// The device does not do this operation (a write to a read-only device, for instance).
    Unsupported,
    /// The device is read-only.
    ReadOnly,
    /// The medium failed, or the kernel reported an I/O error.
    Io,
    /// No space is left on what backs the device.
    NoSpace,
    /// The device, or the connection to it, is gone.
    Gone,
    /// A flush failed earlier: nothing is durable until the device is opened again.
    FlushFailed,
    /// The device could not be opened.
    Open,
    /// What is written on the device (a partition table, for instance) is not valid.
    Invalid,
    /// The answer did not come in time.
    TimedOut,
}

/// A failed operation: its kind, the object and what to do, and the cause if there was one.
#[derive(Debug)]
pub struct Error {
    kind: Kind,
    context: Box<str>,
    source: Option<std::io::Error>,
}

impl Error {
    /// An error of `kind`; `context` names the object and the remedy.
    pub fn new(kind: Kind, context: impl Into<String>) -> Self {
        Self {
            kind,
            context: context.into().into_boxed_str(),
            source: None,
        }
    }

    /// An error that the kernel reported while doing what `context` says.
    pub fn io(context: impl Into<String>, source: std::io::Error) -> Self {
        let kind = match source.raw_os_error() {
            Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG) => Kind::NoSpace,
            Some(libc::ENODEV | libc::ENXIO | libc::ENOTCONN | libc::ECONNRESET | libc::EPIPE) => {
                Kind::Gone
            }
            Some(libc::EROFS | libc::EBADF | libc::EPERM) => Kind::ReadOnly,
            Some(libc::EOPNOTSUPP | libc::ENOSYS | libc::ENOTTY) => Kind::Unsupported,
            Some(libc::EINVAL) => Kind::InvalidRequest,
            Some(libc::ETIMEDOUT) => Kind::TimedOut,
            _ => Kind::Io,
        };
        Self {
            kind,
            context: context.into().into_boxed_str(),
            source: Some(source),
        }
    }

    /// The same error, of another kind.
    pub fn with_kind(mut self, kind: Kind) -> Self {
        self.kind = kind;
        self
    }

    /// The same error, with `object` (what the failed thing was part of) named before it.
    pub fn within(mut self, object: impl fmt::Display) -> Self {
        self.context = format!("{object}: {}", self.context).into_boxed_str();
        self
    }

    /// What a caller may act on.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The errno that describes this error to a kernel or a remote client.
    pub fn errno(&self) -> i32 {
        if let Some(errno) = self.source.as_ref().and_then(std::io::Error::raw_os_error) {
            return errno;
        }
        match self.kind {
            Kind::InvalidRequest => libc::EINVAL,
            Kind::Unsupported => libc::EOPNOTSUPP,
            Kind::ReadOnly => libc::EROFS,
            Kind::NoSpace => libc::ENOSPC,
            Kind::Gone => libc::ENODEV,
            Kind::TimedOut => libc::ETIMEDOUT,
            Kind::Io | Kind::FlushFailed | Kind::Open | Kind::Invalid => libc::EIO,
        }
    }
}

impl Clone for Error {
    /// A copy for a second request that fails for the same reason; the cause becomes text and
    /// errno.
    fn clone(&self) -> Self {
        let source = self
            .source
            .as_ref()
            .map(|source| match source.raw_os_error() {
                Some(errno) => std::io::Error::from_raw_os_error(errno),
                None => std::io::Error::new(source.kind(), source.to_string()),
            });
        Self {
            kind: self.kind,
            context: self.context.clone(),
            source,
        }
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

impl From<Error> for std::io::Error {
    fn from(error: Error) -> Self {
        let kind = match error.kind {
            Kind::InvalidRequest => std::io::ErrorKind::InvalidInput,
            Kind::Unsupported => std::io::ErrorKind::Unsupported,
            Kind::ReadOnly => std::io::ErrorKind::ReadOnlyFilesystem,
            Kind::NoSpace => std::io::ErrorKind::StorageFull,
            Kind::Gone => std::io::ErrorKind::NotConnected,
            Kind::Invalid => std::io::ErrorKind::InvalidData,
            Kind::TimedOut => std::io::ErrorKind::TimedOut,
            Kind::Io | Kind::FlushFailed | Kind::Open => std::io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source
            .as_ref()
            .map(|source| source as &(dyn std::error::Error + 'static))
    }
}
