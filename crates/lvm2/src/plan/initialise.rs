//! Laying out a new physical volume: where its metadata areas go, and where its extents begin.
//!
//! ```text
//!     sector 0 … 3     label and header in one of them
//!     4 KiB            first metadata area, up to an aligned place
//!     then             boot loader area, if asked for
//!     pe_start         extents
//!     near the end     second metadata area, from an aligned place to the end
//! ```
//!
//! What is aligned is aligned to the data alignment: what was asked for, else 1 MiB, raised to
//! what the device says of itself where it is no multiple of that. All numbers are stock's, so that
//! volumes made by both look alike.
//!
//! Does not: write; [`Initialised::writes`] says what is to be written.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::change::Message;
use super::display::display_size;
use super::draft::{refused, wrong};
use crate::model::{PhysicalVolume, PvFlag};
use crate::ondisk::{AreaHeader, AreaUse, Extension, Label, PvHeader, SECTOR_DEFAULT, Span};
use crate::{Bytes, Error, Extents, Kind, Result, SECTOR_SIZE, Sectors, Uuid};

/// The label is searched for in so many sectors.
const LABEL_SECTORS: Sectors = Sectors(4);
/// Without anything else extents begin at a multiple of 1 MiB.
const ALIGNMENT_DEFAULT: Sectors = Sectors(2048);
/// A metadata area has so many pages at least.
const AREA_PAGES_MIN: u64 = 8;
/// `devices/pv_min_size` where it is not set: 2 MiB.
pub const SIZE_MIN_DEFAULT: Sectors = Sectors(4096);
/// Bytes at the start of a metadata area that are zeroed with it.
const AREA_ZEROED: usize = 8 * SECTOR_SIZE as usize;
const EXTENSION_VERSION: u32 = 2;

/// The device that becomes a physical volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Device {
    /// Its size.
    pub size: Sectors,
    /// The size of a page of memory: areas are aligned to it.
    pub page_size: Bytes,
    /// What it says of itself.
    pub topology: Topology,
}

/// What a device says of itself; zero where it says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Topology {
    /// A full stripe of a software RAID.
    pub md_stripe_width: Sectors,
    /// The smallest request that it likes.
    pub minimum_io: Sectors,
    /// The request that it likes best.
    pub optimal_io: Sectors,
    /// Where its first aligned sector is.
    pub alignment_offset: Sectors,
}

/// Which of that counts (`devices/md_chunk_alignment`, `devices/data_alignment_detection`,
/// `devices/data_alignment_offset_detection`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Detection {
    /// Stripes of a software RAID.
    pub md_stripes: bool,
    /// The requests that it likes.
    pub io_sizes: bool,
    /// Where its first aligned sector is.
    pub offset: bool,
}

impl Detection {
    /// All of it, as without settings.
    pub const ALL: Self = Self {
        md_stripes: true,
        io_sizes: true,
        offset: true,
    };
}

/// How many metadata areas there will be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AreaCount {
    /// The volume group keeps its metadata elsewhere.
    None,
    /// At the start.
    One,
    /// At the start and at the end.
    Two,
}

/// Whether the first sectors are zeroed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartOfDevice {
    /// `-Z y`: what was there is gone.
    Zeroed,
    /// `-Z n`: only the label's sector changes.
    Kept,
}

/// What `pvcreate` was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewPv {
    /// The identity.
    pub uuid: Uuid,
    /// `--metadatacopies`.
    pub areas: AreaCount,
    /// `--metadatasize`.
    pub area_size: Option<Sectors>,
    /// `--metadataignore`.
    pub area_use: AreaUse,
    /// `--dataalignment`.
    pub alignment: Option<Sectors>,
    /// `devices/default_data_alignment`; zero is as good as the default.
    pub default_alignment: Sectors,
    /// What of the device's own wishes counts.
    pub detection: Detection,
    /// `--dataalignmentoffset`.
    pub alignment_offset: Option<Sectors>,
    /// `--bootloaderareasize`; zero for none.
    pub bootloader_size: Sectors,
    /// `--labelsector`.
    pub label_sector: u64,
    /// `--setphysicalvolumesize`.
    pub size: Option<Sectors>,
    /// `devices/pv_min_size`.
    pub size_min: Sectors,
    /// Where the extents begin, where that is known already: `--restorefile`.
    pub pe_start: Option<Sectors>,
    /// `-Z`.
    pub start: StartOfDevice,
}

