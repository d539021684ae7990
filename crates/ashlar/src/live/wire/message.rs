//! What can be said: requests of a client, replies of an owner.
//!
//! The types are the lines: what `serde` makes of them stands behind the version of the protocol.
//! `member` holds what is written otherwise than it is kept here.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};

use super::{member, status};
use crate::activate::MissingPolicy;
use crate::live::VolumeStatus;
use crate::{Error, Kind, Result};

/// The version of the protocol. What is added without harm to others does not change it.
const VERSION: u64 = 1;
/// A line is not longer, in bytes: a command line with a few hundred names.
pub const LINE_MAX: usize = 64 << 10;
/// Longer output is cut into several lines, in bytes; escapes make it six times as long at most.
const TEXT_MAX: usize = 8 << 10;

/// What a client says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "lowercase")]
pub enum Request {
    /// Run this command, whose relative paths are meant from this folder.
    Run {
        /// The command's name, and the words behind it.
        words: Vec<String>,
        /// The folder, absolute.
        #[serde(deserialize_with = "absolute")]
        folder: String,
    },
    /// Serve these volumes through the sockets or files that come along, until the connection
    /// ends.
    Export(Export),
    /// Let nobody else use this volume, until the connection ends.
    Alone {
        /// Its name, without the group.
        volume: String,
    },
    /// Make this volume inactive, unless somebody uses it.
    Inactive {
        /// Its name, without the group.
        volume: String,
    },
    /// Say what is served.
    Status,
    /// Stop serving, as a signal would do.
    Stop,
    /// The answer to a question.
    Answer(#[serde(with = "member::yes")] bool),
    /// What was said last was taken note of.
    Seen,
    /// The end of what was asked for.
    End,
}

/// Volumes to be served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Export {
    /// Their names, without the group.
    pub volumes: Vec<String>,
    /// Whether they are not written.
    #[serde(rename = "read_only")]
    pub is_read_only: bool,
    /// What may be missing of them; a request that does not say means degraded.
    #[serde(default, with = "member::missing")]
    pub missing: MissingPolicy,
    /// Through what.
    pub way: Way,
}

/// Through what volumes are served; it comes along with the request as open files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// Sockets on which NBD clients come in.
    Nbd,
    /// The kernel's end of a file, mounted with FUSE.
    Fuse,
}

/// What an owner says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "lowercase")]
pub enum Reply {
    /// The first line of a connection.
    Hello {
        /// The owner's process number.
        pid: u32,
        /// The name of its group.
        group: String,
        /// The group's UUID.
        uuid: String,
    },
    /// Something for standard output.
    Out(#[serde(with = "member::text")] String),
    /// Something for standard error.
    Err(#[serde(with = "member::text")] String),
    /// A question; an [`Request::Answer`] is waited for.
    Ask(#[serde(with = "member::text")] String),
    /// Nobody else uses the volume from now on.
    Alone,
    /// These are served now.
    Exported(#[serde(with = "member::volumes")] Vec<Exported>),
    /// A volume has another size or name now; a [`Request::Seen`] is waited for.
    Changed {
        /// The volume.
        volume: Exported,
    },
    /// What is served. Many volumes come on several lines.
    Status {
        /// The volumes of this line.
        volumes: Vec<VolumeStatus>,
        /// Whether another line follows.
        #[serde(default, skip_serializing_if = "is_last")]
        more: bool,
    },
    /// The owner ends, and did not begin what was asked last.
    Ending,
    /// The command has ended with this status; or what was asked for has ended.
    End(#[serde(with = "member::status")] u8),
    /// What was said could not be done, and why.
    Error(#[serde(with = "member::text")] String),
}

/// A volume that is served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exported {
    /// Its name: `vg0/data`.
    pub name: String,
    /// Its size, in bytes.
    pub size: u64,
    /// Its logical block, in bytes.
    pub block: u32,
    /// Whether it takes no writes.
    #[serde(rename = "read_only")]
    pub is_read_only: bool,
}

/// A line: the version of the protocol, and then what is said.
#[derive(Serialize)]
struct Line<'a, T> {
    ashlar: u64,
    #[serde(flatten)]
    said: &'a T,
}

/// Of a line only the version, whatever else it says.
#[derive(Deserialize)]
struct Version {
    ashlar: u64,
}

/// What a line of a client means.
pub fn decode_request(line: &[u8]) -> Result<Request> {
    decode(line)
}

/// What a line of an owner means.
pub fn decode_reply(line: &[u8]) -> Result<Reply> {
    let reply = decode(line)?;
    if let Reply::Status { volumes, .. } = &reply {
        status::check(volumes).map_err(wrong)?;
    }
    Ok(reply)
}

impl Request {
    /// The line, with its end.
    pub fn to_line(&self) -> Vec<u8> {
        line(self)
    }
}

impl Reply {
    /// The line, with its end; several of them for long texts and for many volumes.
    pub fn to_line(&self) -> Vec<u8> {
        match self {
            Self::Out(whole) => pieces(whole)
                .flat_map(|piece| line(&Self::Out(piece)))
                .collect(),
            Self::Err(whole) => pieces(whole)
                .flat_map(|piece| line(&Self::Err(piece)))
                .collect(),
            Self::Ask(whole) => line(&Self::Ask(first_piece(whole).to_owned())),
            Self::Error(whole) => line(&Self::Error(first_piece(whole).to_owned())),
            Self::Status { volumes, more } => status::to_lines(volumes, *more),
            short => line(short),
        }
    }
}

/// What a line means. It is short, and the values in it are not nested deeper than `serde_json`
/// lets them be (127), so that no line takes more than a few megabytes or much of a stack.
fn decode<T: DeserializeOwned>(line: &[u8]) -> Result<T> {
    if line.len() > LINE_MAX {
        return Err(wrong("it is too long"));
    }
    let text = std::str::from_utf8(line).map_err(|_| wrong("it is not UTF-8"))?;
    let version: Version = serde_json::from_str(text).map_err(wrong)?;
    if version.ashlar != VERSION {
        return Err(wrong(format!(
            "it is of version {} of the protocol, and {VERSION} is spoken here",
            version.ashlar
        )));
    }
    serde_json::from_str(text).map_err(wrong)
}

pub(super) fn line<T: Serialize>(said: &T) -> Vec<u8> {
    let line = Line {
        ashlar: VERSION,
        said,
    };
    let mut line = serde_json::to_vec(&line).expect("texts and numbers can be written");
    debug_assert!(!line.contains(&b'\n'), "a line ends once");
    line.push(b'\n');
    line
}

fn absolute<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<String, D::Error> {
    let folder = Cow::<str>::deserialize(from)?;
    if !folder.starts_with('/') {
        return Err(serde::de::Error::custom("\"folder\" is no absolute path"));
    }
    Ok(folder.into_owned())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_last(more: &bool) -> bool {
    !more
}

/// A text in pieces that fit into lines; none of an empty one.
fn pieces(whole: &str) -> impl Iterator<Item = String> {
    let mut rest = whole;
    std::iter::from_fn(move || {
        let piece = first_piece(rest);
        rest = &rest[piece.len()..];
        (!piece.is_empty()).then(|| piece.to_owned())
    })
}

fn first_piece(text: &str) -> &str {
    let end = text.floor_char_boundary(TEXT_MAX);
    assert!(end > 0 || text.is_empty(), "each piece gets on");
    &text[..end]
}

fn wrong(why: impl std::fmt::Display) -> Error {
    Error::new(
        Kind::Request,
        format!("a line on the control socket is not understood: {why}"),
    )
}
