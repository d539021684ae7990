//! Reading big-endian numbers and counted strings off the front of a message.

use block::{Error, Kind, Result};

/// What is left of a message.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    /// The next `len` bytes.
    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let (head, rest) = self
            .rest
            .split_at_checked(len)
            .ok_or_else(|| malformed("a message is shorter than it says"))?;
        self.rest = rest;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let bytes = self.take(N)?;
        Ok(bytes.try_into().expect("take gives the length asked for"))
    }

    pub(super) fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// A string with its length in front, checked against the protocol's limit.
    pub(super) fn string(&mut self) -> Result<&'a str> {
        let len = self.u32()? as usize;
        if len > super::constants::STRING_LEN_MAX {
            return Err(malformed("a string is longer than 4096 bytes"));
        }
        string(self.take(len)?)
    }

    /// All that is left.
    pub(super) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    /// Fails if something is left.
    pub(super) fn finish(self) -> Result<()> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(malformed("a message is longer than it should be"))
        }
    }
}

/// Bytes as a string of the protocol: UTF-8 without NUL.
pub(super) fn string(bytes: &[u8]) -> Result<&str> {
    if bytes.contains(&0) {
        return Err(malformed("a string holds a NUL"));
    }
    std::str::from_utf8(bytes).map_err(|_| malformed("a string is not UTF-8"))
}

/// The other side sent what the protocol does not allow.
pub(super) fn malformed(what: &str) -> Error {
    Error::new(Kind::Invalid, format!("NBD: {what}"))
}
