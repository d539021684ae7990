//! The last partition ends earlier, and the disk behind it.
//!
//! ```text
//!   before   |MBR|header|entries| … |partition ……………………………………|entries|header|
//!   after    |MBR|header|entries| … |partition …|entries|header|
//!              └───── 2. ──────┘                 └──── 1. ────┘   3. the disk is cut here
//! ```
//!
//! A pure function: it reads, and says what is to be written. The copy of a GPT is written at the
//! new end first, where nothing of worth lies any more; then, in one write, all of the first
//! copy; so at every moment one of the two that were there is whole. An MBR changes in one sector.
//! The disk is cut last. Whatever ends this in between, the same call says what is left to do.
//!
//! Refused is what it does not understand: logical partitions, tables that are damaged, a GPT
//! beside other entries in the first sector, one whose entries do not follow its header, and
//! partitions with something behind them.

use super::gpt::{self, Header};
use super::mbr;
use super::table::{Disk, Partition, Scheme, read_table};
use crate::{Error, Kind, Range, Result};

/// Partitions and disks end on multiples of this, as partitioning programs make them.
const ALIGNMENT: u64 = 1 << 20;
const SECTOR: u64 = 512;
// Where the fields of a GPT's header are that change.
const SUM: usize = 16;
const HERE: usize = 24;
const OTHER: usize = 32;
const LAST: usize = 48;
const DISK: std::ops::Range<usize> = 56..72;
const ENTRIES: usize = 72;
const ENTRIES_SUM: usize = 88;
/// Where an entry says its last block.
const ENTRY_LAST: usize = 40;

/// How the last partition of a disk ends earlier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortening {
    /// The partition then.
    pub partition: Range,
    /// The size of the disk then.
    pub size: u64,
    /// What is written and where; each is durable before the next one.
    pub writes: Vec<(u64, Vec<u8>)>,
    /// Where copies of the table lie that go with the end of the disk.
    pub copies: Vec<Range>,
}

/// Says how partition `number` of a disk of `size` bytes, of which the first `len` bytes are
/// needed, becomes as short as that; `read` gives the bytes of a range. An error of kind
/// [`Kind::Invalid`] says why it cannot.
pub fn shorten(
    size: u64,
    number: u32,
    len: u64,
    mut read: impl FnMut(Range) -> Result<Vec<u8>>,
) -> Result<Shortening> {
    let Some(table) = read_table(size, SECTOR as u32, &mut read)? else {
        return refused("it has no partition table");
    };
    if let Some(remark) = table.remarks.first() {
        return refused(format_args!("{remark}; repair the table first"));
    }
    let mut all = table.partitions.iter();
    let Some(ours) = all.find(|one| one.number == number) else {
        return refused(format_args!("there is no partition {number}"));
    };
    let mut others = table.partitions.iter().filter(|one| one.number != number);
    if let Some(other) = others.find(|other| other.range.end() > ours.range.start()) {
        return refused(format_args!("partition {} lies behind it", other.number));
    }
    let end = ours.range.start().saturating_add(len.max(SECTOR));
    let end = end.next_multiple_of(ALIGNMENT).min(ours.range.end());
    let partition = Range::new(ours.range.start(), end - ours.range.start());
    match table.scheme {
        Scheme::Mbr => shorten_mbr(size, ours, partition, &mut read),
        Scheme::Gpt | Scheme::GptBackup => shorten_gpt(size, number, partition, &mut read),
    }
}

fn shorten_mbr(
    size: u64,
    ours: &Partition,
    partition: Range,
    read: &mut impl FnMut(Range) -> Result<Vec<u8>>,
) -> Result<Shortening> {
    let mut sector = read(Range::new(0, SECTOR))?;
    let Some(entries) = mbr::entries(&sector) else {
        return refused("it has no partition table");
    };
    if ours.number as usize > entries.len() {
        return refused(format_args!(
            "partition {} is a logical one; only primary ones are made shorter",
            ours.number
        ));
    }
    let is_behind = |entry: &&mbr::Entry| entry.end() * SECTOR > partition.start();
    let mut extended = entries.iter().filter(|entry| entry.is_extended());
    if extended.any(|entry| is_behind(&entry)) {
        return refused("an extended partition lies behind it");
    }
    let mut writes = Vec::new();
    if partition != ours.range {
        let first = partition.start() / SECTOR;
        let count = partition.len() / SECTOR;
        mbr::set_length(&mut sector, ours.number as usize - 1, first, count);
        writes.push((0, sector));
    }
    Ok(Shortening {
        partition,
        size: partition.end().next_multiple_of(ALIGNMENT).min(size),
        writes,
        copies: Vec::new(),
    })
}

