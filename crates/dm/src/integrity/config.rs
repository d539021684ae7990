//! What a device with checksums is made of, as whoever activates it knows it.

use block::{Access, Info};

use super::superblock::Superblock;
use crate::legs::info_over;
use crate::{Error, Kind, Result};

/// The leg with the data, and the one with the checksums.
pub(super) const DATA: usize = 0;
pub(super) const METADATA: usize = 1;

/// How writes keep data and checksums together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Both go to a journal first.
    Journal,
    /// What is written is marked in a bitmap first; behind a cut its checksums are computed anew.
    Bitmap,
}

/// What a checksum means that is all filler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discards {
    /// Nothing: it is one like any other.
    Refused,
    /// The block was discarded, and may hold anything.
    Allowed,
}

/// A device to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntegrityConfig {
    /// What people know it by.
    pub name: String,
    /// Whether it is written.
    pub access: Access,
    /// How it is written.
    pub mode: Mode,
    /// Bytes of a block.
    pub block: u32,
    /// Whether blocks may have been discarded.
    pub discards: Discards,
    /// Sectors that a new journal should have; `None`: a part of the data's size.
    pub journal_sectors: Option<u64>,
}

/// How much is done at once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Sections that are written at once, no more than half of those that there are.
    pub(super) sections: u64,
    /// Bytes that are written at once where there is no journal.
    pub(super) batch: u64,
    /// Bytes whose checksums are computed at once.
    pub(super) piece: u64,
    /// The superblock says how far they are computed after so many bytes.
    pub(super) note: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            sections: 4,
            batch: 1 << 20,
            piece: 256 << 10,
            note: 64 << 20,
        }
    }
}

impl IntegrityConfig {
    /// Whether this can be served by `legs`: the data, and what holds the checksums.
    pub(super) fn validate(&self, legs: &[Info]) -> Result<()> {
        let refuse = |kind, what: String| Err(Error::new(kind, format!("{}: {what}", self.name)));
        let [data, metadata] = legs else {
            return refuse(Kind::InvalidLayout, format!("{} legs of 2", legs.len()));
        };
        let block = self.block;
        if !(512..=4096).contains(&block) || !block.is_power_of_two() {
            return refuse(Kind::InvalidLayout, format!("blocks of {block} bytes"));
        }
        if data.size < u64::from(block) || metadata.size < Superblock::LEN as u64 {
            let what = format!("{} bytes with {} of checksums", data.size, metadata.size);
            return refuse(Kind::DeviceTooSmall, what);
        }
        if data.logical_block > block || metadata.logical_block > Superblock::LEN as u32 {
            let what = format!("{} has blocks of {} bytes", data.name, data.logical_block);
            return refuse(Kind::Misaligned, what);
        }
        Ok(())
    }

    /// What it says about itself.
    pub(super) fn info(&self, legs: &[Info]) -> Info {
        let block = u64::from(self.block);
        let all = [&legs[DATA], &legs[METADATA]];
        let mut info = info_over(&self.name, legs[DATA].size / block * block, &all);
        info.logical_block = self.block;
        info.physical_block = info.physical_block.max(self.block);
        info.read_only |= self.access == Access::ReadOnly;
        info.fua = false;
        info
    }
}
