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
//! copy. Meanwhile a copy at the end of the disk is whole: the one that is there, or on a disk that
//! grew one that is written before all others. Where the next copy would reach into it, the disk
//! keeps its size, and the one takes the other's place. An MBR changes in one sector. The disk is
//! cut last. Whatever ends this in between, the same call says what is left to do.
//!
//! On a disk that grew, the copy that the header names lies in the middle. It becomes zeros before
//! the first copy names another one: afterwards nothing would say what it is.
//!
//! Refused is what it does not understand: logical partitions, tables that are damaged, a GPT
//! beside other entries in the first sector, one whose entries do not follow its header, and
//! partitions with something behind them.

use std::collections::BTreeSet;

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
    assert!(ours.range.contains(partition), "it only becomes shorter");
    assert!(!partition.is_empty(), "something stays");
    match table.scheme {
        Scheme::Mbr => shorten_mbr(size, ours, partition, &mut read),
        Scheme::Gpt | Scheme::GptBackup => shorten_gpt(size, number, partition, &mut read),
    }
}

/// Says where the copy of a GPT lies that ends at byte `end` of a disk of `size` bytes: one of this
/// table, of which no header says so. A call for partition `number` that was interrupted leaves it
/// behind, and one that needs less of the disk then does not write there again.
pub fn abandoned_copy(
    size: u64,
    number: u32,
    end: u64,
    mut read: impl FnMut(Range) -> Result<Vec<u8>>,
) -> Result<Vec<Range>> {
    let Some((disk, header)) = gpt::first(size, &mut read)? else {
        return Ok(Vec::new());
    };
    let has_entry = u64::from(number) * header.entry_len as u64 <= header.entries.len();
    if header.entries.start() != 2 * disk.block || number == 0 || !has_entry || end < disk.block {
        return Ok(Vec::new());
    }
    let front = read(front(disk, &header))?;
    Present::of(disk, &header, &front, number).copies(end / disk.block - 1, &mut read)
}

/// Everything in front of the first partition's place: first sector, header, entries.
fn front(disk: Disk, header: &Header) -> Range {
    Range::new(
        0,
        2 * disk.block + header.entries.len().next_multiple_of(disk.block),
    )
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
    let whole = size / block * block;
    let mut new = needed.next_multiple_of(ALIGNMENT).min(whole);
    let front = read(front(disk, &header))?;
    if new < needed || !partition.end().is_multiple_of(block) {
        return refused("there is no room for the copy of its GPT");
    }
    if whole - new < behind {
        new = whole;
    }
    let present = Present::of(disk, &header, &front, number);
    let Some([back, next_front]) = present.shorter(&front, partition.end(), new) else {
        return refused("its first sector has entries beside the one that protects the GPT");
    };
    let back = (new - behind, back);
    let (at_end, mut kept) = (whole / block - 1, vec![Range::new(back.0, behind)]);
    let mut copies = present.copies(at_end, read)?;
    let mut writes = Vec::new();
    if new < whole && !present.is_at(at_end, read)? {
        writes.push((whole - behind, present.copy_for(at_end)));
        kept.push(Range::new(whole - behind, behind));
    }
    assert!(
        needed <= new && new <= whole,
        "the copy has room on the disk"
    );
    assert!(
        back.0 >= partition.end(),
        "the copy lies behind the partition"
    );
    debug_assert_eq!(back.1.len() as u64, behind, "the copy fills its place");
    let front = (0, next_front);
    let mut is_there = true;
    for (at, bytes) in [&back, &front] {
        is_there &= read(Range::new(*at, bytes.len() as u64))? == *bytes;
    }
    writes.push(back);
    if header.other != at_end {
        let stale = present.copies(header.other, read)?;
        let left = without(&stale, partition.end(), &kept);
        is_there &= left.is_empty();
        writes.extend(left.iter().map(zeros));
        copies.extend(stale);
    }
    writes.push(front);
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

/// A GPT as it is, from its valid first copy.
struct Present<'a> {
    disk: Disk,
    header: &'a Header,
    head: &'a [u8],
    /// Whole blocks.
    entries: &'a [u8],
    /// Where in them the last block of our partition is.
    last_at: usize,
}

impl<'a> Present<'a> {
    /// `front` has all of the first copy.
    fn of(disk: Disk, header: &'a Header, front: &'a [u8], number: u32) -> Self {
        let (head, entries) = front.split_at(2 * disk.block as usize);
        Self {
            disk,
            header,
            head: &head[disk.block as usize..],
            entries,
            last_at: (number as usize - 1) * header.entry_len + ENTRY_LAST,
        }
    }

    /// The copy at the new end, and all of the first copy, of a disk of `size` bytes on which our
    /// partition ends at `end`; `front` is the first copy now. `None`: the first sector does not
    /// only protect the GPT.
    fn shorter(&self, front: &[u8], end: u64, size: u64) -> Option<[Vec<u8>; 2]> {
        let block = self.disk.block;
        let mut front = front.to_vec();
        if !mbr::protect(&mut front, size / block - 1) {
            return None;
        }
        let (head, entries) = front.split_at_mut(2 * block as usize);
        let head = &mut head[block as usize..];
        set(entries, self.last_at, end / block - 1);
        let sum = crc32fast::hash(&entries[..self.header.entries.len() as usize]);
        head[ENTRIES_SUM..ENTRIES_SUM + 4].copy_from_slice(&sum.to_le_bytes());
        let at = size / block - 1;
        set(head, OTHER, at);
        set(head, LAST, at - entries.len() as u64 / block - 1);
        seal(head);
        let back = copy_of(head, entries, at, block);
        Some([back, front])
    }

