//! The header of a metadata area: where in the area's ring the text lies.
//!
//! ```text
//!      0  checksum of the bytes from 4 to the sector's end
//!      4  " LVM2 x[5A%r0N*>"
//!     20  version: 1
//!     24  the header's own offset on the device
//!     32  size of the area, header included
//!     40  slot 0: the committed text        {offset, size, checksum, flags}, 24 bytes
//!     64  slot 1: the precommitted text     the same; used only while a change is under way
//! ```
//!
//! A slot's offset counts from the area's start; zero means that the slot is empty. The size
//! includes the NUL at the text's end. Bit 0 of slot 0's flags says that the area is ignored: it
//! is kept, and not used, and its text may be old.
//!
//! Rewriting the 512 bytes of this header is what commits a change.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::bytes::{read, read_u32, read_u64, write};
use super::crc::checksum;
use super::pv_header::Span;
use crate::error::{Error, Kind};
use crate::units::{Bytes, SECTOR_SIZE};

/// Bytes of the header, at the area's start.
pub const AREA_HEADER_SIZE: usize = SECTOR_SIZE as usize;

const MAGIC: &[u8; 16] = b" LVM2 x[5A%r0N*>";
const VERSION: u32 = 1;
/// The checksum covers everything behind itself.
const CHECKED_FROM: usize = 4;
const SLOTS: usize = 40;
const SLOT_SIZE: usize = 24;
const _: () = assert!(
    SLOTS + 2 * SLOT_SIZE <= AREA_HEADER_SIZE,
    "both slots lie in the sector"
);
/// Bit 0 of slot 0's flags.
const FLAG_IGNORED: u32 = 1;

/// Where a text lies in its area, and what it must look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawLocation {
    /// Its first byte, from the area's start.
    pub offset: Bytes,
    /// Its length with the NUL at its end.
    pub size: Bytes,
    /// The checksum over all of it.
    pub checksum: u32,
}

/// Whether an area takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AreaUse {
    /// Metadata is read from it and written to it.
    Used,
    /// It is left alone.
    Ignored,
}

/// The header of a metadata area.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AreaHeader {
    /// Where on the device the area begins.
    pub start: Bytes,
    /// How long it is with its header.
    pub size: Bytes,
    /// The text that counts.
    pub committed: Option<RawLocation>,
    /// The text of a change that was under way.
    pub precommitted: Option<RawLocation>,
    /// Whether the area takes part.
    pub usage: AreaUse,
}

impl RawLocation {
    /// Points to `text`, which ends with its NUL, at `offset` of the area.
    pub fn new(offset: Bytes, text: &[u8]) -> Self {
        assert_eq!(text.last(), Some(&0), "a text ends with a NUL");
        Self {
            offset,
            size: Bytes(text.len() as u64),
            checksum: checksum(text),
        }
    }

    /// Checks a text that was read from here against its size and checksum.
    pub fn verify(&self, text: &[u8]) -> Result<(), Error> {
        if text.len() as u64 != self.size.0 {
            let context = format!(
                "the text has {} bytes instead of {}",
                text.len(),
                self.size.0
            );
            return Err(Error::new(Kind::AreaText, context));
        }
        let computed = checksum(text);
        if computed != self.checksum {
            let context = format!(
                "the text at byte {} of the metadata area has the checksum {computed:#010x} but \
                 the area's header says {:#010x}",
                self.offset.0, self.checksum
            );
            return Err(Error::new(Kind::Checksum, context));
        }
        Ok(())
    }
}

impl AreaHeader {
    /// The header of a new area without a text.
    pub fn new(area: Span) -> Self {
        Self {
            start: area.offset,
            size: area.size,
            committed: None,
            precommitted: None,
            usage: AreaUse::Used,
        }
    }

    /// What is wrong in the first bytes of `area`, in LVM2's words; nothing of what is no whole
    /// sector.
    pub fn wrong_parts(sector: &[u8], area: Span) -> Vec<String> {
        let Some(sector) = sector.first_chunk::<AREA_HEADER_SIZE>() else {
            return Vec::new();
        };
        let field = "a sector has 512 bytes";
        let stored = read_u32(sector, 0).expect(field);
        let version = read_u32(sector, 20).expect(field);
        let start = read_u64(sector, 24).expect(field);
        let mut wrong = Vec::new();
        if stored != checksum(&sector[CHECKED_FROM..]) {
            wrong.push(format!("checksum {stored:x}"));
        }
        if read::<16>(sector, 4).expect(field) != *MAGIC {
            wrong.push("magic number".to_owned());
        }
        if version != VERSION {
            wrong.push(format!("version {version}"));
        }
        if start != area.offset.0 {
            wrong.push(format!("start sector {start}"));
        }
        wrong
    }

