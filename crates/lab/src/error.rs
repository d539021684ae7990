//! What can go wrong with a description, a result or a trace, in the few kinds a caller acts on.

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

block::error_shape!(Kind, std::io::Error);

impl Error {
    /// A file that could not be read.
    pub fn io(context: impl Into<String>, source: std::io::Error) -> Self {
        Self::new(Kind::Io, context).because(source)
    }
}
