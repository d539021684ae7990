//! GUID partition tables.
//!
//! A header block (at block 1, and a copy at the last block) says where the array of entries is,
//! and carries checksums of itself and of the array.

use super::table::{Disk, Found, PartitionType, Scheme, Table};
use crate::{Range, Result};

/// The largest array of entries that is read, in bytes; usual are 16 KiB.
const ENTRIES_MAX: u64 = 1 << 20;
/// The header of revision 1.0, in bytes.
const HEADER_MIN: usize = 92;
const ENTRY_MIN: u32 = 128;
const ENTRY_MAX: u32 = 4096;

/// The blocks that disks have: an image does not say which were its disk's.
pub(super) const BLOCKS: [u64; 2] = [512, 4096];

/// What of a header is needed.
pub(super) struct Header {
    pub(super) entries: Range,
    pub(super) entry_len: usize,
    entries_crc: u32,
    /// The block of the other copy.
    pub(super) other: u64,
}

/// A copy of the table: its header, and its entries if those are what the header says.
pub(super) struct Copy {
    pub(super) header: Header,
    pub(super) entries: Option<Vec<u8>>,
}

/// The copy whose header is block `at`; `None` if there is no valid header.
pub(super) fn copy(
    disk: Disk,
    at: u64,
    read: &mut impl FnMut(Range) -> Result<Vec<u8>>,
) -> Result<Option<Copy>> {
    let Some(place) = disk.blocks(at, 1) else {
        return Ok(None);
    };
    let Some(header) = header(disk, at, &read(place)?) else {
        return Ok(None);
    };
    let mut entries = read(widened(header.entries, disk))?;
    let is_whole = entries.len() as u64 >= header.entries.len();
    entries.truncate(header.entries.len() as usize);
    let is_valid = is_whole && crc32fast::hash(&entries) == header.entries_crc;
    Ok(Some(Copy {
        header,
        entries: is_valid.then_some(entries),
    }))
}

/// The header of the first copy, if that is valid, with its blocks.
pub(super) fn first(
    size: u64,
    read: &mut impl FnMut(Range) -> Result<Vec<u8>>,
) -> Result<Option<(Disk, Header)>> {
    for block in BLOCKS {
        let disk = Disk { size, block };
        let found = copy(disk, 1, read)?.filter(|found| found.entries.is_some());
        if let Some(found) = found {
            return Ok(Some((disk, found.header)));
        }
    }
    Ok(None)
}

/// The table of one copy; `None` if that copy is not valid. The other copy is where a valid first
/// header says, also if only its entries are damaged, or at the end of the disk.
pub(super) fn read(
    disk: Disk,
    scheme: Scheme,
    read: &mut impl FnMut(Range) -> Result<Vec<u8>>,
) -> Result<Option<Table>> {
    let last = (disk.size / disk.block).saturating_sub(1);
    let mut places = vec![1];
    if scheme == Scheme::GptBackup {
        let first = copy(disk, 1, read)?;
        let named = first.map(|first| first.header.other);
        places = named.into_iter().filter(|at| *at > 1).collect();
        places.push(last);
    }
    for at in places {
        let Some(found) = copy(disk, at, read)? else {
            continue;
        };
        let Some(entries) = found.entries else {
            continue;
        };
        let mut table = Table::new(scheme);
        let each = entries.chunks_exact(found.header.entry_len);
        for (entry, number) in each.zip(1..) {
            add(disk, number, entry, &mut table);
        }
        if scheme == Scheme::GptBackup {
            let place = if at == last { " at the end" } else { "" };
            table.remark(format_args!(
                "the GPT at the beginning of the disk is damaged; its copy{place} is used"
            ));
        }
        return Ok(Some(table));
    }
    Ok(None)
}

/// The whole blocks of an array that begins on a block.
fn widened(range: Range, disk: Disk) -> Range {
    let len = range.len().next_multiple_of(disk.block);
    Range::new(range.start(), len.min(disk.size - range.start()))
}

pub(super) fn header(disk: Disk, at: u64, block: &[u8]) -> Option<Header> {
    let u32_at = |at: usize| Some(u32::from_le_bytes(block.get(at..at + 4)?.try_into().ok()?));
    let u64_at = |at: usize| Some(u64::from_le_bytes(block.get(at..at + 8)?.try_into().ok()?));
    if block.get(..8)? != b"EFI PART" {
        return None;
    }
    let len = u32_at(12)? as usize;
    if len < HEADER_MIN {
        return None;
    }
    // The checksum was made while its own four bytes were zero.
    let mut summed = block.get(..len)?.to_vec();
    summed[16..20].fill(0);
    if crc32fast::hash(&summed) != u32_at(16)? || u64_at(24)? != at {
        return None;
    }
    let (count, entry_len) = (u32_at(80)?, u32_at(84)?);
    let sane = (ENTRY_MIN..=ENTRY_MAX).contains(&entry_len) && entry_len.is_multiple_of(8);
    let len = u64::from(count) * u64::from(entry_len);
    if !sane || len > ENTRIES_MAX {
        return None;
    }
    let start = u64_at(72)?.checked_mul(disk.block)?;
    let entries = Range::checked(start, len).filter(|range| range.end() <= disk.size)?;
    Some(Header {
        entries,
        entry_len: entry_len as usize,
        entries_crc: u32_at(88)?,
        other: u64_at(32)?,
    })
}

/// `entry` has at least 128 bytes.
fn add(disk: Disk, number: u32, entry: &[u8], table: &mut Table) {
    let mut kind = [0; 16];
    kind.copy_from_slice(&entry[..16]);
    if kind == [0; 16] {
        return;
    }
    let block_at = |at: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&entry[at..at + 8]);
        u64::from_le_bytes(bytes)
    };
    let (first, last) = (block_at(32), block_at(40));
    let units: Vec<u16> = entry[56..128]
        .chunks(2)
        .map(|unit| u16::from_le_bytes([unit[0], unit[1]]))
        .take_while(|&unit| unit != 0)
        .collect();
    // A partition that ends before it begins has no blocks, and is left out like one that is
    // outside.
    let count = last
        .checked_sub(first)
        .map_or(0, |count| count.saturating_add(1));
    table.add(
        disk,
        Found {
            number,
            first,
            count,
            kind: PartitionType::Gpt(kind),
            name: &String::from_utf16_lossy(&units),
        },
    );
}