    /// Reads the header that was found at the beginning of `area`, on a device of `device_size`.
    ///
    /// The size in the header counts, as in stock; `area.size` may differ from it.
    pub fn decode(sector: &[u8], area: Span, device_size: Bytes) -> Result<Self, Error> {
        let at = area.offset.0;
        let wrong = |what: String| {
            Error::new(
                Kind::AreaHeader,
                format!("the metadata area at byte {at} {what}"),
            )
        };
        let sector: &[u8; AREA_HEADER_SIZE] = sector
            .first_chunk()
            .ok_or_else(|| wrong(format!("is cut off after {} bytes", sector.len())))?;
        let field = "a sector has 512 bytes";
        // The magic comes first: a foreign sector is better called foreign than damaged.
        if read::<16>(sector, 4).expect(field) != *MAGIC {
            return Err(wrong(
                "does not begin with LVM2's magic; it was overwritten".to_owned(),
            ));
        }
        let stored = read_u32(sector, 0).expect(field);
        let computed = checksum(&sector[CHECKED_FROM..]);
        if stored != computed {
            let context = format!(
                "the header of the metadata area at byte {at} has the checksum {computed:#010x} \
                 but says {stored:#010x}"
            );
            return Err(Error::new(Kind::Checksum, context));
        }
        let version = read_u32(sector, 20).expect(field);
        if version != VERSION {
            return Err(wrong(format!(
                "has the version {version}; only {VERSION} is known"
            )));
        }
        let start = read_u64(sector, 24).expect(field);
        if start != at {
            return Err(wrong(format!(
                "belongs to byte {start}; it was moved or copied"
            )));
        }
        let size = read_u64(sector, 32).expect(field);
        if size < AREA_HEADER_SIZE as u64 {
            return Err(wrong(format!("has only {size} bytes")));
        }
        let span = Span {
            offset: area.offset,
            size: Bytes(size),
        };
        if span.end_within(device_size).is_none() {
            let size_of_device = device_size.0;
            return Err(wrong(format!(
                "has {size} bytes, which end behind the device's {size_of_device}"
            )));
        }
        Ok(Self {
            start: area.offset,
            size: Bytes(size),
            committed: decode_slot(sector, SLOTS),
            precommitted: decode_slot(sector, SLOTS + SLOT_SIZE),
            usage: match read_u32(sector, SLOTS + 20).expect(field) & FLAG_IGNORED {
                0 => AreaUse::Used,
                _ => AreaUse::Ignored,
            },
        })
    }

    /// The sector to be written at the area's start.
    pub fn encode(&self) -> [u8; AREA_HEADER_SIZE] {
        assert!(
            self.size.0 >= AREA_HEADER_SIZE as u64,
            "an area holds its own header"
        );
        let mut sector = [0; AREA_HEADER_SIZE];
        write(&mut sector, 4, MAGIC);
        write(&mut sector, 20, &VERSION.to_le_bytes());
        write(&mut sector, 24, &self.start.0.to_le_bytes());
        write(&mut sector, 32, &self.size.0.to_le_bytes());
        let flags = match self.usage {
            AreaUse::Used => 0,
            AreaUse::Ignored => FLAG_IGNORED,
        };
        encode_slot(&mut sector, SLOTS, self.committed, flags);
        encode_slot(&mut sector, SLOTS + SLOT_SIZE, self.precommitted, 0);
        let sum = checksum(&sector[CHECKED_FROM..]);
        write(&mut sector, 0, &sum.to_le_bytes());
        if cfg!(debug_assertions) {
            let (offset, size) = (self.start, self.size);
            let read = Self::decode(&sector, Span { offset, size }, Bytes(u64::MAX));
            assert_eq!(
                read.as_ref(),
                Ok(self),
                "what is written is what will be read"
            );
        }
        sector
    }
}

fn decode_slot(sector: &[u8; AREA_HEADER_SIZE], at: usize) -> Option<RawLocation> {
    let field = "both slots lie in the sector";
    let offset = read_u64(sector, at).expect(field);
    (offset != 0).then(|| RawLocation {
        offset: Bytes(offset),
        size: Bytes(read_u64(sector, at + 8).expect(field)),
        checksum: read_u32(sector, at + 16).expect(field),
    })
}

fn encode_slot(
    sector: &mut [u8; AREA_HEADER_SIZE],
    at: usize,
    slot: Option<RawLocation>,
    flags: u32,
) {
    if let Some(text) = slot {
        assert_ne!(
            text.offset,
            Bytes::ZERO,
            "the header stands where offset 0 is"
        );
        write(sector, at, &text.offset.0.to_le_bytes());
        write(sector, at + 8, &text.size.0.to_le_bytes());
        write(sector, at + 16, &text.checksum.to_le_bytes());
    }
    write(sector, at + 20, &flags.to_le_bytes());
}

#[cfg(test)]
mod tests;
