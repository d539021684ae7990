//! Replies of the second phase.
//!
//! A server writes a reply as a *head* of at most 48 bytes, built here without allocating, and a
//! payload that it sends from where it lies. A client reads a [`ReplyHeader`] and then as many
//! bytes as that says.

use super::bytes::{Reader, malformed, string};
use super::constants::{
    EINVAL, EIO, ENOMEM, ENOSPC, ENOTSUP, EOVERFLOW, EPERM, ESHUTDOWN, EXTENDED_REPLY_MAGIC,
    REPLY_FLAG_DONE, REPLY_TYPE_BLOCK_STATUS, REPLY_TYPE_BLOCK_STATUS_EXT, REPLY_TYPE_ERROR,
    REPLY_TYPE_ERROR_OFFSET, REPLY_TYPE_NONE, REPLY_TYPE_OFFSET_DATA, SIMPLE_REPLY_MAGIC,
    STRUCTURED_REPLY_MAGIC,
};
use super::request::{RequestHeader, RequestStyle};
use block::{Error, Kind, Result};

/// The longest head: an extended chunk with an offset, in bytes, rounded up.
const HEAD_LEN_MAX: usize = 48;

/// Which form a connection's replies have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyStyle {
    /// Simple replies only.
    Simple,
    /// Structured chunks for whatever has a payload or failed, else simple replies.
    Structured,
    /// Extended chunks for everything.
    Extended,
}

/// Whether a chunk ends its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkPlace {
    /// It does.
    Last,
    /// There are more.
    MoreFollow,
}

/// The bytes in front of a message's payload.
#[derive(Debug, Clone, Copy)]
pub struct HeadBytes {
    bytes: [u8; HEAD_LEN_MAX],
    len: u8,
}

impl HeadBytes {
    /// A request that brings back no data was done.
    pub fn done(style: ReplyStyle, cookie: u64, offset: u64) -> Self {
        match style {
            ReplyStyle::Simple | ReplyStyle::Structured => Self::simple(cookie, 0),
            ReplyStyle::Extended => Self::chunk(style, REPLY_TYPE_NONE, cookie, offset, 0),
        }
    }

    /// A read was done; `len` bytes of data from `offset` follow.
    pub fn data(style: ReplyStyle, cookie: u64, offset: u64, len: u32) -> Self {
        if style == ReplyStyle::Simple {
            return Self::simple(cookie, 0);
        }
        if len == 0 {
            return Self::chunk(style, REPLY_TYPE_NONE, cookie, offset, 0);
        }
        let payload = 8 + u64::from(len);
        let mut head = Self::chunk(style, REPLY_TYPE_OFFSET_DATA, cookie, offset, payload);
        head.push(&offset.to_be_bytes());
        head
    }

    /// A request failed with `code`; `message_len` bytes of text for people follow. Simple
    /// replies have no room for text: there `message_len` must be 0.
    pub fn error(style: ReplyStyle, cookie: u64, offset: u64, code: u32, message_len: u16) -> Self {
        if style == ReplyStyle::Simple {
            assert_eq!(message_len, 0, "simple replies carry no text");
            return Self::simple(cookie, code);
        }
        let payload = 6 + u64::from(message_len);
        let mut head = Self::chunk(style, REPLY_TYPE_ERROR, cookie, offset, payload);
        head.push(&code.to_be_bytes());
        head.push(&message_len.to_be_bytes());
        head
    }

    /// Block status of one context; the `payload` of [`Extents`] follows. Not for simple replies.
    pub fn block_status(
        (style, place): (ReplyStyle, ChunkPlace),
        cookie: u64,
        offset: u64,
        payload: &Extents,
    ) -> Self {
        let kind = match style {
            ReplyStyle::Extended => REPLY_TYPE_BLOCK_STATUS_EXT,
            ReplyStyle::Structured => REPLY_TYPE_BLOCK_STATUS,
            ReplyStyle::Simple => unreachable!("block status needs structured replies"),
        };
        let mut head = Self::chunk(style, kind, cookie, offset, payload.bytes.len() as u64);
        if place == ChunkPlace::MoreFollow {
            // The flags stand behind the magic number.
            head.bytes[4..6].copy_from_slice(&0_u16.to_be_bytes());
        }
        head
    }

