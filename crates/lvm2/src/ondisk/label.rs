//! The label: the sector that makes a device a physical volume.
//!
//! It is one of the first four sectors, normally the second:
//!
//! ```text
//!      0  "LABELONE"
//!      8  its own sector number
//!     16  checksum of the bytes from 20 to the sector's end
//!     20  where the contents begin: 32
//!     24  "LVM2 001"
//!     32  the physical volume header
//! ```
//!
//! A sector that begins with `LABELONE` is a label only where its number is the one at which it
//! was found, and its checksum and type are right; otherwise it is passed over and reported. The
//! first label is the device's label; more of them are reported. If the header in the first label
//! is broken the volume is broken: a second label is not asked.

use alloc::format;
use alloc::vec::Vec;

use super::bytes::{read, read_u32, read_u64, write};
use super::crc::checksum;
use super::pv_header::{PvHeader, Span};
use crate::error::{Error, Kind};
use crate::units::SECTOR_SIZE;

/// How much of a device's start is searched for labels, in bytes.
pub const LABEL_SCAN_SIZE: usize = 4 * SECTOR;
/// The sector in which new labels are put.
pub const SECTOR_DEFAULT: u64 = 1;

const SECTOR: usize = SECTOR_SIZE as usize;
const MAGIC: &[u8; 8] = b"LABELONE";
const TYPE: &[u8; 8] = b"LVM2 001";
/// The checksum covers everything behind itself.
const CHECKED_FROM: usize = 20;
/// Where the physical volume header begins in the labels that are written.
const CONTENTS: usize = 32;
/// Bytes of a physical volume header before its lists.
const PV_HEADER_SIZE_MIN: usize = 40;

/// A device's label with its contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The sector in which it stands.
    pub sector: u64,
    /// What it says.
    pub pv: PvHeader,
}

/// What the search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelScan {
    /// The device's label. Without one the device is no physical volume, or a damaged one where
    /// there are problems.
    pub label: Option<Label>,
    /// Sectors that look like labels and are not used.
    pub problems: Vec<LabelProblem>,
}

/// A sector that looks like a label and is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelProblem {
    /// Which of the first sectors.
    pub sector: u64,
    /// Why it is not used.
    pub error: Error,
}

impl Label {
    /// Searches the beginning of a device: [`LABEL_SCAN_SIZE`] bytes, or less where the device
    /// has less.
    pub fn scan(head: &[u8]) -> LabelScan {
        let mut scan = LabelScan {
            label: None,
            problems: Vec::new(),
        };
        let mut is_decided = false;
        let sectors = head.chunks_exact(SECTOR).take(LABEL_SCAN_SIZE / SECTOR);
        for (number, sector) in (0..).zip(sectors) {
            if !sector.starts_with(MAGIC) {
                continue;
            }
            let found = check(number, sector).and_then(|contents| {
                if is_decided {
                    let context = format!("sector {number} holds another label, which is ignored");
                    return Err(Error::new(Kind::Label, context));
                }
                is_decided = true;
                PvHeader::decode(contents)
                    .map_err(|error| error.within(format!("the label in sector {number}")))
            });
            match found {
                Ok(pv) => scan.label = Some(Label { sector: number, pv }),
                Err(error) => scan.problems.push(LabelProblem {
                    sector: number,
                    error,
                }),
            }
        }
        scan
    }

    /// The label in the beginning of a device of which the header of the physical volume can be
    /// read, whatever stands around that: a sector that begins as labels do, or else the one in
    /// which new labels are put.
    pub fn mended(head: &[u8]) -> Option<Self> {
        let sectors = (0..).zip(head.chunks_exact(SECTOR).take(LABEL_SCAN_SIZE / SECTOR));
        let mut in_default = None;
        for (number, sector) in sectors {
            let Ok(pv) = PvHeader::decode(&sector[CONTENTS..]) else {
                continue;
            };
            let label = Self { sector: number, pv };
            if sector.starts_with(MAGIC) {
                return Some(label);
            }
            if number == SECTOR_DEFAULT {
                in_default = Some(label);
            }
        }
        in_default
    }

    /// The checksum that its sector carries.
    pub fn checksum(&self) -> Result<u32, Error> {
        self.encode()
            .map(|sector| checksum(&sector[CHECKED_FROM..]))
    }

    /// The sector to be written at `self.sector`.
    pub fn encode(&self) -> Result<[u8; SECTOR], Error> {
        let mut sector = [0; SECTOR];
        write(&mut sector, 0, MAGIC);
        write(&mut sector, 8, &self.sector.to_le_bytes());
        write(&mut sector, 20, &(CONTENTS as u32).to_le_bytes());
        write(&mut sector, 24, TYPE);
        self.pv.encode(&mut sector[CONTENTS..])?;
        let sum = checksum(&sector[CHECKED_FROM..]);
        write(&mut sector, 16, &sum.to_le_bytes());
        if cfg!(debug_assertions) {
            let read = check(self.sector, &sector).and_then(PvHeader::decode);
            assert_eq!(
                read.as_ref(),
                Ok(&self.pv),
                "what is written is what will be read"
            );
        }
        Ok(sector)
    }

    /// Where the volume's metadata areas lie.
    pub fn metadata_areas(&self) -> &[Span] {
        &self.pv.metadata_areas
    }
}

/// The contents of the label in `sector`, which was found as the device's `number`th.
fn check(number: u64, sector: &[u8]) -> Result<&[u8], Error> {
    let field = "a sector has 512 bytes";
    let said = read_u64(sector, 8).expect(field);
    if said != number {
        let context =
            format!("sector {number} holds a label that belongs into sector {said}; it is ignored");
        return Err(Error::new(Kind::Label, context));
    }
    let stored = read_u32(sector, 16).expect(field);
    let computed = checksum(&sector[CHECKED_FROM..]);
    if stored != computed {
        let context = format!(
            "the label in sector {number} has the checksum {computed:#010x} but says {stored:#010x}"
        );
        return Err(Error::new(Kind::Checksum, context));
    }
    if read::<8>(sector, 24).expect(field) != *TYPE {
        let context = format!("the label in sector {number} is not of LVM2's type");
        return Err(Error::new(Kind::Label, context));
    }
    let contents = read_u32(sector, 20).expect(field) as usize;
    if !(CONTENTS..=SECTOR - PV_HEADER_SIZE_MIN).contains(&contents) {
        let context =
            format!("the label in sector {number} puts its contents at byte {contents} of 512");
        return Err(Error::new(Kind::Label, context));
    }
    Ok(&sector[contents..])
}

#[cfg(test)]
mod tests;