    /// The table as it is, as a copy whose header is block `at`.
    fn copy_for(&self, at: u64) -> Vec<u8> {
        copy_of(self.head, self.entries, at, self.disk.block)
    }

    /// The copy whose header is block `at`, and whether it is one of this table: that of another
    /// one would be somebody's data.
    fn find(
        &self,
        at: u64,
        read: &mut impl FnMut(Range) -> Result<Vec<u8>>,
    ) -> Result<Option<(gpt::Copy, bool)>> {
        let Some(copy) = gpt::copy(self.disk, at, read)? else {
            return Ok(None);
        };
        let head = read(Range::new(at * self.disk.block, self.disk.block))?;
        let (ours, its) = (self.header, &copy.header);
        let is_same = head[DISK] == self.head[DISK]
            && its.entries.len() == ours.entries.len()
            && its.entry_len == ours.entry_len;
        Ok(Some((copy, is_same)))
    }

    /// Whether block `at` is the header of a valid copy that differs in nothing but that our
    /// partition was longer.
    fn is_at(&self, at: u64, read: &mut impl FnMut(Range) -> Result<Vec<u8>>) -> Result<bool> {
        let found = self.find(at, read)?.filter(|(_, is_same)| *is_same);
        let Some(mut entries) = found.and_then(|(copy, _)| copy.entries) else {
            return Ok(false);
        };
        let is = get(self.entries, self.last_at);
        let was = get(&entries, self.last_at);
        set(&mut entries, self.last_at, is);
        Ok(was >= is && entries == self.entries[..entries.len()])
    }

    /// Where the copy lies whose header is block `at`. Of one whose entries are not what its header
    /// says, as when writing it was interrupted, only what is the same as in the first copy, but
    /// for where our partition ends.
    fn copies(
        &self,
        at: u64,
        read: &mut impl FnMut(Range) -> Result<Vec<u8>>,
    ) -> Result<Vec<Range>> {
        let Some(place) = self.disk.blocks(at, 1).filter(|_| at > 1) else {
            return Ok(Vec::new());
        };
        let len = self.entries.len() as u64;
        let mut start = place.start().checked_sub(len);
        let mut found = Vec::new();
        match self.find(at, read)? {
            Some((_, false)) => return Ok(found),
            Some((copy, true)) => {
                start = Some(copy.header.entries.start());
                found.push(place);
                if copy.entries.is_some() {
                    found.push(Range::new(copy.header.entries.start(), len));
                    return Ok(found);
                }
            }
            None => {}
        }
        let array = start.and_then(|start| Range::checked(start, len));
        let Some(array) = array.filter(|array| array.end() <= self.disk.size) else {
            return Ok(found);
        };
        let there = read(array)?;
        let mut ours = self.entries.to_vec();
        set(&mut ours, self.last_at, get(&there, self.last_at));
        let pairs = sectors(&there).zip(sectors(&ours));
        for (at, (there, ours)) in (array.start()..).step_by(SECTOR as usize).zip(pairs) {
            if there == ours && there.iter().any(|byte| *byte != 0) {
                found.push(Range::new(at, SECTOR));
            }
        }
        Ok(found)
    }
}

/// A copy of a table: its entries, then its header, which is block `at`.
fn copy_of(head: &[u8], entries: &[u8], at: u64, block: u64) -> Vec<u8> {
    debug_assert!(
        (entries.len() as u64).is_multiple_of(block),
        "entries fill blocks"
    );
    let mut copy = head.to_vec();
    set(&mut copy, HERE, at);
    set(&mut copy, OTHER, 1);
    set(&mut copy, ENTRIES, at - entries.len() as u64 / block);
    seal(&mut copy);
    [entries, &copy].concat()
}

/// What of `ranges` lies behind `start` and in none of `others`: one range for what is together.
fn without(ranges: &[Range], start: u64, others: &[Range]) -> Vec<Range> {
    let all = ranges.iter();
    let all = all.flat_map(|range| (range.start()..range.end()).step_by(SECTOR as usize));
    let is_in = |at: u64| {
        others
            .iter()
            .any(|other| (other.start()..other.end()).contains(&at))
    };
    let left: BTreeSet<u64> = all.filter(|at| *at >= start && !is_in(*at)).collect();
    let mut found: Vec<Range> = Vec::new();
    for at in left {
        match found.last_mut() {
            Some(last) if last.end() == at => *last = Range::new(last.start(), last.len() + SECTOR),
            _ => found.push(Range::new(at, SECTOR)),
        }
    }
    found
}

fn zeros(range: &Range) -> (u64, Vec<u8>) {
    (range.start(), vec![0; range.len() as usize])
}

fn sectors(bytes: &[u8]) -> std::slice::Chunks<'_, u8> {
    bytes.chunks(SECTOR as usize)
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

fn get(bytes: &[u8], at: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(number)
}

fn refused<T>(what: impl std::fmt::Display) -> Result<T> {
    Err(Error::new(Kind::Invalid, what.to_string()))
}

#[cfg(test)]
mod tests;
