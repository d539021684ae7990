//! The PC's partition table.
//!
//! The last 66 bytes of the first sector: four entries of 16 bytes, then 55 AA. One entry may be
//! an extended partition: a chain of sectors like the first, each with one logical partition,
//! counted from that sector, and a link to the next, counted from the extended partition's start.

use super::table::{Disk, Found, PartitionType, Scheme, Table};
use crate::{Range, Result};

/// The type of the entry that protects a GPT.
pub(super) const PROTECTIVE: u8 = 0xee;

/// Logical partitions that are looked for: far more than any system numbers.
const LOGICAL_MAX: usize = 128;

const TABLE: usize = 446;
const ENTRY: usize = 16;

/// One of four.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) kind: u8,
    first: u32,
    count: u32,
}

impl Entry {
    fn is_used(self) -> bool {
        self.kind != 0 && self.count != 0
    }

    pub(super) fn is_extended(self) -> bool {
        matches!(self.kind, 0x05 | 0x0f | 0x85) && self.count != 0
    }

    /// The first sector behind it.
    pub(super) fn end(self) -> u64 {
        u64::from(self.first) + u64::from(self.count)
    }
}

/// The entries of a sector, if it is a partition table. Boot sectors of file systems end in 55 AA
/// too, but have code where entries have a status of 0 or 0x80.
pub(super) fn entries(sector: &[u8]) -> Option<[Entry; 4]> {
    let table = sector.get(TABLE..512)?;
    let (entries, signature) = table.split_at(4 * ENTRY);
    let proper = entries
        .chunks(ENTRY)
        .all(|entry| matches!(entry[0], 0 | 0x80));
    if signature != [0x55, 0xaa] || !proper {
        return None;
    }
    let number = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    Some(std::array::from_fn(|index| {
        let entry = &entries[index * ENTRY..][..ENTRY];
        Entry {
            kind: entry[4],
            first: number(&entry[8..]),
            count: number(&entry[12..]),
        }
    }))
}

/// Gives entry `index` of a table, of a partition that begins at `first`, another length.
pub(super) fn set_length(sector: &mut [u8], index: usize, first: u64, count: u64) {
    assert!(index < 4, "a primary partition");
    assert!(count > 0, "a partition keeps a sector");
    let entry = &mut sector[TABLE + index * ENTRY..][..ENTRY];
    entry[5..8].copy_from_slice(&cylinder_head_sector(first + count - 1));
    entry[12..].copy_from_slice(&(count as u32).to_le_bytes());
}

/// Lets the entry that protects a GPT reach to sector `last`. Whether it is the only one.
pub(super) fn protect(sector: &mut [u8], last: u64) -> bool {
    let Some(found) = entries(sector) else {
        return false;
    };
    let used: Vec<usize> = (0..4).filter(|at| found[*at].kind != 0).collect();
    let [index] = used[..] else {
        return false;
    };
    let count = u32::try_from(last).unwrap_or(u32::MAX);
    let entry = &mut sector[TABLE + index * ENTRY..][..ENTRY];
    entry[12..].copy_from_slice(&count.to_le_bytes());
    found[index].kind == PROTECTIVE
}

/// A sector as old programs know it: of disks with 255 heads and 63 sectors.
fn cylinder_head_sector(at: u64) -> [u8; 3] {
    let (cylinder, head, sector) = (at / (255 * 63), at / 63 % 255, at % 63 + 1);
    debug_assert!(head < 255 && sector <= 63, "both have a byte");
    if cylinder > 1023 {
        return [254, 255, 255];
    }
    let high = (cylinder >> 2) as u8 & 0xc0;
    [head as u8, sector as u8 | high, cylinder as u8]
}

/// The table that begins with `entries`; `None` if it is empty, which is no table.
pub(super) fn read(
    disk: Disk,
    entries: [Entry; 4],
    read: &mut impl FnMut(Range) -> Result<Vec<u8>>,
) -> Result<Option<Table>> {
    if !entries.iter().any(|entry| entry.is_used()) {
        return Ok(None);
    }
    let mut table = Table::new(Scheme::Mbr);
    for (entry, number) in entries.iter().zip(1..) {
        if entry.is_used() && !entry.is_extended() {
            table.add(disk, found(number, entry, 0));
        }
    }
    // Linux numbers logical partitions through all extended ones; there is hardly ever a second.
    let mut numbers = 5..;
    for extended in entries.iter().filter(|entry| entry.is_extended()) {
        follow(disk, *extended, &mut numbers, &mut table, read)?;
    }
    Ok(Some(table))
}

fn found(number: u32, entry: &Entry, base: u64) -> Found<'static> {
    Found {
        number,
        first: base + u64::from(entry.first),
        count: entry.count.into(),
        kind: PartitionType::Mbr(entry.kind),
        name: "",
    }
}

fn follow(
    disk: Disk,
    extended: Entry,
    numbers: &mut impl Iterator<Item = u32>,
    table: &mut Table,
    read: &mut impl FnMut(Range) -> Result<Vec<u8>>,
) -> Result<()> {
    let base = u64::from(extended.first);
    let mut at = base;
    let mut seen = Vec::new();
    loop {
        let place = disk.blocks(at, 1);
        let inside = at - base < u64::from(extended.count);
        let Some(place) = place.filter(|_| inside) else {
            table.remark(format_args!(
                "the chain of logical partitions leads to block {at}, outside the extended \
                 partition; the rest is left out"
            ));
            return Ok(());
        };
        if seen.contains(&at) || seen.len() == LOGICAL_MAX {
            table.remark(format_args!(
                "the chain of logical partitions loops or is longer than {LOGICAL_MAX}; the rest \
                 is left out"
            ));
            return Ok(());
        }
        seen.push(at);
        let Some(entries) = entries(&read(place)?) else {
            table.remark(format_args!(
                "block {at} should describe a logical partition, but does not; the rest is left \
                 out"
            ));
            return Ok(());
        };
        let logical = entries
            .iter()
            .find(|one| one.is_used() && !one.is_extended());
        if let Some(logical) = logical {
            let number = numbers.next().expect("numbers do not end");
            table.add(disk, found(number, logical, at));
        }
        match entries.iter().find(|entry| entry.is_extended()) {
            Some(next) => at = base + u64::from(next.first),
            None => return Ok(()),
        }
    }
}
