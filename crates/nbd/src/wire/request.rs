//! Requests of the second phase: a header, and for writes the data behind it.

use super::bytes::{Reader, malformed};
use super::constants::{EXTENDED_REQUEST_MAGIC, REQUEST_MAGIC};
use block::Result;

/// Which of the two forms a connection's requests have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestStyle {
    /// 32-bit lengths, 28 bytes.
    Compact,
    /// 64-bit lengths, 32 bytes.
    Extended,
}

impl RequestStyle {
    /// The length of a header, in bytes.
    pub fn header_len(self) -> usize {
        match self {
            Self::Compact => 28,
            Self::Extended => 32,
        }
    }
}

/// What a request says. Nothing but its magic number has been checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestHeader {
    /// `CMD_FLAG_…`.
    pub flags: u16,
    /// `CMD_…`.
    pub command: u16,
    /// Comes back in the reply.
    pub cookie: u64,
    /// Where, in bytes.
    pub offset: u64,
    /// How much, in bytes.
    pub len: u64,
}

impl RequestHeader {
    /// The longest form, in bytes.
    pub const LEN_MAX: usize = 32;

    /// The header at the start of `bytes`; `None` if they are too few to tell.
    pub fn decode(style: RequestStyle, bytes: &[u8]) -> Result<Option<Self>> {
        let Some(header) = bytes.get(..style.header_len()) else {
            return Ok(None);
        };
        let mut reader = Reader::new(header);
        let magic = match style {
            RequestStyle::Compact => REQUEST_MAGIC,
            RequestStyle::Extended => EXTENDED_REQUEST_MAGIC,
        };
        if reader.u32()? != magic {
            return Err(malformed("a request does not begin with its magic number"));
        }
        Ok(Some(Self {
            flags: reader.u16()?,
            command: reader.u16()?,
            cookie: reader.u64()?,
            offset: reader.u64()?,
            len: match style {
                RequestStyle::Compact => u64::from(reader.u32()?),
                RequestStyle::Extended => reader.u64()?,
            },
        }))
    }

    /// The header's bytes; the first [`RequestStyle::header_len`] count. A compact header has 32
    /// bits for the length: the caller keeps to that.
    pub fn encode(&self, style: RequestStyle) -> [u8; Self::LEN_MAX] {
        let mut bytes = [0; Self::LEN_MAX];
        bytes[4..6].copy_from_slice(&self.flags.to_be_bytes());
        bytes[6..8].copy_from_slice(&self.command.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.cookie.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.offset.to_be_bytes());
        match style {
            RequestStyle::Compact => {
                bytes[..4].copy_from_slice(&REQUEST_MAGIC.to_be_bytes());
                let len = u32::try_from(self.len).expect("compact requests have 32-bit lengths");
                bytes[24..28].copy_from_slice(&len.to_be_bytes());
            }
            RequestStyle::Extended => {
                bytes[..4].copy_from_slice(&EXTENDED_REQUEST_MAGIC.to_be_bytes());
                bytes[24..].copy_from_slice(&self.len.to_be_bytes());
            }
        }
        bytes
    }
}