    /// A request; a write's data follows.
    pub fn request(style: RequestStyle, request: &RequestHeader) -> Self {
        let mut head = Self::empty();
        head.push(&request.encode(style)[..style.header_len()]);
        head
    }

    /// The bytes to send.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    fn simple(cookie: u64, code: u32) -> Self {
        let mut head = Self::empty();
        head.push(&SIMPLE_REPLY_MAGIC.to_be_bytes());
        head.push(&code.to_be_bytes());
        head.push(&cookie.to_be_bytes());
        head
    }

    /// The only, and so the last, chunk of a reply.
    fn chunk(style: ReplyStyle, kind: u16, cookie: u64, offset: u64, payload_len: u64) -> Self {
        let mut head = Self::empty();
        let magic = match style {
            ReplyStyle::Extended => EXTENDED_REPLY_MAGIC,
            ReplyStyle::Simple | ReplyStyle::Structured => STRUCTURED_REPLY_MAGIC,
        };
        head.push(&magic.to_be_bytes());
        head.push(&REPLY_FLAG_DONE.to_be_bytes());
        head.push(&kind.to_be_bytes());
        head.push(&cookie.to_be_bytes());
        if style == ReplyStyle::Extended {
            head.push(&offset.to_be_bytes());
            head.push(&payload_len.to_be_bytes());
        } else {
            let len = u32::try_from(payload_len).expect("a payload is at most 32 MiB");
            head.push(&len.to_be_bytes());
        }
        head
    }

    fn empty() -> Self {
        Self {
            bytes: [0; HEAD_LEN_MAX],
            len: 0,
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        let start = usize::from(self.len);
        self.bytes[start..start + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len() as u8;
    }
}

/// What begins a reply, as a client reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyHeader {
    /// The whole reply, unless it answers a read without error: then its data follows.
    Simple {
        /// 0, or an error.
        error: u32,
        /// The request's.
        cookie: u64,
    },
    /// One chunk of a reply; `len` bytes of payload follow.
    Chunk {
        /// `REPLY_FLAG_…`.
        flags: u16,
        /// `REPLY_TYPE_…`.
        kind: u16,
        /// The request's.
        cookie: u64,
        /// Length of the payload, in bytes; not yet checked against any limit.
        len: u64,
    },
}

impl ReplyHeader {
    /// The header at the start of `bytes` and its length; `None` if they are too few to tell.
    pub fn decode(style: ReplyStyle, bytes: &[u8]) -> Result<Option<(Self, usize)>> {
        let Some(magic) = bytes.first_chunk::<4>() else {
            return Ok(None);
        };
        let magic = u32::from_be_bytes(*magic);
        let len = match (magic, style) {
            (SIMPLE_REPLY_MAGIC, ReplyStyle::Simple | ReplyStyle::Structured) => 16,
            (STRUCTURED_REPLY_MAGIC, ReplyStyle::Structured) => 20,
            (EXTENDED_REPLY_MAGIC, ReplyStyle::Extended) => 32,
            _ => return Err(malformed("a reply does not begin with its magic number")),
        };
        let Some(header) = bytes.get(4..len) else {
            return Ok(None);
        };
        let mut reader = Reader::new(header);
        let header = if magic == SIMPLE_REPLY_MAGIC {
            let error = reader.u32()?;
            let cookie = reader.u64()?;
            Self::Simple { error, cookie }
        } else {
            let flags = reader.u16()?;
            let kind = reader.u16()?;
            let cookie = reader.u64()?;
            let len = if magic == EXTENDED_REPLY_MAGIC {
                reader.u64()?; // The request's offset again: the cookie says enough.
                reader.u64()?
            } else {
                u64::from(reader.u32()?)
            };
            Self::Chunk {
                flags,
                kind,
                cookie,
                len,
            }
        };
        Ok(Some((header, len)))
    }
}

/// One extent of a block status reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatusExtent {
    /// In bytes.
    pub len: u64,
    /// `STATE_…` for `base:allocation`.
    pub status: u64,
}

/// The payload of a block status reply, being written.
#[derive(Debug, Default)]
pub struct Extents {
    bytes: Vec<u8>,
}

