//! What is known of an array that nobody has active, from what its images say of themselves.
//!
//! An array goes together where the superblocks of all images that are there are as new, call
//! nothing unfinished and none of them failed, and their bitmaps have the same bits set: none, if
//! all images are there. A bit that one of them lacks tells that it was away while the others were
//! written.
//!
//! Less than what reading an array finds out: what is not plain is not claimed.

use block::{BlockingDevice, Range};
use dm::raid::{Position, Superblock};
use lvm2::Bytes;
use lvm2::model::{LvFlag, LvId, RaidImage, SegmentType};

use crate::activate::{Activator, Options};
use crate::host::Host;
use crate::scan::{FoundVg, Scan};
use crate::{Error, Kind, Result};

/// Where the head of a bitmap is, and how long it is.
const BITMAP_AT: u64 = 4096;
const BITMAP_HEAD: u64 = 256;
/// The kernel's bitmaps have no more bits.
const BITS_MAX: u64 = 1 << 21;

/// What is known of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ArrayFacts {
    /// The images that are there go together.
    InSync,
    /// Nobody has ever used it.
    Unused,
    /// The images may differ, and the first one is right.
    FirstIsRight,
    /// The images may differ, and nobody knows where.
    Unknown,
}

/// What an image says of itself.
#[derive(Debug, Clone, PartialEq)]
enum Said {
    /// It is not there, or is to be filled.
    Nothing,
    /// It was never used.
    Blank,
    /// It cannot be read.
    Damaged,
    /// This, and the bits of its bitmap.
    Superblock(Box<Superblock>, Vec<u8>),
}

/// Reads what the images of an array say. RAID 0 has nothing to be in sync.
///
/// # Errors
///
/// It is no array.
pub fn array_facts(scan: &Scan, host: &Host, group: &FoundVg, lv: LvId) -> Result<ArrayFacts> {
    let volume = group.model.lv(lv);
    let Some(SegmentType::Raid(raid)) = volume.first() else {
        let what = format!("{}/{} is no array", group.name, volume.name());
        return Err(Error::new(Kind::Request, what));
    };
    if raid.images.iter().any(|image| image.meta.is_none()) {
        return Ok(ArrayFacts::InSync);
    }
    // A bit is a region of each image where there is parity, else of the array.
    let bitten = match raid.level.parity_count() {
        0 => volume,
        _ => group.model.lv(raid.images[0].data),
    };
    let size = bitten.size(group.model.extent_size);
    let size = size.and_then(lvm2::Sectors::to_bytes).unwrap_or(Bytes(0)).0;
    let region = raid
        .region_size
        .to_bytes()
        .map_or(0, |bytes| bytes.0)
        .max(1);
    let bits = size.div_ceil(region).min(BITS_MAX);
    let said = raid.images.iter();
    let said: Vec<Said> = said
        .map(|image| ask(scan, host, group, *image, bits))
        .collect();
    Ok(judge(&said))
}

/// The first so many bits; behind them a bitmap holds anything.
fn first_bits(mut bytes: Vec<u8>, bits: u64) -> Vec<u8> {
    let (whole, rest) = ((bits / 8) as usize, bits % 8);
    bytes.truncate(bits.div_ceil(8) as usize);
    if let Some(last) = bytes.get_mut(whole) {
        *last &= ((1_u16 << rest) - 1) as u8;
    }
    bytes
}

