//! Which names volume groups and logical volumes may have.
//!
//! The letters are those that are safe in paths, in device-mapper names and in the text:
//! `A-Z a-z 0-9 . _ + -`, not with a `-` at the start, and not `.` or `..`. Beyond that, names
//! that LVM2 gives to the parts of a volume are reserved: a person may not choose them, but a
//! text is full of them.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

use crate::{Error, Kind, Result};

/// The bytes of the longest name, without a final NUL.
pub const NAME_LEN_MAX: usize = 127;
/// The bytes of the longest tag.
pub const TAG_LEN_MAX: usize = 1024;

/// No name of a person's choice begins with one of these.
const RESERVED_PREFIXES: [&str; 2] = ["pvmove", "snapshot"];

/// No name of a person's choice contains one of these.
const RESERVED_PARTS: [&str; 17] = [
    "_cdata", "_cmeta", "_corig", "_cpool", "_cvol", "_imeta", "_iorig", "_mimage", "_mlog",
    "_pmspare", "_rimage", "_rmeta", "_tdata", "_tmeta", "_vdata", "_vorigin", "_wcorig",
];

/// What a name is for; the words of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameOf {
    /// A volume group.
    VolumeGroup,
    /// A logical volume.
    LogicalVolume,
}

/// Checks the letters and the length: what any text may contain.
pub fn validate(name: &str, of: NameOf) -> Result<()> {
    let what = match of {
        NameOf::VolumeGroup => "volume group",
        NameOf::LogicalVolume => "logical volume",
    };
    let problem = if name.is_empty() {
        "it is empty".to_owned()
    } else if name.len() > NAME_LEN_MAX {
        format!(
            "it has {} bytes, and {NAME_LEN_MAX} are the limit",
            name.len()
        )
    } else if name.starts_with('-') {
        "it begins with a hyphen".to_owned()
    } else if name == "." || name == ".." {
        "it means a directory".to_owned()
    } else if let Some(bad) = name.chars().find(|letter| !is_name_letter(*letter)) {
        format!("it contains {bad:?}; letters, digits and . _ + - are allowed")
    } else {
        return Ok(());
    };
    let shown: String = name.chars().take(48).collect();
    Err(Error::new(
        Kind::Model,
        format!("{shown:?} cannot be the name of a {what}: {problem}"),
    ))
}

/// Stock's sentence about a name that no volume group or logical volume can have, if it is one.
pub fn wrongness(name: &str) -> Option<String> {
    if name.is_empty() {
        Some("Name is zero length.".to_owned())
    } else if name.len() > NAME_LEN_MAX {
        Some(format!(
            "Name length exceeds maximum limit of {NAME_LEN_MAX}."
        ))
    } else if name.starts_with('-') {
        Some("Name cannot start with hyphen.".to_owned())
    } else if name == "." || name == ".." {
        Some("Name starts with . or .. and has no following character(s).".to_owned())
    } else if !name.chars().all(is_name_letter) {
        let text = "Name contains invalid character, valid set includes: [a-zA-Z0-9.-_+].";
        Some(text.to_owned())
    } else {
        None
    }
}

/// Checks a name that a person chose for a new or renamed logical volume.
pub fn validate_chosen(name: &str) -> Result<()> {
    validate(name, NameOf::LogicalVolume)?;
    match reserved(name) {
        None => Ok(()),
        Some(part) => Err(Error::new(
            Kind::Model,
            format!("the name {name:?} is reserved, for its {part:?}; choose another"),
        )),
    }
}

/// Checks a tag; the leading `@` of the command line is not part of it.
pub fn validate_tag(tag: &str) -> Result<()> {
    let problem = if tag.is_empty() {
        "it is empty"
    } else if tag.len() > TAG_LEN_MAX {
        "it is longer than 1024 bytes"
    } else if !tag.chars().all(is_tag_letter) {
        "letters, digits and . _ + - / = ! : & # are allowed"
    } else {
        return Ok(());
    };
    let shown: String = tag.chars().take(48).collect();
    Err(Error::new(
        Kind::Model,
        format!("{shown:?} cannot be a tag: {problem}"),
    ))
}

/// The part of `name` that is reserved for LVM2 itself, if there is one.
pub fn reserved(name: &str) -> Option<&'static str> {
    let prefix = RESERVED_PREFIXES
        .iter()
        .find(|prefix| name.starts_with(**prefix));
    let part = || RESERVED_PARTS.iter().find(|part| name.contains(**part));
    prefix.or_else(part).copied()
}

/// Stock's sentence about a name that is reserved, if it is.
pub fn reservation(name: &str) -> Option<String> {
    let part = reserved(name)?;
    let what = if RESERVED_PREFIXES.contains(&part) {
        "starting"
    } else {
        "including"
    };
    Some(format!(
        "Names {what} \"{part}\" are reserved. Please choose a different LV name."
    ))
}

fn is_name_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '+' | '-')
}

fn is_tag_letter(letter: char) -> bool {
    is_name_letter(letter) || matches!(letter, '/' | '=' | '!' | ':' | '&' | '#')
}

#[cfg(test)]
mod tests;
