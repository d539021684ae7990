//! The physical volume header: who the volume is, and where its areas lie.
//!
//! It stands behind the label header, in the same sector, and must end there:
//!
//! ```text
//!      0  UUID, 32 characters
//!     32  size of the device in bytes
//!     40  data areas      {offset, size} … {0, 0}      always one; size 0 = to the device's end
//!      …  metadata areas  {offset, size} … {0, 0}      none, one or two
//!      …  extension version     0 or nothing: absent; 1: bootloader areas; 2: also the use flag
//!      …  extension flags       bit 0: belongs to a volume group
//!      …  bootloader areas {offset, size} … {0, 0}
//! ```
//!
//! A list ends where an offset is zero, whatever its size. The offsets are bytes from the device's
//! start; this module does not believe that they lie on the device: [`Span::end_within`] checks.
//!
//! Does not: preserve bytes behind the bootloader areas. An extension of a later version than 2 is
//! read as far as it is known, and refused when writing.

use alloc::format;
use alloc::vec::Vec;

use super::bytes::{read, read_u32, read_u64};
use crate::error::{Error, Kind};
use crate::units::Bytes;
use crate::uuid::Uuid;

/// Bytes of one list entry.
const SPAN_SIZE: usize = 16;
/// Where the lists begin.
const LISTS: usize = 40;
/// The latest extension that is known here.
const EXTENSION_VERSION: u32 = 2;
/// The first extension whose flags say whether the volume is in use.
const EXTENSION_VERSION_WITH_USE: u32 = 2;
/// Bit 0 of the flags: the volume belongs to a volume group.
const FLAG_USED: u32 = 1;

/// A piece of the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Where it begins, in bytes from the device's start; never zero.
    pub offset: Bytes,
    /// How long it is. Zero means to the device's end, where data areas are concerned.
    pub size: Bytes,
}

/// Whether the header says that the volume belongs to a volume group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PvUse {
    /// It belongs to one; without metadata it must not be taken for free.
    Used,
    /// It belongs to none.
    Free,
    /// The header is older than the flag.
    Unknown,
}

/// What newer versions of LVM2 add behind the lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extension {
    /// 1 or 2, or a later one, which can be read and not written.
    pub version: u32,
    /// All 32 flags.
    pub flags: u32,
    /// Areas set aside for a boot loader.
    pub bootloader_areas: Vec<Span>,
}

/// A physical volume header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PvHeader {
    /// The volume's identity.
    pub uuid: Uuid,
    /// The device's size when the volume was made; the volume group's text knows better.
    pub device_size: Bytes,
    /// Where extents lie. LVM2 writes one; `pe_start` in the text decides.
    pub data_areas: Vec<Span>,
    /// Where metadata lies.
    pub metadata_areas: Vec<Span>,
    /// The extension, unless the header is older.
    pub extension: Option<Extension>,
}

impl Span {
    /// The byte behind the span, where the span lies on a device of this size.
    pub fn end_within(self, device_size: Bytes) -> Option<Bytes> {
        self.offset
            .checked_add(self.size)
            .filter(|end| *end <= device_size)
    }
}

