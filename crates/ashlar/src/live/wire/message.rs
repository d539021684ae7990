//! What can be said: requests of a client, replies of an owner.

use super::json::Value;
use super::status;
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Run this command, whose relative paths are meant from this folder.
    Run {
        /// The command's name, and the words behind it.
        words: Vec<String>,
        /// The folder, absolute.
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
    /// Say what is served.
    Status,
    /// Stop serving, as a signal would do.
    Stop,
    /// The answer to a question.
    Answer(bool),
    /// What was said last was taken note of.
    Seen,
    /// The end of what was asked for.
    End,
}

/// Volumes to be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// Their names, without the group.
    pub volumes: Vec<String>,
    /// Whether they are not written.
    pub is_read_only: bool,
    /// What may be missing of them; a request that does not say means degraded.
    pub missing: MissingPolicy,
    /// Through what.
    pub way: Way,
}

/// Through what volumes are served; it comes along with the request as open files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Sockets on which NBD clients come in.
    Nbd,
    /// The kernel's end of a file, mounted with FUSE.
    Fuse,
}

/// What an owner says.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    Out(String),
    /// Something for standard error.
    Err(String),
    /// A question; an [`Request::Answer`] is waited for.
    Ask(String),
    /// Nobody else uses the volume from now on.
    Alone,
    /// These are served now.
    Exported(Vec<Exported>),
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
        more: bool,
    },
    /// The owner ends, and did not begin what was asked last.
    Ending,
    /// The command has ended with this status; or what was asked for has ended.
    End(u8),
    /// What was said could not be done, and why.
    Error(String),
}

/// A volume that is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// Its name: `vg0/data`.
    pub name: String,
    /// Its size, in bytes.
    pub size: u64,
    /// Its logical block, in bytes.
    pub block: u32,
    /// Whether it takes no writes.
    pub is_read_only: bool,
}

/// What a line of a client means.
pub fn decode_request(line: &[u8]) -> Result<Request> {
    let value = parse(line)?;
    let word = value.get("request").and_then(Value::text);
    let word = word.ok_or_else(|| wrong("it has no \"request\""))?;
    let texts = |name: &str| -> Result<Vec<String>> {
        let list = value.get(name).and_then(Value::list);
        let texts = list.and_then(|list| {
            let texts = list.iter().map(|value| value.text().map(str::to_owned));
            texts.collect::<Option<Vec<_>>>()
        });
        texts.ok_or_else(|| wrong(&format!("\"{name}\" is no list of texts")))
    };
    let yes = |name: &str| {
        let value = value.get(name).and_then(Value::bool);
        value.ok_or_else(|| wrong(&format!("\"{name}\" is neither true nor false")))
    };
    Ok(match word {
        "run" => {
            let folder = value.get("folder").and_then(Value::text);
            let folder = folder.filter(|folder| folder.starts_with('/'));
            let folder = folder.ok_or_else(|| wrong("\"folder\" is no absolute path"))?;
            Request::Run {
                words: texts("words")?,
                folder: folder.to_owned(),
            }
        }
        "export" => Request::Export(Export {
            volumes: texts("volumes")?,
            is_read_only: yes("read_only")?,
            missing: missing(value.get("missing"))?,
            way: match value.get("way").and_then(Value::text) {
                Some("nbd") => Way::Nbd,
                Some("fuse") => Way::Fuse,
                _ => return Err(wrong("\"way\" is neither nbd nor fuse")),
            },
        }),
        "alone" => {
            let volume = value.get("volume").and_then(Value::text);
            let volume = volume.ok_or_else(|| wrong("\"volume\" is no text"))?;
            Request::Alone {
                volume: volume.to_owned(),
            }
        }
        "status" => Request::Status,
        "stop" => Request::Stop,
        "answer" => Request::Answer(yes("yes")?),
        "seen" => Request::Seen,
        "end" => Request::End,
        other => return Err(wrong(&format!("the request {other:.40?} is not known"))),
    })
}

/// What a line of an owner means.
pub fn decode_reply(line: &[u8]) -> Result<Reply> {
    let value = parse(line)?;
    let word = value.get("reply").and_then(Value::text);
    let word = word.ok_or_else(|| wrong("it has no \"reply\""))?;
    let text = |name: &str| {
        let text = value.get(name).and_then(Value::text).map(str::to_owned);
        text.ok_or_else(|| wrong(&format!("\"{name}\" is no text")))
    };
    let list = |name: &str| {
        let list = value.get(name).and_then(Value::list);
        list.ok_or_else(|| wrong(&format!("\"{name}\" is no list")))
    };
    Ok(match word {
        "hello" => Reply::Hello {
            pid: number(&value, "pid")?,
            group: text("group")?,
            uuid: text("uuid")?,
        },
        "out" => Reply::Out(text("text")?),
        "err" => Reply::Err(text("text")?),
        "ask" => Reply::Ask(text("text")?),
        "error" => Reply::Error(text("text")?),
        "end" => Reply::End(number(&value, "status")?),
        "ending" => Reply::Ending,
        "alone" => Reply::Alone,
        "exported" => {
            let volumes = list("volumes")?.iter().map(exported);
            Reply::Exported(volumes.collect::<Result<_>>()?)
        }
        "changed" => Reply::Changed {
            volume: exported(value.get("volume").unwrap_or(&Value::Null))?,
        },
        "status" => {
            let (volumes, more) = status::from_line(&value)?;
            Reply::Status { volumes, more }
        }
        other => return Err(wrong(&format!("the reply {other:.40?} is not known"))),
    })
}

