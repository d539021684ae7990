//! What can go wrong with a device, in the few kinds that a caller acts on.

use std::fmt;

mod shape;

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

crate::error_shape!(Kind, std::io::Error);

impl Error {
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
        Self::new(kind, context).because(source)
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

    /// The errno that describes this error to a kernel or a remote client.
    pub fn errno(&self) -> i32 {
        if let Some(errno) = self.cause.as_ref().and_then(std::io::Error::raw_os_error) {
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
        let copy = |cause: &std::io::Error| match cause.raw_os_error() {
            Some(errno) => std::io::Error::from_raw_os_error(errno),
            None => std::io::Error::new(cause.kind(), cause.to_string()),
        };
        Self {
            kind: self.kind,
            context: self.context.clone(),
            cause: self.cause.as_ref().map(copy),
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
