//! The bytes of a disk log, as the kernel's device-mapper reads and writes them.
//!
//! ```text
//!   sector 0   magic u32, version u32, region count u64; zeros
//!   sector 1   nothing for the kernel, which keeps it; here: which images are in sync
//!   sector 2…  one bit per region, lowest first, little endian: 1 = clean and in sync
//! ```
//!
//! The magic 0 is a new log, of which no bit counts; a region count of all ones (as the log is
//! created) says that all bits count. Bits behind the count are what [`super::Sync`] says.
//!
//! **The record of images in sync** is ours. A bit says that the images of a region differ, or may;
//! it cannot say which of them is right. For the kernel that is always the first one, and while a
//! region is out of sync it writes to that one only. Here the images that hold everything that was
//! written last are named in sector 1, and before any write is answered that an image missed, it is
//! taken off the list. The record only matters where a bit is 0: whoever copied a region and set
//! its bit (the kernel too) has settled it. Without a whole record the first image is right.
//!
//! **The version says who ran the mirror last.** The kernel takes a log of version 1 for one of
//! version 2 (they are the same where numbers are little endian) and writes 2 when it starts. So
//! we claim the log with version 1 when the record is durable; a record beside version 2 is older
//! than what the kernel wrote since, and void. A mirror that is stopped in sync gets version 2
//! back: nothing is left that the record could add.

use std::collections::BTreeSet;

use block::{Error, Kind, Result};

use super::Sync;
use super::config::IMAGES_MAX;
use super::limits::Limits;

const SECTOR: usize = 512;
/// Where the bits begin.
const BITS_AT: usize = 2 * SECTOR;
const MAGIC: u32 = 0x4d69_5272;
/// What the kernel writes.
const VERSION: u32 = 2;
/// The same log, whose record of images in sync counts.
const VERSION_CLAIMED: u32 = 1;
/// Where the version is.
const VERSION_AT: usize = 4;
/// `AshWhole`, little endian; a version follows.
const RECORD_MAGIC: u64 = u64::from_le_bytes(*b"AshWhole");
const RECORD_VERSION: u32 = 1;
const RECORD_IDS: usize = 16;
const RECORD_SUM: usize = SECTOR - 8;

/// How many bytes at the beginning of a log say something about `regions`.
pub fn log_length(regions: u64) -> u64 {
    LogImage::len_for(regions, SECTOR as u32)
}

/// Whether a log, of which these are the first bytes, says that all of `regions` are the same on
/// all images.
pub fn is_in_sync(log: &[u8], regions: u64) -> bool {
    (0..regions).all(|region| is_region_in_sync(log, region))
}

/// The same for one of the regions.
pub(super) fn is_region_in_sync(log: &[u8], region: u64) -> bool {
    if version(log).is_none() {
        return false;
    }
    let known = u64::from_le_bytes(log[8..16].try_into().expect("eight bytes"));
    let byte = log.get(BITS_AT + (region / 8) as usize);
    known > region && byte.is_some_and(|byte| byte >> (region % 8) & 1 == 1)
}

/// The images that a log, of which these are the first bytes, believes; none: it names none, or
/// somebody else ran the mirror since.
pub fn in_sync_images(log: &[u8]) -> Vec<u64> {
    match version(log) {
        Some(VERSION_CLAIMED) => recorded_images(log),
        _ => Vec::new(),
    }
}

/// The version of a log whose header means something.
fn version(log: &[u8]) -> Option<u32> {
    if log.len() < BITS_AT || log[..4] != MAGIC.to_le_bytes() {
        return None;
    }
    let bytes = log[VERSION_AT..VERSION_AT + 4].try_into();
    let version = u32::from_le_bytes(bytes.expect("four bytes"));
    [VERSION, VERSION_CLAIMED]
        .contains(&version)
        .then_some(version)
}

/// A log in memory, and which of its blocks the disk does not have yet.
#[derive(Debug, Clone)]
pub(super) struct LogImage {
    bytes: Vec<u8>,
    block: usize,
    regions: u64,
    changed: BTreeSet<usize>,
    /// Bytes of a run at most, but for one block.
    pub(super) run_max: usize,
}

impl LogImage {
    /// How much of a log device with blocks of `block` bytes is used for `regions`.
    pub(super) fn len_for(regions: u64, block: u32) -> u64 {
        let bits = regions.div_ceil(64) * 8;
        (BITS_AT as u64 + bits).next_multiple_of(u64::from(block))
    }

    /// Makes sense of what is on the disk. What it says about more or fewer regions is settled
    /// here; nothing is written yet.
    ///
    /// What was read may be in a cache only: whoever wrote it was killed before it was durable, or
    /// was told that it failed. So the disk is taken to lack all of it, and it is written once
    /// before anything relies on it.
    pub(super) fn load(bytes: Vec<u8>, regions: u64, block: u32, sync: Sync) -> Result<Self> {
        let mut log = Self {
            changed: (0..bytes.len() / block as usize).collect(),
            bytes,
            block: block as usize,
            regions,
            run_max: Limits::default().log_run,
        };
        assert_eq!(log.bytes.len() as u64, Self::len_for(regions, block));
        let magic = u32::from_le_bytes(log.field(0));
        let version = u32::from_le_bytes(log.field(VERSION_AT));
        let known = match magic {
            MAGIC if [VERSION, VERSION_CLAIMED].contains(&version) => {
                u64::from_le_bytes(log.field(8))
            }
            MAGIC => {
                let what = format!("the log has version {version}, of which nothing is known");
                return Err(Error::new(Kind::Invalid, what));
            }
            // The kernel takes anything else for a new log.
            _ => 0,
        };
        let claimed = magic == MAGIC && version == VERSION_CLAIMED;
        if !claimed {
            log.record_images(&[]);
        }
        for region in known.min(regions)..regions {
            log.set(region, sync == Sync::Assumed);
        }
        for region in regions..log.bit_count() {
            log.set_bit(region, false);
        }
        if sync == Sync::Full {
            (0..regions).for_each(|region| log.set(region, false));
        }
        Ok(log)
    }