fn shorten_gpt(
    size: u64,
    number: u32,
    partition: Range,
    read: &mut impl FnMut(Range) -> Result<Vec<u8>>,
) -> Result<Shortening> {
    let Some((disk, header)) = gpt::first(size, read)? else {
        return refused("the GPT at its beginning is damaged; repair the table first");
    };
    let block = disk.block;
    if header.entries.start() != 2 * block {
        return refused("the entries of its GPT do not follow the header");
    }
    let array = header.entries.len().next_multiple_of(block);
    let behind = array + block;
    let needed = partition.end() + behind;
    let new = needed.next_multiple_of(ALIGNMENT).min(size / block * block);
    let mut front = read(Range::new(0, 2 * block + array))?;
    if new < needed || !partition.end().is_multiple_of(block) {
        return refused("there is no room for the copy of its GPT");
    }
    if !mbr::protect(&mut front, new / block - 1) {
        return refused("its first sector has entries beside the one that protects the GPT");
    }
    let (head, entries) = front.split_at_mut(2 * block as usize);
    let head = &mut head[block as usize..];
    let entry = (number as usize - 1) * header.entry_len;
    let last = partition.end() / block - 1;
    set(entries, entry + ENTRY_LAST, last);
    let entries_sum = crc32fast::hash(&entries[..header.entries.len() as usize]);
    head[ENTRIES_SUM..ENTRIES_SUM + 4].copy_from_slice(&entries_sum.to_le_bytes());
    let copy_at = new / block - 1;
    let copies = copies(disk, (&header, head), read)?;
    set(head, OTHER, copy_at);
    set(head, LAST, (new - behind) / block - 1);
    seal(head);
    let mut copy = head.to_vec();
    set(&mut copy, HERE, copy_at);
    set(&mut copy, OTHER, 1);
    set(&mut copy, ENTRIES, (new - behind) / block);
    seal(&mut copy);
    let back = [&*entries, &copy[..]].concat();
    let mut writes = vec![(new - behind, back), (0, front)];
    let mut is_there = true;
    for (at, bytes) in &writes {
        is_there &= read(Range::new(*at, bytes.len() as u64))? == *bytes;
    }
    if is_there {
        writes.clear();
    }
    Ok(Shortening {
        partition,
        size: new,
        writes,
        copies,
    })
}

/// Where copies of the table lie: where the header says, and at the end of the disk.
fn copies(
    disk: Disk,
    (header, head): (&Header, &[u8]),
    read: &mut impl FnMut(Range) -> Result<Vec<u8>>,
) -> Result<Vec<Range>> {
    let mut found = Vec::new();
    for at in [header.other, (disk.size / disk.block).saturating_sub(1)] {
        let Some(place) = disk.blocks(at, 1).filter(|_| at > 1) else {
            continue;
        };
        let bytes = read(place)?;
        let Some(copy) = gpt::header(disk, at, &bytes) else {
            continue;
        };
        // The copy of another table would be somebody's data.
        if bytes[DISK] == head[DISK] && copy.entries.len() == header.entries.len() {
            let len = copy.entries.len().next_multiple_of(disk.block);
            found.push(place);
            found.push(Range::new(copy.entries.start(), len));
        }
    }
    Ok(found)
}

/// Writes the checksum of a header, which is made while its own four bytes are zero.
fn seal(head: &mut [u8]) {
    let len = u32::from_le_bytes([head[12], head[13], head[14], head[15]]);
    head[SUM..SUM + 4].fill(0);
    let sum = crc32fast::hash(&head[..len as usize]);
    head[SUM..SUM + 4].copy_from_slice(&sum.to_le_bytes());
}

fn set(bytes: &mut [u8], at: usize, number: u64) {
    bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
}

fn refused<T>(what: impl std::fmt::Display) -> Result<T> {
    Err(Error::new(Kind::Invalid, what.to_string()))
}

#[cfg(test)]
mod tests;