/// A physical volume that has been laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Initialised {
    /// Its label with its header.
    pub label: Label,
    /// The headers of its metadata areas.
    pub areas: Vec<AreaHeader>,
    /// Texts that these headers point to: where on the device, and the bytes.
    pub texts: Vec<(Bytes, Vec<u8>)>,
    /// Where its extents begin.
    pub pe_start: Sectors,
    /// Its size.
    pub size: Sectors,
    /// Whether its first sectors are zeroed.
    pub start: StartOfDevice,
    /// What people are told.
    pub messages: Vec<Message>,
}

impl NewPv {
    /// Everything as it is where nothing is said.
    pub fn new(uuid: Uuid) -> Self {
        Self {
            uuid,
            areas: AreaCount::One,
            area_size: None,
            area_use: AreaUse::Used,
            alignment: None,
            default_alignment: ALIGNMENT_DEFAULT,
            detection: Detection::ALL,
            alignment_offset: None,
            bootloader_size: Sectors::ZERO,
            label_sector: SECTOR_DEFAULT,
            size: None,
            size_min: SIZE_MIN_DEFAULT,
            pe_start: None,
            start: StartOfDevice::Zeroed,
        }
    }

    /// Lays the physical volume out on a device.
    pub fn lay_out(&self, device: &Device) -> Result<Initialised> {
        if self.label_sector >= LABEL_SECTORS.0 {
            return Err(wrong(format!(
                "labelsector must be less than {}.",
                LABEL_SECTORS.0
            )));
        }
        let size = self.size.unwrap_or(device.size);
        if size < self.size_min {
            return Err(refused(format!(
                "Size must exceed minimum of {} sectors.",
                self.size_min.0
            )));
        }
        let layout = Layout::of(self, device, size)?;
        layout.check(size);
        let header = PvHeader {
            uuid: self.uuid,
            device_size: bytes(size)?,
            data_areas: vec![Span {
                offset: bytes(layout.pe_start)?,
                size: Bytes::ZERO,
            }],
            metadata_areas: layout
                .areas
                .iter()
                .map(|area| span(*area))
                .collect::<Result<_>>()?,
            extension: Some(Extension {
                version: EXTENSION_VERSION,
                flags: 0,
                bootloader_areas: layout
                    .bootloader
                    .into_iter()
                    .map(span)
                    .collect::<Result<_>>()?,
            }),
        };
        let areas = header.metadata_areas.iter().map(|area| AreaHeader {
            usage: self.area_use,
            ..AreaHeader::new(*area)
        });
        Ok(Initialised {
            areas: areas.collect(),
            texts: Vec::new(),
            label: Label {
                sector: self.label_sector,
                pv: header,
            },
            pe_start: layout.pe_start,
            size,
            start: self.start,
            messages: Vec::new(),
        })
    }

    /// To what data is aligned, and how far from it.
    fn aligned(&self, device: &Device) -> (Sectors, Sectors) {
        let topology = &device.topology;
        let alignment = self.alignment.filter(|asked| *asked > Sectors::ZERO);
        let alignment = alignment.unwrap_or_else(|| {
            let mut alignment = self.default_alignment;
            if alignment == Sectors::ZERO {
                alignment = ALIGNMENT_DEFAULT;
            }
            let Detection {
                md_stripes,
                io_sizes,
                ..
            } = self.detection;
            for (counts, wish) in [
                (md_stripes, topology.md_stripe_width),
                (io_sizes, topology.minimum_io),
                (io_sizes, topology.optimal_io),
            ] {
                if counts && wish > Sectors::ZERO && alignment % wish != Sectors::ZERO {
                    alignment = wish.max(alignment);
                    alignment = alignment.round_up(wish).unwrap_or(alignment);
                }
            }
            alignment
        });
        let own = if self.detection.offset {
            topology.alignment_offset
        } else {
            Sectors::ZERO
        };
        (alignment, self.alignment_offset.unwrap_or(own))
    }
}

/// Where everything goes, in sectors: (start, length).
struct Layout {
    areas: Vec<(Sectors, Sectors)>,
    bootloader: Option<(Sectors, Sectors)>,
    pe_start: Sectors,
}

