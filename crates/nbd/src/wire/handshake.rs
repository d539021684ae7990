//! The first phase: a greeting, then options and the answers to them.
//!
//! Strings are UTF-8 without NUL and at most 4096 bytes; an option is at most 64 KiB. Values
//! borrow from the message that they were read from.

use super::bytes::{Reader, malformed, string};
use super::constants::{
    INFO_BLOCK_SIZE, INFO_EXPORT, MAGIC, OPTION_LEN_MAX, OPTION_MAGIC, OPTION_REPLY_MAGIC,
};
use block::Result;

/// The most metadata queries in one option: one would do, since one context is served.
const QUERY_COUNT_MAX: u32 = 64;
/// The most kinds of information asked for in one option: the protocol knows four.
const INFO_COUNT_MAX: u16 = 64;

/// A server's first words. `flags` are `FLAG_FIXED_NEWSTYLE` and `FLAG_NO_ZEROES`.
pub fn encode_greeting(flags: u16) -> [u8; 18] {
    let mut greeting = [0; 18];
    greeting[..8].copy_from_slice(&MAGIC.to_be_bytes());
    greeting[8..16].copy_from_slice(&OPTION_MAGIC.to_be_bytes());
    greeting[16..].copy_from_slice(&flags.to_be_bytes());
    greeting
}

/// The flags of a server's first words.
pub fn decode_greeting(greeting: &[u8; 18]) -> Result<u16> {
    let mut reader = Reader::new(greeting);
    if reader.u64()? != MAGIC {
        return Err(malformed("the other side is not an NBD server"));
    }
    if reader.u64()? != OPTION_MAGIC {
        return Err(malformed("the server only speaks the oldstyle handshake"));
    }
    reader.u16()
}

/// What begins each option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionHeader {
    /// `OPT_…`.
    pub option: u32,
    /// Length of the data that follows, in bytes; not yet checked against any limit.
    pub len: u32,
}

impl OptionHeader {
    /// Its length on the wire, in bytes.
    pub const LEN: usize = 16;

    /// The header at the start of `bytes`.
    pub fn decode(bytes: &[u8; Self::LEN]) -> Result<Self> {
        let mut reader = Reader::new(bytes);
        if reader.u64()? != OPTION_MAGIC {
            return Err(malformed("an option does not begin with its magic number"));
        }
        let option = reader.u32()?;
        let len = reader.u32()?;
        Ok(Self { option, len })
    }

    /// Appends an option and its data.
    pub fn encode(out: &mut Vec<u8>, option: u32, data: &[u8]) {
        out.extend_from_slice(&OPTION_MAGIC.to_be_bytes());
        out.extend_from_slice(&option.to_be_bytes());
        out.extend_from_slice(&(data.len() as u32).to_be_bytes());
        out.extend_from_slice(data);
    }
}

/// What begins each answer to an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionReply {
    /// The option that is answered.
    pub option: u32,
    /// `REP_…`.
    pub kind: u32,
    /// Length of the data that follows, in bytes; at most [`OPTION_LEN_MAX`].
    pub len: u32,
}

impl OptionReply {
    /// Its length on the wire, in bytes.
    pub const LEN: usize = 20;

    /// The header at the start of `bytes`.
    pub fn decode(bytes: &[u8; Self::LEN]) -> Result<Self> {
        let mut reader = Reader::new(bytes);
        if reader.u64()? != OPTION_REPLY_MAGIC {
            return Err(malformed(
                "the answer to an option does not begin with its magic number",
            ));
        }
        let option = reader.u32()?;
        let kind = reader.u32()?;
        let len = reader.u32()?;
        if len > OPTION_LEN_MAX {
            return Err(malformed("the answer to an option is too long"));
        }
        Ok(Self { option, kind, len })
    }

    /// Appends an answer and its data.
    pub fn encode(out: &mut Vec<u8>, option: u32, kind: u32, data: &[u8]) {
        out.extend_from_slice(&OPTION_REPLY_MAGIC.to_be_bytes());
        out.extend_from_slice(&option.to_be_bytes());
        out.extend_from_slice(&kind.to_be_bytes());
        out.extend_from_slice(&(data.len() as u32).to_be_bytes());
        out.extend_from_slice(data);
    }
}

/// The data of `OPT_INFO` and `OPT_GO`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InfoRequest<'a> {
    /// The export; empty for the default one.
    pub name: &'a str,
    /// `INFO_…` that the client wants beside `INFO_EXPORT`.
    pub wanted: Vec<u16>,
}

impl<'a> InfoRequest<'a> {
    /// Reads an option's data.
    pub fn decode(data: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(data);
        let name = reader.string()?;
        let count = reader.u16()?;
        if count > INFO_COUNT_MAX {
            return Err(malformed("too many kinds of information are asked for"));
        }
        let wanted = (0..count).map(|_| reader.u16()).collect::<Result<_>>()?;
        reader.finish()?;
        Ok(Self { name, wanted })
    }

    /// The option's data.
    pub fn encode(&self) -> Vec<u8> {
        let mut data = Vec::new();
        push_string(&mut data, self.name);
        data.extend_from_slice(&(self.wanted.len() as u16).to_be_bytes());
        for wanted in &self.wanted {
            data.extend_from_slice(&wanted.to_be_bytes());
        }
        data
    }
}

