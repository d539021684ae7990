//! What can go wrong with a description, a result or a trace, in the few kinds a caller acts on.

use std::fmt;

/// The result of what can fail so.
pub type Result<T> = std::result::Result<T, Error>;

/// What a caller can tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The text is not of the format it should have; the message names line and field.
    Syntax,
    /// A value is missing, or nothing can have it.
    Impossible,
    /// What is asked for is something that the lab does not have.
    Unsupported,
    /// A file could not be read.
    Io,
}

/// A description that cannot be used: its kind, and where and why.
#[derive(Debug)]
pub struct Error {
    kind: Kind,
    context: Box<str>,
    source: Option<std::io::Error>,
}

impl Error {
    /// An error of `kind`; `context` says what is wrong, where, and what to do.
    pub fn new(kind: Kind, context: impl Into<String>) -> Self {
        Self {
            kind,
            context: context.into().into_boxed_str(),
            source: None,
        }
    }

    /// A file that could not be read.
    pub fn io(context: impl Into<String>, source: std::io::Error) -> Self {
        Self {
            kind: Kind::Io,
            context: context.into().into_boxed_str(),
            source: Some(source),
        }
    }

    /// What a caller matches on.
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
        self.source.as_ref().map(|source| source as _)
    }
}
