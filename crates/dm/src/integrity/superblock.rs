//! The superblock of a device with checksums: the first 4 KiB of what holds them.
//!
//! ```text
//!    0  magic "integrt\0"    8  version         9  log2 of interleaved sectors (0: data elsewhere)
//!   10  bytes of a checksum (2 bytes)          12  sections of the journal (4)
//!   16  sectors of data (8)                    24  flags (4)
//!   28  log2 of sectors of a block             29  log2 of blocks of a bit of the bitmap
//!   32  the first sector whose checksum is not computed yet (8); it counts with flag 2
//!   48  salt (16)                                                          all little-endian
//!
//!   flags   1  the journal has a key    2  checksums are being computed    4  it has a bitmap
//!           8  padding is fixed        16  checksums have a salt          32  checksums are inline
//! ```
//!
//! All zeros is a device that nobody has used: whoever does so first computes all checksums.
//! Decoding refuses what LVM2 does not make, so that nothing is taken for a checksum that is none.
//! The facts are those of `drivers/md/dm-integrity.c`.

use super::sums::TAG;
use crate::{Error, Kind, Result};

const MAGIC: [u8; 8] = *b"integrt\0";
/// The newest version: what came with it are flags that are refused here.
const VERSION_MAX: u8 = 5;
/// The version that brought the bitmap.
const VERSION_BITMAP: u8 = 3;
const FLAG_RECALCULATING: u32 = 2;
const FLAG_BITMAP: u32 = 4;
const FLAG_PADDING: u32 = 8;
/// log2 of the most sectors that a block may have.
const LOG2_BLOCK_MAX: u8 = 3;
/// log2 of the most blocks of a bit: more have no byte.
const LOG2_BIT_MAX: u8 = 48;
/// More sectors have no byte.
const SECTORS_MAX: u64 = u64::MAX / 512;

/// What a device with checksums says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Superblock {
    /// Which version of it.
    pub version: u8,
    /// Sections of the journal; at least one.
    pub journal_sections: u32,
    /// Sectors of data when it was used last.
    pub provided_sectors: u64,
    /// log2 of the sectors of a block.
    pub log2_block: u8,
    /// log2 of the blocks that a bit of the bitmap is about.
    pub log2_bit: u8,
    /// The first sector whose checksum is not computed yet; `None`: all are.
    pub recalculated: Option<u64>,
    /// Where the journal was a bitmap is, which says where checksums may be wrong.
    pub has_bitmap: bool,
    /// It was made with the padding of newer kernels, which does not matter where data are
    /// elsewhere.
    pub has_padding: bool,
}

impl Superblock {
    /// Bytes of one.
    pub const LEN: usize = 4096;

    /// Reads one; `None`: nobody has used the device.
    ///
    /// # Errors
    ///
    /// It is not one, or one that is not understood; the sentence says why, and the caller whose.
    pub fn decode(bytes: &[u8]) -> Result<Option<Self>> {
        let Some(bytes) = bytes.first_chunk::<{ Self::LEN }>() else {
            return refuse(format!(
                "{} bytes hold no superblock of checksums",
                bytes.len()
            ));
        };
        if bytes.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        if bytes[..8] != MAGIC {
            return refuse("its superblock of checksums is damaged".to_owned());
        }
        let (version, interleave) = (bytes[8], bytes[9]);
        if version == 0 || version > VERSION_MAX {
            return refuse(format!("its checksums are of version {version}"));
        }
        if interleave != 0 {
            return refuse("its checksums lie between its data".to_owned());
        }
        let tag = u16::from_le_bytes([bytes[10], bytes[11]]);
        if usize::from(tag) != TAG {
            return refuse(format!("its checksums have {tag} bytes, not {TAG}"));
        }
        let flags = word(bytes, 24);
        let unknown = flags & !(FLAG_RECALCULATING | FLAG_BITMAP | FLAG_PADDING);
        if unknown != 0 {
            return refuse(format!("its checksums have flags {unknown:#x}"));
        }
        let read = Self {
            version,
            journal_sections: word(bytes, 12),
            provided_sectors: long(bytes, 16),
            log2_block: bytes[28],
            log2_bit: bytes[29],
            recalculated: (flags & FLAG_RECALCULATING != 0).then(|| long(bytes, 32)),
            has_bitmap: flags & FLAG_BITMAP != 0,
            has_padding: flags & FLAG_PADDING != 0,
        };
        read.validate()?;
        Ok(Some(read))
    }

    fn validate(&self) -> Result<()> {
        let Self {
            journal_sections,
            provided_sectors,
            log2_block,
            log2_bit,
            ..
        } = self;
        if *journal_sections == 0 {
            return refuse("its journal has no sections".to_owned());
        }
        if *provided_sectors > SECTORS_MAX {
            return refuse(format!("it has checksums of {provided_sectors} sectors"));
        }
        if *log2_block > LOG2_BLOCK_MAX {
            return refuse(format!("a checksum is of 2^{log2_block} sectors"));
        }
        if *log2_bit > LOG2_BIT_MAX {
            return refuse(format!("a bit of its bitmap is of 2^{log2_bit} blocks"));
        }
        Ok(())
    }

    /// The bytes that say this.
    pub fn encode(&self) -> Vec<u8> {
        assert!(self.validate().is_ok(), "what is written is understood");
        assert!(self.version <= VERSION_MAX, "a version that is known");
        let mut bytes = vec![0; Self::LEN];
        bytes[..8].copy_from_slice(&MAGIC);
        // A kernel that does not know bitmaps must not take one for a journal.
        bytes[8] = if self.has_bitmap {
            self.version.max(VERSION_BITMAP)
        } else {
            self.version
        };
        bytes[10..12].copy_from_slice(&(TAG as u16).to_le_bytes());
        bytes[12..16].copy_from_slice(&self.journal_sections.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.provided_sectors.to_le_bytes());
        let mut flags = 0;
        for (has, flag) in [
            (self.recalculated.is_some(), FLAG_RECALCULATING),
            (self.has_bitmap, FLAG_BITMAP),
            (self.has_padding, FLAG_PADDING),
        ] {
            flags |= if has { flag } else { 0 };
        }
        bytes[24..28].copy_from_slice(&flags.to_le_bytes());
        (bytes[28], bytes[29]) = (self.log2_block, self.log2_bit);
        let recalculated = self.recalculated.unwrap_or(0);
        bytes[32..40].copy_from_slice(&recalculated.to_le_bytes());
        bytes
    }
}

fn refuse<T>(what: String) -> Result<T> {
    Err(Error::new(Kind::Damaged, what))
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(*bytes[at..].first_chunk().expect("within a superblock"))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*bytes[at..].first_chunk().expect("within a superblock"))
}

#[cfg(test)]
pub(crate) mod tests;
