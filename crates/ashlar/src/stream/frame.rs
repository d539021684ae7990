//! What begins each record: what it is, which bytes of the volume it is about, and checksums.
//!
//! ```text
//!    0  kind:4  payload:4  start:8  length:8  CRC-32 of the payload:4
//!   28  CRC-32 of the chain before this record, and of these 28:4
//! ```
//!
//! Numbers are little-endian. The checksums are the usual CRC-32 (crc32fast, which checks partition
//! tables here): they say which record is broken, before a byte of it is used. As the chain is in
//! one of them, a record that is whole and does not belong behind the one before is told, too.

use super::chain::Chain;
use crate::{Error, Kind, Result};

/// How every stream begins.
pub const MAGIC: &[u8; 16] = b"ashlar stream 1\n";

/// The most bytes that one record carries: what is sent again after an interruption, and what a
/// reader holds in memory.
pub const RECORD_MAX: usize = 1 << 20;

/// What a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FrameKind {
    Head,
    Data,
    Zeros,
    End,
}

/// The beginning of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) kind: FrameKind,
    /// Bytes that follow.
    pub(super) payload: u32,
    /// The first byte of the volume that it is about, and how many.
    pub(super) start: u64,
    pub(super) length: u64,
    /// Of the payload.
    pub(super) checksum: u32,
}

impl FrameKind {
    const ALL: [(Self, [u8; 4]); 4] = [
        (Self::Head, *b"head"),
        (Self::Data, *b"data"),
        (Self::Zeros, *b"zero"),
        (Self::End, *b"end."),
    ];

    fn word(self) -> [u8; 4] {
        let found = Self::ALL.iter().find(|(kind, _)| *kind == self);
        found.expect("each is in the list").1
    }
}

impl Frame {
    /// Its length in bytes.
    pub(super) const LEN: usize = 32;
    /// The bytes that its own checksum covers.
    const CHECKED: usize = 28;

    /// The one in front of `payload`, which is about `length` bytes from `start`.
    pub(super) fn of(kind: FrameKind, start: u64, length: u64, payload: &[u8]) -> Self {
        assert!(payload.len() <= RECORD_MAX, "a record is too long");
        Self {
            kind,
            payload: payload.len() as u32,
            start,
            length,
            checksum: crc32fast::hash(payload),
        }
    }

    /// The bytes of it, behind what `chain` stands for; `None`: at the beginning.
    pub(super) fn bytes_behind(self, chain: Option<&Chain>) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..4].copy_from_slice(&self.kind.word());
        bytes[4..8].copy_from_slice(&self.payload.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.start.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.length.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.checksum.to_le_bytes());
        let own = own_checksum(&bytes, chain);
        bytes[Self::CHECKED..].copy_from_slice(&own.to_le_bytes());
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8; Self::LEN], chain: Option<&Chain>) -> Result<Self> {
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        let half = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        if word(Self::CHECKED) != own_checksum(bytes, chain) {
            return Err(damaged(
                "the beginning of a record is broken, or does not belong behind the one before",
            ));
        }
        let kind = FrameKind::ALL
            .iter()
            .find(|(_, word)| bytes[..4] == word[..]);
        let Some((kind, _)) = kind else {
            return Err(damaged("a record is of a kind that is not known"));
        };
        let payload = word(4);
        if payload as usize > RECORD_MAX {
            return Err(damaged("a record is longer than 1 MiB"));
        }
        Ok(Self {
            kind: *kind,
            payload,
            start: half(8),
            length: half(16),
            checksum: word(24),
        })
    }

    /// Fails where `payload` is not what was sent behind this.
    pub(super) fn check(&self, payload: &[u8]) -> Result<()> {
        if crc32fast::hash(payload) == self.checksum {
            return Ok(());
        }
        let what = format!("the record at byte {} has a wrong checksum", self.start);
        Err(damaged(&what))
    }
}

fn own_checksum(bytes: &[u8; Frame::LEN], chain: Option<&Chain>) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    let before = chain.map_or([0; Chain::LEN], |chain| *chain.as_bytes());
    sum.update(&before);
    sum.update(&bytes[..Frame::CHECKED]);
    sum.finalize()
}

/// What is wrong with the bytes of a stream.
pub(super) fn damaged(what: &str) -> Error {
    Error::new(Kind::Damaged, format!("the stream is damaged: {what}"))
}
