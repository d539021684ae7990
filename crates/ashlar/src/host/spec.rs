//! Where devices come from: what people name with `--devices`, or all that the host has.
//!
//! `--devices` may be given more than once, and each may hold several, divided by commas (as with
//! stock); a comma that is part of a path is one if the whole is a path that exists.
//! `ASHLAR_DEVICES` holds several divided by colons. A backslash before a comma, a colon or a
//! backslash makes it part of the path.
//!
//! | spec | devices |
//! |---|---|
//! | a file | that image, and the partitions in it |
//! | a block device | that device, and its partitions |
//! | a folder | the files and block devices in it, by name; folders in it are not entered |
//! | `nbd://HOST[:PORT]/EXPORT`, `nbd+unix:///EXPORT?socket=PATH` | that export of an NBD server |
//! | the same with `nbds` | under TLS |
//!
//! In `ASHLAR_DEVICES` the colons of an NBD address divide nothing; one in the path of a socket is
//! written as `%3A`.

use std::path::{Path, PathBuf};

use nbd::client::Address;

use crate::notices;
use crate::{Error, Kind, Result};

/// The variable that is used where there is no `--devices`.
pub const DEVICES_VARIABLE: &str = "ASHLAR_DEVICES";

/// Where devices come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceSource {
    /// These, and no others.
    Listed(Vec<DeviceSpec>),
    /// The host's block devices, as its configuration allows, and these files and nodes, which
    /// a command named.
    Host(Vec<PathBuf>),
    /// The same, for a command that adds what it names to the devices file.
    Listing(Vec<PathBuf>),
}

/// How an NBD address begins.
const SCHEMES: [&str; 4] = ["nbd+unix://", "nbd://", "nbds+unix://", "nbds://"];

/// One place named by people: a file, a block device, a folder of them, or an NBD address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DeviceSpec {
    /// The path or the address as it was given; names of devices begin with it.
    pub path: PathBuf,
}

impl DeviceSource {
    /// What `--devices` (all of them, in order) and `ASHLAR_DEVICES` say together.
    pub fn choose<S: AsRef<str>>(options: &[S], variable: Option<&str>) -> Result<Self> {
        let mut texts = Vec::new();
        for option in options {
            let option = option.as_ref();
            if option.is_empty() {
                notices::tell_once("Device not found for .");
            } else if Path::new(option).exists() {
                texts.push(option.to_owned());
            } else {
                texts.extend(split(option, ','));
            }
        }
        if options.is_empty() {
            match variable.filter(|text| !text.is_empty()) {
                Some(text) => texts = split(text, ':'),
                None => return Ok(Self::Host(Vec::new())),
            }
        }
        let specs = texts.iter().map(|text| DeviceSpec::parse(text));
        Ok(Self::Listed(specs.collect::<Result<_>>()?))
    }

    /// The same, with what a command names as its devices: files and nodes at these paths.
    pub fn naming(self, paths: Vec<PathBuf>) -> Self {
        match self {
            Self::Host(_) => Self::Host(paths),
            Self::Listing(_) => Self::Listing(paths),
            Self::Listed(mut specs) => {
                specs.extend(paths.into_iter().map(|path| DeviceSpec { path }));
                Self::Listed(specs)
            }
        }
    }

    /// The same, for a command that adds what it names to the devices file.
    #[must_use]
    pub fn listing(self) -> Self {
        match self {
            Self::Host(paths) => Self::Listing(paths),
            other => other,
        }
    }

    /// The same, with the variable of this process.
    pub fn from_environment<S: AsRef<str>>(options: &[S]) -> Result<Self> {
        let variable = std::env::var_os(DEVICES_VARIABLE);
        Self::choose(
            options,
            variable
                .as_ref()
                .map(|text| text.to_string_lossy())
                .as_deref(),
        )
    }
}

impl DeviceSpec {
    /// The place that `text` names. Whether it is there is found out when it is looked at.
    pub fn parse(text: &str) -> Result<Self> {
        if text.starts_with("rbd:") {
            let what = format!(
                "cannot use {text}: rbd: is not known; connect it with nbd-client or \
                 copy it with nbdcopy, and name the device or the file"
            );
            return Err(Error::new(Kind::Unsupported, what));
        }
        if is_address(text) {
            Address::parse(text).map_err(|error| Error::new(Kind::Request, error.to_string()))?;
        }
        if text.is_empty() {
            let what = "an empty name among the devices; name a file, a block device or a \
                        directory";
            return Err(Error::new(Kind::NotFound, what));
        }
        Ok(Self { path: text.into() })
    }

    /// The NBD address that this is, if it is one.
    pub fn address(&self) -> Option<Address> {
        let text = self.path.to_str().filter(|text| is_address(text))?;
        Address::parse(text).ok()
    }
}

fn is_address(text: &str) -> bool {
    SCHEMES.iter().any(|scheme| text.starts_with(scheme))
}

/// The length of the NBD address that `text` begins with: up to the next colon that divides, or
/// 0 if it begins with none.
fn address_len(text: &str) -> usize {
    let Some(scheme) = SCHEMES.iter().find(|scheme| text.starts_with(**scheme)) else {
        return 0;
    };
    let mut at = scheme.len();
    if let Some(end) = text[at..].strip_prefix('[').and_then(|rest| rest.find(']')) {
        at += 1 + end;
    }
    let divider = |from: usize| text[from..].find(':').map_or(text.len(), |len| from + len);
    let first = divider(at);
    let after = text.get(first + 1..).unwrap_or("");
    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
    let is_port = digits > 0
        && !text[at..first].contains('/')
        && matches!(after.as_bytes().get(digits), None | Some(b'/' | b':'));
    if is_port { divider(first + 1) } else { first }
}

/// Cuts `text` at each `mark`; a backslash takes the meaning from a mark or a backslash.
fn split(text: &str, mark: char) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut chars = text.chars().peekable();
    let mut taken = 0;
    while let Some(c) = chars.next() {
        let last = parts.last_mut().expect("there is one from the start");
        if mark == ':' && last.is_empty() {
            let len = address_len(&text[taken..]);
            if len > 0 {
                last.push_str(&text[taken..taken + len]);
                chars = text[taken + len..].chars().peekable();
                taken += len;
                continue;
            }
        }
        taken += c.len_utf8();
        let escaped = (c == '\\').then(|| chars.next_if(|next| *next == mark || *next == '\\'));
        taken += usize::from(matches!(escaped, Some(Some(_))));
        if c == mark {
            parts.push(String::new());
        } else {
            let last = parts.last_mut().expect("there is one from the start");
            last.push(escaped.flatten().unwrap_or(c));
        }
    }
    debug_assert_eq!(taken, text.len(), "all of it is taken apart");
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests;