impl Layout {
    fn of(new: &NewPv, device: &Device, size: Sectors) -> Result<Self> {
        let (alignment, offset) = new.aligned(device);
        let first = alignment.checked_add(offset).ok_or_else(too_large)?;
        if first > size {
            return Err(refused(format!(
                "Data alignment must not exceed device size: {} of {}",
                display_size(first),
                display_size(size)
            )));
        }
        if offset > alignment {
            return Err(refused(format!(
                "pe_align ({} sectors) must not be less than pe_align_offset ({} sectors)",
                alignment.0, offset.0
            )));
        }
        let page = device.page_size.whole_sectors().max(Sectors(1));
        let area_min = page * AREA_PAGES_MIN;
        let area_size = new
            .area_size
            .unwrap_or(ALIGNMENT_DEFAULT.checked_sub(page).unwrap_or(area_min));
        let mut layout = Self {
            areas: Vec::new(),
            bootloader: None,
            pe_start: behind(LABEL_SECTORS.max(page), size, alignment, offset)?,
        };
        if new.areas != AreaCount::None {
            let start = LABEL_SECTORS.round_up(page).ok_or_else(too_large)?;
            let limit = match new.pe_start {
                Some(fixed) => fixed.checked_sub(new.bootloader_size).unwrap_or_default(),
                None => size,
            };
            let end = first_end(
                (start, area_size, area_min),
                limit,
                (alignment, offset),
                new,
            )?;
            layout.areas.push((start, end - start));
            layout.pe_start = end;
        }
        if new.bootloader_size > Sectors::ZERO {
            layout.add_bootloader(new, size, alignment, offset)?;
        }
        if let Some(fixed) = new.pe_start {
            layout.pe_start = fixed;
        }
        // Where they are equal there is no room for an extent, which is for the group to mind.
        if layout.pe_start > size {
            return Err(refused(format!(
                "Data alignment must not exceed device size: extents would begin at {} of {}",
                display_size(layout.pe_start),
                display_size(size)
            )));
        }
        if new.areas == AreaCount::Two {
            layout.add_second(size, (area_size.max(area_min), area_min), alignment)?;
        }
        Ok(layout)
    }

    /// Behind the first area, up to an aligned place.
    fn add_bootloader(
        &mut self,
        new: &NewPv,
        size: Sectors,
        alignment: Sectors,
        offset: Sectors,
    ) -> Result<()> {
        let start = self.pe_start;
        let behind = start
            .checked_add(new.bootloader_size)
            .ok_or_else(too_large)?;
        let behind = match new.pe_start {
            Some(fixed) if behind > fixed => {
                return Err(refused(format!(
                    "Bootloader area would overlap data area: it ends at sector {}, and the \
                     extents begin at {}",
                    behind.0, fixed.0
                )));
            }
            Some(fixed) => fixed,
            None => round(behind, alignment, offset)?,
        };
        if new.pe_start.is_none() && behind > size {
            return Err(refused(
                "Bootloader area with data-aligned start must not exceed device size.",
            ));
        }
        self.bootloader = Some((start, behind - start));
        self.pe_start = behind;
        Ok(())
    }

    /// From an aligned place to the end, behind the first extent's place at least.
    fn add_second(
        &mut self,
        size: Sectors,
        (area_size, area_min): (Sectors, Sectors),
        alignment: Sectors,
    ) -> Result<()> {
        let wanted = size.checked_sub(area_size).unwrap_or_default();
        let start = wanted.round_down(alignment).max(self.pe_start);
        let length = size - start;
        if length < area_min {
            return Err(refused(format!(
                "Insufficient space at the end of the device for a second metadata area: {} \
                 are free, and {} is the least",
                display_size(length),
                display_size(area_min)
            )));
        }
        self.areas.push((start, length));
        Ok(())
    }

    /// The invariants: in their order, and apart, are the first area, the boot loader's, the
    /// extents, and the second area; all of it is on the device.
    fn check(&self, size: Sectors) {
        let mut at = Sectors::ZERO;
        for (start, length) in self.areas.first().into_iter().chain(&self.bootloader) {
            assert!(at <= *start, "areas do not meet");
            assert!(*length > Sectors::ZERO, "an area has sectors");
            at = *start + *length;
        }
        assert!(at <= self.pe_start, "extents begin behind areas");
        assert!(self.pe_start <= size, "extents begin on the device");
        for (start, length) in self.areas.iter().skip(1) {
            assert!(self.pe_start <= *start, "the second area is behind extents");
            assert_eq!(*start + *length, size, "it ends with the device");
        }
    }
}

/// Where the first metadata area ends: aligned, and with something left behind it.
fn first_end(
    (start, size, least): (Sectors, Sectors, Sectors),
    limit: Sectors,
    (alignment, offset): (Sectors, Sectors),
    new: &NewPv,
) -> Result<Sectors> {
    let wanted = start.checked_add(size).ok_or_else(too_large)?;
    let mut end = if new.pe_start.is_some() {
        round(wanted, alignment, offset)?
    } else {
        behind(wanted, limit, alignment, offset)?
    };
    if end - start < least {
        let bytes = |sectors: Sectors| sectors.to_bytes().unwrap_or_default().0;
        return Err(refused(format!(
            "Metadata area size too small: {} bytes. It must be at least {} bytes.",
            bytes(end - start),
            bytes(least)
        )));
    }
    if end > limit {
        let room = limit.checked_sub(start).unwrap_or_default();
        let reserve = alignment.checked_mul(2).ok_or_else(too_large)?;
        end = if new.pe_start.is_none() && room > reserve {
            round(limit - reserve, alignment, Sectors::ZERO)?
        } else {
            limit
        };
    }
    if end.checked_sub(start).unwrap_or_default() < least {
        return Err(refused(format!(
            "Insufficient space available for a metadata area: {} is the least",
            display_size(least)
        )));
    }
    Ok(end)
}