impl Request {
    /// The line, with its end.
    pub fn to_line(&self) -> Vec<u8> {
        let word = |word: &str| ("request", text(word));
        line(match self {
            Self::Run { words, folder } => vec![
                word("run"),
                ("words", texts(words)),
                ("folder", text(folder)),
            ],
            Self::Export(export) => vec![
                word("export"),
                ("volumes", texts(&export.volumes)),
                ("read_only", Value::Bool(export.is_read_only)),
                ("missing", text(export.missing.word())),
                (
                    "way",
                    text(match export.way {
                        Way::Nbd => "nbd",
                        Way::Fuse => "fuse",
                    }),
                ),
            ],
            Self::Alone { volume } => vec![word("alone"), ("volume", text(volume))],
            Self::Status => vec![word("status")],
            Self::Stop => vec![word("stop")],
            Self::Answer(yes) => vec![word("answer"), ("yes", Value::Bool(*yes))],
            Self::Seen => vec![word("seen")],
            Self::End => vec![word("end")],
        })
    }
}

impl Reply {
    /// The line, with its end; several of them for long texts and for many volumes.
    pub fn to_line(&self) -> Vec<u8> {
        let word = |word: &str| ("reply", text(word));
        let long = |name: &str, whole: &str| {
            let pieces = pieces(whole).map(|piece| line(vec![word(name), ("text", text(piece))]));
            pieces.flatten().collect()
        };
        line(match self {
            Self::Hello { pid, group, uuid } => vec![
                word("hello"),
                ("pid", Value::Number(u64::from(*pid))),
                ("group", text(group)),
                ("uuid", text(uuid)),
            ],
            Self::Out(whole) => return long("out", whole),
            Self::Err(whole) => return long("err", whole),
            Self::Ask(whole) => vec![word("ask"), ("text", text(first_piece(whole)))],
            Self::Error(whole) => vec![word("error"), ("text", text(first_piece(whole)))],
            Self::Ending => vec![word("ending")],
            Self::Alone => vec![word("alone")],
            Self::End(status) => vec![word("end"), ("status", Value::Number(u64::from(*status)))],
            Self::Exported(volumes) => vec![
                word("exported"),
                (
                    "volumes",
                    Value::List(volumes.iter().map(value_of).collect()),
                ),
            ],
            Self::Changed { volume } => vec![word("changed"), ("volume", value_of(volume))],
            Self::Status { volumes, more } => return status::to_lines(volumes, *more),
        })
    }
}

fn parse(line: &[u8]) -> Result<Value> {
    if line.len() > LINE_MAX {
        return Err(wrong("it is too long"));
    }
    let text = std::str::from_utf8(line).map_err(|_| wrong("it is not UTF-8"))?;
    let value = Value::parse(text).map_err(wrong)?;
    match value.get("ashlar").and_then(Value::number) {
        Some(VERSION) => Ok(value),
        Some(other) => Err(wrong(&format!(
            "it is of version {other} of the protocol, and {VERSION} is spoken here"
        ))),
        None => Err(wrong("it does not say its version, as \"ashlar\": 1")),
    }
}

pub(super) fn number<T: TryFrom<u64>>(value: &Value, name: &str) -> Result<T> {
    let number = value.get(name).and_then(Value::number);
    let number = number.and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| wrong(&format!("\"{name}\" is no number that fits")))
}

fn missing(value: Option<&Value>) -> Result<MissingPolicy> {
    let Some(value) = value else {
        return Ok(MissingPolicy::Degraded);
    };
    let policy = value.text().and_then(MissingPolicy::from_word);
    policy.ok_or_else(|| wrong("\"missing\" is neither complete, degraded nor partial"))
}

fn exported(value: &Value) -> Result<Exported> {
    let name = value.get("name").and_then(Value::text);
    let is_read_only = value.get("read_only").and_then(Value::bool);
    let both = name.zip(is_read_only);
    let (name, is_read_only) = both.ok_or_else(|| wrong("a volume is not described"))?;
    Ok(Exported {
        name: name.to_owned(),
        size: number(value, "size")?,
        block: number(value, "block")?,
        is_read_only,
    })
}

fn value_of(volume: &Exported) -> Value {
    object(vec![
        ("name", text(&volume.name)),
        ("size", Value::Number(volume.size)),
        ("block", Value::Number(u64::from(volume.block))),
        ("read_only", Value::Bool(volume.is_read_only)),
    ])
}

pub(super) fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn texts(texts: &[String]) -> Value {
    Value::List(texts.iter().map(|one| text(one)).collect())
}

pub(super) fn object(members: Vec<(&str, Value)>) -> Value {
    let members = members.into_iter();
    Value::Object(
        members
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    )
}

pub(super) fn line(mut members: Vec<(&str, Value)>) -> Vec<u8> {
    members.insert(0, ("ashlar", Value::Number(VERSION)));
    let mut line = String::new();
    let whole = object(members);
    whole.write(&mut line);
    debug_assert_eq!(Value::parse(&line), Ok(whole), "what is said can be read");
    debug_assert!(!line.contains('\n'), "a line ends once");
    line.push('\n');
    line.into_bytes()
}

/// A text in pieces that fit into lines; none of an empty one.
fn pieces(whole: &str) -> impl Iterator<Item = &str> {
    let mut rest = whole;
    std::iter::from_fn(move || {
        let piece = first_piece(rest);
        rest = &rest[piece.len()..];
        (!piece.is_empty()).then_some(piece)
    })
}

fn first_piece(text: &str) -> &str {
    let mut end = text.len().min(TEXT_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    assert!(end > 0 || text.is_empty(), "each piece gets on");
    &text[..end]
}

pub(super) fn wrong(why: &str) -> Error {
    Error::new(
        Kind::Request,
        format!("a line on the control socket is not understood: {why}"),
    )
}