impl Extents {
    /// The payload for `extents` of metadata context `context`. Structured replies have 32 bits
    /// for a length: what does not fit ends the list early, which the protocol allows.
    pub fn encode(style: ReplyStyle, context: u32, extents: &[StatusExtent]) -> Self {
        let mut bytes = context.to_be_bytes().to_vec();
        if style == ReplyStyle::Extended {
            bytes.extend_from_slice(&(extents.len() as u32).to_be_bytes());
            for extent in extents {
                bytes.extend_from_slice(&extent.len.to_be_bytes());
                bytes.extend_from_slice(&extent.status.to_be_bytes());
            }
            return Self { bytes };
        }
        for extent in extents {
            // The largest length that is a multiple of any block size.
            let len = u32::try_from(extent.len).unwrap_or(1 << 31);
            bytes.extend_from_slice(&len.to_be_bytes());
            bytes.extend_from_slice(&(extent.status as u32).to_be_bytes());
            if u64::from(len) != extent.len {
                break;
            }
        }
        Self { bytes }
    }

    /// The bytes to send.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes
    }
}

/// The metadata context and the extents in the payload of a block status chunk of `kind`.
pub fn decode_extents(kind: u16, payload: &[u8]) -> Result<(u32, Vec<StatusExtent>)> {
    let mut reader = Reader::new(payload);
    let context = reader.u32()?;
    let extended = kind == REPLY_TYPE_BLOCK_STATUS_EXT;
    let width = if extended { 16 } else { 8 };
    let said = if extended {
        reader.u32()? as usize
    } else {
        (payload.len() - 4) / width
    };
    let list = reader.rest();
    if list.is_empty() || list.len() != said.saturating_mul(width) {
        return Err(malformed("a block status reply has the wrong length"));
    }
    let extents = list.chunks_exact(width).map(|entry| {
        let mut entry = Reader::new(entry);
        let (len, status) = if extended {
            (entry.u64()?, entry.u64()?)
        } else {
            (u64::from(entry.u32()?), u64::from(entry.u32()?))
        };
        if len == 0 {
            return Err(malformed("a block status reply has an empty extent"));
        }
        Ok(StatusExtent { len, status })
    });
    Ok((context, extents.collect::<Result<_>>()?))
}

/// The code and the text of an error chunk of `kind`.
pub fn decode_error(kind: u16, payload: &[u8]) -> Result<(u32, &str)> {
    let mut reader = Reader::new(payload);
    let code = reader.u32()?;
    let len = usize::from(reader.u16()?);
    let message = string(reader.take(len)?)?;
    match kind {
        REPLY_TYPE_ERROR_OFFSET => _ = reader.u64()?,
        REPLY_TYPE_ERROR => {}
        _ => _ = reader.rest(),
    }
    reader.finish()?;
    if code == 0 {
        return Err(malformed("an error chunk holds no error"));
    }
    Ok((code, message))
}

/// The protocol's code for a failed request.
pub fn error_code(error: &Error) -> u32 {
    match error.kind() {
        Kind::InvalidRequest => EINVAL,
        Kind::Unsupported => ENOTSUP,
        Kind::ReadOnly => EPERM,
        Kind::NoSpace => ENOSPC,
        // The protocol has no words for what else can go wrong.
        _ => EIO,
    }
}

/// A failed request, as a client understands it. `message` may be empty.
pub fn error_from_code(code: u32, message: &str) -> Error {
    let (kind, name) = match code {
        EPERM => (Kind::ReadOnly, "EPERM"),
        EIO => (Kind::Io, "EIO"),
        ENOMEM => (Kind::Io, "ENOMEM"),
        EINVAL => (Kind::InvalidRequest, "EINVAL"),
        ENOSPC => (Kind::NoSpace, "ENOSPC"),
        EOVERFLOW => (Kind::InvalidRequest, "EOVERFLOW"),
        ENOTSUP => (Kind::Unsupported, "ENOTSUP"),
        ESHUTDOWN => (Kind::Gone, "ESHUTDOWN"),
        _ => (Kind::Io, "an unknown error"),
    };
    if message.is_empty() {
        Error::new(kind, format!("the NBD server answered {name}"))
    } else {
        Error::new(kind, format!("the NBD server answered {name}: {message}"))
    }
}