fn ask(scan: &Scan, host: &Host, group: &FoundVg, image: RaidImage, bits: u64) -> Said {
    if group.model.lv(image.data).flags.has(LvFlag::Rebuild) {
        return Said::Nothing;
    }
    let is_error = |lv: LvId| matches!(group.model.lv(lv).first(), Some(SegmentType::Error));
    let meta = image
        .meta
        .filter(|meta| !is_error(*meta) && !is_error(image.data));
    let Some(meta) = meta else {
        return Said::Nothing;
    };
    let mut activator = Activator::new(scan, host);
    let opened = activator.activate(group, meta, Options::default());
    let Ok(opened) = opened else {
        return Said::Nothing;
    };
    let read = || -> std::result::Result<(Vec<u8>, Vec<u8>), block::Error> {
        let mut io = BlockingDevice::open(&opened.volume)?;
        let size = io.info().size;
        let head = io.read(Range::new(0, (Superblock::LEN as u64).min(size)))?;
        let start = (BITMAP_AT + BITMAP_HEAD).min(size);
        // Whole sectors are read.
        let first = start - start % 512;
        let wanted = bits.div_ceil(8);
        let length = (start - first + wanted).next_multiple_of(512);
        let bytes = io.read(Range::new(first, length.min(size - first)))?;
        let from = (start - first) as usize;
        let to = bytes.len().min(from + wanted as usize);
        Ok((head, first_bits(bytes[from.min(to)..to].to_vec(), bits)))
    };
    let Ok((head, bits)) = read() else {
        return Said::Damaged;
    };
    match Superblock::decode(&head) {
        Ok(None) => Said::Blank,
        Ok(Some(superblock)) => Said::Superblock(Box::new(superblock), bits),
        Err(_) => Said::Damaged,
    }
}

fn judge(said: &[Said]) -> ArrayFacts {
    let is_blank = |one: &Said| *one == Said::Blank;
    if said.iter().all(is_blank) {
        return ArrayFacts::Unused;
    }
    let is_nothing = |one: &Said| *one == Said::Nothing;
    if said.first().is_some_and(is_blank) && said.iter().all(|one| is_blank(one) || is_nothing(one))
    {
        // What a linear volume became, and nobody has used yet.
        return ArrayFacts::FirstIsRight;
    }
    let superblocks = said
        .iter()
        .enumerate()
        .filter_map(|(index, one)| match one {
            Said::Superblock(superblock, bits) => Some((index, &**superblock, bits)),
            _ => None,
        });
    let superblocks: Vec<_> = superblocks.collect();
    let there = said.iter().filter(|one| **one != Said::Nothing).count();
    let newest = superblocks.iter().map(|(_, one, _)| one.events).max();
    let is_whole = |(index, one, _): &(usize, &Superblock, &Vec<u8>)| {
        let is_called_failed = superblocks
            .iter()
            .any(|(_, other, _)| other.failed.contains(*index));
        Some(one.events) == newest
            && one.disk_recovery_offset == Position::End
            && !is_called_failed
            && !one.extended.as_ref().is_some_and(|more| more.is_reshaping)
            && one.array_position as usize == *index
            && one.device_count as usize == said.len()
    };
    let is_synced = |one: &Superblock| one.array_resync_offset == Position::End;
    let are_alike = superblocks.windows(2).all(|pair| pair[0].2 == pair[1].2);
    let all_whole = superblocks.iter().all(is_whole) && superblocks.len() == there;
    // Where an image is away marks say what it misses; else a write may have been cut short.
    let is_complete = there == said.len();
    let is_marked = superblocks
        .iter()
        .any(|one| one.2.iter().any(|bits| *bits != 0));
    let goes_together = all_whole && are_alike && !(is_complete && is_marked);
    if there > 0 && goes_together && superblocks.iter().all(|one| is_synced(one.1)) {
        return ArrayFacts::InSync;
    }
    // Where it has all bits that others have, it was there whenever they were written.
    let has_all = |bits: &[u8]| {
        let lacks = |others: &[u8]| {
            let pairs = others.iter().zip(bits);
            others.len() != bits.len() || pairs.clone().any(|(other, own)| other & !own != 0)
        };
        !superblocks.iter().any(|(_, _, others)| lacks(others))
    };
    match superblocks.first() {
        Some(first) if first.0 == 0 && is_whole(first) && has_all(first.2) => {
            ArrayFacts::FirstIsRight
        }
        _ => ArrayFacts::Unknown,
    }
}

#[cfg(test)]
mod tests;