/// The data of `OPT_LIST_META_CONTEXT` and `OPT_SET_META_CONTEXT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetaRequest<'a> {
    /// The export.
    pub name: &'a str,
    /// Names of contexts, or a namespace and a colon for all in it; none: all there are.
    pub queries: Vec<&'a str>,
}

impl<'a> MetaRequest<'a> {
    /// Reads an option's data.
    pub fn decode(data: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(data);
        let name = reader.string()?;
        let count = reader.u32()?;
        if count > QUERY_COUNT_MAX {
            return Err(malformed("too many metadata contexts are asked for"));
        }
        let queries = (0..count).map(|_| reader.string()).collect::<Result<_>>()?;
        reader.finish()?;
        Ok(Self { name, queries })
    }

    /// The option's data.
    pub fn encode(&self) -> Vec<u8> {
        let mut data = Vec::new();
        push_string(&mut data, self.name);
        data.extend_from_slice(&(self.queries.len() as u32).to_be_bytes());
        for query in &self.queries {
            push_string(&mut data, query);
        }
        data
    }
}

/// The data of `REP_META_CONTEXT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetaContext<'a> {
    /// The number under which block status speaks of it.
    pub id: u32,
    /// `namespace:leaf`.
    pub name: &'a str,
}

impl<'a> MetaContext<'a> {
    /// Reads a reply's data.
    pub fn decode(data: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(data);
        let id = reader.u32()?;
        let name = string(reader.rest())?;
        Ok(Self { id, name })
    }

    /// The reply's data.
    pub fn encode(&self) -> Vec<u8> {
        let mut data = self.id.to_be_bytes().to_vec();
        data.extend_from_slice(self.name.as_bytes());
        data
    }
}

/// Sizes of requests that the server takes, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Offsets and lengths are multiples of this power of two.
    pub minimum: u32,
    /// What is fastest; a power of two.
    pub preferred: u32,
    /// The longest read or write.
    pub maximum: u32,
}

/// The data of `REP_INFO`, by kind. Kinds that are not known here are read as `Other`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportInfo<'a> {
    /// What is needed to use the export.
    Export {
        /// In bytes.
        size: u64,
        /// `FLAG_…`.
        flags: u16,
    },
    /// Its canonical name.
    Name(&'a str),
    /// Text for people.
    Description(&'a str),
    /// The sizes of requests.
    Sizes(Sizes),
    /// Something else.
    Other(u16),
}

impl<'a> ExportInfo<'a> {
    /// Reads a reply's data.
    pub fn decode(data: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(data);
        let info = match reader.u16()? {
            INFO_EXPORT => Self::Export {
                size: reader.u64()?,
                flags: reader.u16()?,
            },
            super::constants::INFO_NAME => Self::Name(string(reader.rest())?),
            super::constants::INFO_DESCRIPTION => Self::Description(string(reader.rest())?),
            INFO_BLOCK_SIZE => Self::Sizes(Sizes {
                minimum: reader.u32()?,
                preferred: reader.u32()?,
                maximum: reader.u32()?,
            }),
            other => {
                reader.rest();
                Self::Other(other)
            }
        };
        reader.finish()?;
        if let Self::Sizes(sizes) = info {
            let powers = sizes.minimum.is_power_of_two() && sizes.preferred.is_power_of_two();
            if !powers || sizes.minimum > 64 << 10 || sizes.minimum > sizes.maximum {
                return Err(malformed("the server's request sizes make no sense"));
            }
        }
        Ok(info)
    }

    /// The reply's data.
    pub fn encode(&self) -> Vec<u8> {
        match *self {
            Self::Export { size, flags } => {
                let mut data = INFO_EXPORT.to_be_bytes().to_vec();
                data.extend_from_slice(&size.to_be_bytes());
                data.extend_from_slice(&flags.to_be_bytes());
                data
            }
            Self::Name(name) => text(super::constants::INFO_NAME, name),
            Self::Description(words) => text(super::constants::INFO_DESCRIPTION, words),
            Self::Sizes(sizes) => {
                let mut data = INFO_BLOCK_SIZE.to_be_bytes().to_vec();
                for size in [sizes.minimum, sizes.preferred, sizes.maximum] {
                    data.extend_from_slice(&size.to_be_bytes());
                }
                data
            }
            Self::Other(kind) => kind.to_be_bytes().to_vec(),
        }
    }
}

/// The data of `REP_SERVER`: an export's name, and text for people.
pub fn encode_listed(name: &str, description: &str) -> Vec<u8> {
    let mut data = Vec::new();
    push_string(&mut data, name);
    data.extend_from_slice(description.as_bytes());
    data
}

/// Name and description of one listed export.
pub fn decode_listed(data: &[u8]) -> Result<(&str, &str)> {
    let mut reader = Reader::new(data);
    let name = reader.string()?;
    let description = string(reader.rest())?;
    Ok((name, description))
}

fn push_string(out: &mut Vec<u8>, string: &str) {
    out.extend_from_slice(&(string.len() as u32).to_be_bytes());
    out.extend_from_slice(string.as_bytes());
}

fn text(kind: u16, words: &str) -> Vec<u8> {
    let mut data = kind.to_be_bytes().to_vec();
    data.extend_from_slice(words.as_bytes());
    data
}
