//! What can be wrong with the bytes and values that this crate is given.
//!
//! Callers match on [`Kind`] and show [`Error`] to people. The context says what is wrong in which
//! structure at which place; the caller, who knows the device's name and the command, adds those.

use alloc::format;
use alloc::string::String;
use core::fmt;

/// The part of LVM2's formats that is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// The label sector: not where it says it is, or not a label that we know.
    Label,
    /// The physical volume header behind the label, its lists or its extension.
    PvHeader,
    /// The header of a metadata area.
    AreaHeader,
    /// Where the text of a metadata area lies.
    AreaText,
    /// A checksum does not match the bytes that it covers.
    Checksum,
    /// The grammar of a metadata text.
    Text,
    /// A UUID that is none.
    Uuid,
    /// A limit of the format, or one of ours, is exceeded.
    Limit,
    /// A text that is well-formed but does not describe a volume group.
    Model,
    /// The arguments of a change make no sense, or name what is not there.
    Request,
    /// The change must not be made to this volume group or volume.
    Refused,
    /// There are not enough free extents where they may be taken.
    Space,
}

/// An error with its kind and a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// What callers match on.
    pub kind: Kind,
    /// What failed, in which structure, at which place.
    pub context: String,
    /// The byte of a text at which it is wrong, where that is known, from 0 on.
    pub at: Option<usize>,
}

impl Error {
    /// An error of `kind`; `context` is a sentence without a full stop.
    pub fn new(kind: Kind, context: impl Into<String>) -> Self {
        Self {
            kind,
            context: context.into(),
            at: None,
        }
    }

    /// The same error seen from further out: `outer: inner`.
    pub fn within(mut self, outer: impl fmt::Display) -> Self {
        self.context = format!("{outer}: {}", self.context);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.context)
    }
}

impl core::error::Error for Error {}

/// The result of everything here that can fail.
pub type Result<T> = core::result::Result<T, Error>;