/// Where extents begin behind `sector`: at the next multiple of `alignment`, and then `offset`
/// behind that, as far as each leaves it in front of `limit`.
fn behind(sector: Sectors, limit: Sectors, alignment: Sectors, offset: Sectors) -> Result<Sectors> {
    let aligned = sector.round_up(alignment.max(Sectors(1)));
    let aligned = aligned.ok_or_else(too_large)?;
    if aligned > limit {
        return Ok(sector);
    }
    let moved = aligned.checked_add(offset).ok_or_else(too_large)?;
    Ok(if moved > limit { aligned } else { moved })
}

/// The next sector that is `offset` behind a multiple of `alignment`.
fn round(sector: Sectors, alignment: Sectors, offset: Sectors) -> Result<Sectors> {
    let from = sector.checked_sub(offset).unwrap_or_default();
    let rounded = from.round_up(alignment.max(Sectors(1)));
    rounded
        .and_then(|rounded| rounded.checked_add(offset))
        .ok_or_else(too_large)
}

fn bytes(sectors: Sectors) -> Result<Bytes> {
    sectors.to_bytes().ok_or_else(too_large)
}

fn span((start, length): (Sectors, Sectors)) -> Result<Span> {
    Ok(Span {
        offset: bytes(start)?,
        size: bytes(length)?,
    })
}

fn too_large() -> Error {
    Error::new(Kind::Limit, "The device, or a size, is too large")
}

impl Initialised {
    /// What is to be written, in this order: areas first, so that a label never points to one that
    /// is not there.
    pub fn writes(&self) -> Result<Vec<(Bytes, Vec<u8>)>> {
        let sector = SECTOR_SIZE as usize;
        let mut writes = self.texts.clone();
        for area in &self.areas {
            let is_empty = area.committed.is_none();
            let mut start = vec![0; if is_empty { AREA_ZEROED } else { sector }];
            start[..sector].copy_from_slice(&area.encode());
            writes.push((area.start, start));
        }
        let label = self.label.encode()?;
        if self.start == StartOfDevice::Zeroed {
            assert!(
                self.label.sector < LABEL_SECTORS.0,
                "the label lies in the first sectors"
            );
            let mut start = vec![0; LABEL_SECTORS.0 as usize * sector];
            let at = self.label.sector as usize * sector;
            start[at..at + sector].copy_from_slice(&label);
            writes.push((Bytes::ZERO, start));
        } else {
            writes.push((Bytes(self.label.sector * SECTOR_SIZE), label.to_vec()));
        }
        Ok(writes)
    }
}

/// How many extents a physical volume has: up to its second metadata area, or its end.
pub fn extent_count(header: &PvHeader, size: Sectors, extent_size: Sectors) -> Result<Extents> {
    let Some(data) = header.data_areas.first() else {
        return Err(Error::new(Kind::PvHeader, "The PV header has no data area"));
    };
    let start = data.offset.whole_sectors();
    let behind = header.metadata_areas.iter();
    let second = behind
        .map(|area| area.offset.whole_sectors())
        .filter(|area| *area >= start)
        .min();
    let end = second.unwrap_or(size).min(size);
    let room = end.checked_sub(start).unwrap_or_default();
    room.whole_extents(extent_size)
        .ok_or_else(|| wrong("Physical extent size may not be zero"))
}

/// A physical volume as its group's text will describe it.
pub(super) fn described(
    header: &PvHeader,
    device: Option<String>,
    size: Sectors,
    extent_size: Sectors,
) -> Result<PhysicalVolume> {
    let pe_count = extent_count(header, size, extent_size)?;
    let pe_start = header.data_areas[0].offset.whole_sectors();
    let bootloader = header.bootloader_area();
    let mut flags = crate::model::Flags::default();
    flags.insert(PvFlag::Allocatable);
    Ok(PhysicalVolume {
        key: String::new(),
        uuid: header.uuid,
        device,
        device_id_type: None,
        device_id: None,
        flags,
        tags: Vec::new(),
        dev_size: Some(size),
        pe_start,
        pe_count,
        ba_start: bootloader.map(|area| area.offset.whole_sectors()),
        ba_size: bootloader.map(|area| area.size.whole_sectors()),
        extra: crate::model::Extras::default(),
    })
}

#[cfg(test)]
mod tests;