    /// There are `regions` of them from now on, of which new ones are in sync or not. The count on
    /// the disk changes with [`LogImage::claim`].
    pub(super) fn resize(&mut self, regions: u64, in_sync: bool) {
        let before = std::mem::replace(&mut self.regions, regions);
        let len = Self::len_for(regions, self.block as u32) as usize;
        let old = self.bytes.len();
        self.bytes.resize(len, 0);
        let blocks = len / self.block;
        self.changed.retain(|block| *block < blocks);
        // What the disk holds there is not known.
        self.changed.extend(old / self.block..blocks);
        for region in before..regions {
            self.set(region, in_sync);
        }
        for region in regions..self.bit_count() {
            self.set_bit(region, false);
        }
    }

    /// Whether a region is said to be clean and in sync.
    pub(super) fn get(&self, region: u64) -> bool {
        assert!(region < self.regions);
        self.bytes[BITS_AT + (region / 8) as usize] >> (region % 8) & 1 == 1
    }

    pub(super) fn set(&mut self, region: u64, clean: bool) {
        assert!(region < self.regions);
        self.set_bit(region, clean);
    }

    /// From here on the record counts, and the bits of the first `whole` regions, which must be
    /// durable by now: behind the regions that the log knew there may be ones.
    ///
    /// A last region that the mirror does not fill is not one of them: were the mirror to become
    /// larger, its bit would speak of bytes that nobody copied. So it is copied at each start.
    pub(super) fn claim(&mut self, whole: u64) {
        assert!(whole == self.regions || whole + 1 == self.regions);
        self.put(0, &MAGIC.to_le_bytes());
        self.put(8, &whole.to_le_bytes());
        self.put(VERSION_AT, &VERSION_CLAIMED.to_le_bytes());
    }

    /// Makes the log one like the kernel's, of a mirror that is in sync.
    pub(super) fn release(&mut self) {
        self.put(VERSION_AT, &VERSION.to_le_bytes());
    }

    /// The images that are in sync where a bit is 0; none: there is no record.
    pub(super) fn recorded_images(&self) -> Vec<u64> {
        recorded_images(&self.bytes)
    }

    pub(super) fn record_images(&mut self, ids: &[u64]) {
        if self.recorded_images() == ids {
            return;
        }
        let mut record = [0; SECTOR];
        if !ids.is_empty() {
            record[..8].copy_from_slice(&RECORD_MAGIC.to_le_bytes());
            record[8..12].copy_from_slice(&RECORD_VERSION.to_le_bytes());
            record[12..16].copy_from_slice(&(ids.len() as u32).to_le_bytes());
            for (index, id) in ids.iter().enumerate() {
                record[RECORD_IDS + 8 * index..][..8].copy_from_slice(&id.to_le_bytes());
            }
            let sum = sum(&record[..RECORD_SUM]);
            record[RECORD_SUM..].copy_from_slice(&sum.to_le_bytes());
        }
        self.put(SECTOR, &record);
    }

    /// Whether the disk lacks anything.
    pub(super) fn is_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    /// What the disk lacks, as runs of whole blocks; from here on it counts as written.
    pub(super) fn take_changed(&mut self) -> Vec<(u64, &[u8])> {
        let changed = std::mem::take(&mut self.changed);
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for block in changed {
            let (start, end) = (block * self.block, (block + 1) * self.block);
            match runs.last_mut() {
                Some(run) if run.1 == start && end - run.0 <= self.run_max => run.1 = end,
                _ => runs.push((start, end)),
            }
        }
        let bytes = &self.bytes;
        runs.into_iter()
            .map(|(start, end)| (start as u64, &bytes[start..end]))
            .collect()
    }

    fn bit_count(&self) -> u64 {
        self.regions.div_ceil(64) * 64
    }

    fn set_bit(&mut self, region: u64, value: bool) {
        let at = BITS_AT + (region / 8) as usize;
        let mask = 1 << (region % 8);
        let byte = if value {
            self.bytes[at] | mask
        } else {
            self.bytes[at] & !mask
        };
        self.put(at, &[byte]);
    }

    fn field<const LEN: usize>(&self, at: usize) -> [u8; LEN] {
        self.bytes[at..at + LEN].try_into().expect("lies within")
    }

    /// Changes bytes that lie in one block each, and notes which.
    fn put(&mut self, at: usize, bytes: &[u8]) {
        if self.bytes[at..at + bytes.len()] == *bytes {
            return;
        }
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
        self.changed.insert(at / self.block);
    }
}

/// FNV-1a: enough to tell a whole record from a torn or foreign one.
fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    })
}

/// The images that the record in a log names.
fn recorded_images(log: &[u8]) -> Vec<u64> {
    let record = &log[SECTOR..2 * SECTOR];
    let word = |at: usize| {
        let bytes = record[at..at + 8].try_into();
        u64::from_le_bytes(bytes.expect("eight bytes"))
    };
    let count = (word(8) >> 32) as usize;
    let whole = word(0) == RECORD_MAGIC
        && word(8) as u32 == RECORD_VERSION
        && count <= IMAGES_MAX
        && word(RECORD_SUM) == sum(&record[..RECORD_SUM]);
    if !whole {
        return Vec::new();
    }
    (0..count)
        .map(|index| word(RECORD_IDS + 8 * index))
        .collect()
}