impl PvHeader {
    /// Reads the header at the beginning of `bytes`, which end with the label's sector.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let too_short = || {
            Error::new(
                Kind::PvHeader,
                "the PV header does not fit the label's sector",
            )
        };
        let uuid = read(bytes, 0).ok_or_else(too_short)?;
        let uuid = Uuid::from_bytes(&uuid)
            .map_err(|error| Error::new(Kind::PvHeader, error.within("the PV header").context))?;
        let device_size = Bytes(read_u64(bytes, 32).ok_or_else(too_short)?);
        let mut at = LISTS;
        let data_areas = decode_list(bytes, &mut at, "data areas")?;
        let metadata_areas = decode_list(bytes, &mut at, "metadata areas")?;
        let extension = decode_extension(bytes, &mut at)?;
        Ok(Self {
            uuid,
            device_size,
            data_areas,
            metadata_areas,
            extension,
        })
    }

    /// Writes the header to the beginning of `bytes`, which end with the label's sector and are
    /// zero.
    pub fn encode(&self, bytes: &mut [u8]) -> Result<(), Error> {
        let mut out = Vec::with_capacity(bytes.len());
        out.extend_from_slice(self.uuid.as_bytes());
        out.extend_from_slice(&self.device_size.0.to_le_bytes());
        encode_list(&mut out, &self.data_areas)?;
        encode_list(&mut out, &self.metadata_areas)?;
        if let Some(extension) = &self.extension {
            if !(1..=EXTENSION_VERSION).contains(&extension.version) {
                let context = format!(
                    "the PV header has an extension of version {}, of which only 1 to \
                     {EXTENSION_VERSION} can be written",
                    extension.version
                );
                return Err(Error::new(Kind::PvHeader, context));
            }
            out.extend_from_slice(&extension.version.to_le_bytes());
            out.extend_from_slice(&extension.flags.to_le_bytes());
            encode_list(&mut out, &extension.bootloader_areas)?;
        }
        let place = bytes.get_mut(..out.len()).ok_or_else(|| {
            Error::new(
                Kind::Limit,
                "the PV header's lists do not fit the label's sector",
            )
        })?;
        place.copy_from_slice(&out);
        Ok(())
    }

    /// Whether the volume belongs to a volume group, as far as the header knows.
    pub fn usage(&self) -> PvUse {
        match &self.extension {
            Some(extension) if extension.version >= EXTENSION_VERSION_WITH_USE => {
                if extension.flags & FLAG_USED == 0 {
                    PvUse::Free
                } else {
                    PvUse::Used
                }
            }
            _ => PvUse::Unknown,
        }
    }

    /// Says in the header whether the volume belongs to a volume group. An older header gets the
    /// extension for it; `Unknown` changes nothing.
    pub fn set_usage(&mut self, usage: PvUse) {
        if usage == PvUse::Unknown {
            return;
        }
        let extension = self.extension.get_or_insert_with(|| Extension {
            version: EXTENSION_VERSION_WITH_USE,
            flags: 0,
            bootloader_areas: Vec::new(),
        });
        extension.version = extension.version.max(EXTENSION_VERSION_WITH_USE);
        match usage {
            PvUse::Used => extension.flags |= FLAG_USED,
            _ => extension.flags &= !FLAG_USED,
        }
        assert_eq!(self.usage(), usage, "what is set is what is read");
    }

    /// The first bootloader area.
    pub fn bootloader_area(&self) -> Option<Span> {
        self.extension.as_ref()?.bootloader_areas.first().copied()
    }
}

fn decode_list(bytes: &[u8], at: &mut usize, name: &str) -> Result<Vec<Span>, Error> {
    let mut spans = Vec::new();
    loop {
        let (Some(offset), Some(size)) = (read_u64(bytes, *at), read_u64(bytes, *at + 8)) else {
            let context =
                format!("the PV header's list of {name} does not end in the label's sector");
            return Err(Error::new(Kind::PvHeader, context));
        };
        *at += SPAN_SIZE;
        if offset == 0 {
            return Ok(spans);
        }
        spans.push(Span {
            offset: Bytes(offset),
            size: Bytes(size),
        });
    }
}

/// A sector that ends before the extension's version has none, like one with version 0.
fn decode_extension(bytes: &[u8], at: &mut usize) -> Result<Option<Extension>, Error> {
    let version = read_u32(bytes, *at).unwrap_or(0);
    if version == 0 {
        return Ok(None);
    }
    let flags = read_u32(bytes, *at + 4).ok_or_else(|| {
        Error::new(
            Kind::PvHeader,
            "the PV header's extension does not fit the label's sector",
        )
    })?;
    *at += 8;
    let bootloader_areas = decode_list(bytes, at, "bootloader areas")?;
    Ok(Some(Extension {
        version,
        flags,
        bootloader_areas,
    }))
}

fn encode_list(out: &mut Vec<u8>, spans: &[Span]) -> Result<(), Error> {
    for span in spans {
        if span.offset == Bytes::ZERO {
            let context = "an area that begins at byte 0 cannot be written: it would end its list";
            return Err(Error::new(Kind::PvHeader, context));
        }
        out.extend_from_slice(&span.offset.0.to_le_bytes());
        out.extend_from_slice(&span.size.0.to_le_bytes());
    }
    out.extend_from_slice(&[0; SPAN_SIZE]);
    Ok(())
}

#[cfg(test)]
mod tests;
