//! What a partition table says, whichever kind it is.

use std::fmt;

use super::{gpt, mbr};
use crate::{BlockingDevice, Device, Error, Kind, Range, Result};

/// Which kind of table it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// The PC's table in the first sector.
    Mbr,
    /// A GUID partition table, from its first copy.
    Gpt,
    /// A GUID partition table whose first copy is damaged: from the copy at the end of the disk.
    GptBackup,
}

/// What a partition is for, as the table says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PartitionType {
    /// MBR's type byte; Linux LVM is 0x8e.
    Mbr(u8),
    /// GPT's type, in the byte order of the disk.
    Gpt([u8; 16]),
}

/// E6D6D379-F507-44C2-A23C-238F2A3DF928, in the byte order of the disk.
const GPT_LVM: [u8; 16] = [
    0x79, 0xd3, 0xd6, 0xe6, 0x07, 0xf5, 0xc2, 0x44, 0xa2, 0x3c, 0x23, 0x8f, 0x2a, 0x3d, 0xf9, 0x28,
];

impl PartitionType {
    /// Whether it is marked as a physical volume. Others may be one all the same.
    pub fn is_lvm(self) -> bool {
        match self {
            Self::Mbr(byte) => byte == 0x8e,
            Self::Gpt(guid) => guid == GPT_LVM,
        }
    }
}

/// One partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// Its number, as Linux counts: MBR's logical ones begin at 5.
    pub number: u32,
    /// Where it is, in bytes.
    pub range: Range,
    /// What it is for.
    pub kind: PartitionType,
    /// Its name; MBR has none.
    pub name: String,
}

/// A partition table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Which kind it is.
    pub scheme: Scheme,
    /// What lies on the disk, by number.
    pub partitions: Vec<Partition>,
    /// What is wrong with the table though it can be used, for people.
    pub remarks: Vec<String>,
}

impl Table {
    pub(super) fn new(scheme: Scheme) -> Self {
        Self {
            scheme,
            partitions: Vec::new(),
            remarks: Vec::new(),
        }
    }

    pub(super) fn remark(&mut self, remark: fmt::Arguments<'_>) {
        self.remarks.push(remark.to_string());
    }

    /// Takes a partition of blocks `first` to `first + count`, if the disk has them.
    pub(super) fn add(&mut self, disk: Disk, found: Found<'_>) {
        let Found { number, .. } = found;
        let range = disk.blocks(found.first, found.count);
        match range {
            Some(range) if !range.is_empty() => self.partitions.push(Partition {
                number,
                range,
                kind: found.kind,
                name: found.name.to_owned(),
            }),
            _ => self.remark(format_args!(
                "partition {number} ({} blocks of {} from block {}) does not fit on the disk and \
                 is left out",
                found.count, disk.block, found.first
            )),
        }
    }

    fn remark_overlaps(&mut self) {
        let mut order: Vec<&Partition> = self.partitions.iter().collect();
        order.sort_by_key(|partition| partition.range.start());
        let overlapping = order.windows(2).filter_map(|pair| {
            let (one, other) = (pair[0], pair[1]);
            one.range.intersection(other.range)?;
            Some(format!(
                "partitions {} and {} overlap",
                one.number, other.number
            ))
        });
        let remarks: Vec<String> = overlapping.collect();
        self.remarks.extend(remarks);
    }
}

/// A partition as its table describes it.
#[derive(Clone, Copy)]
pub(super) struct Found<'a> {
    pub(super) number: u32,
    pub(super) first: u64,
    pub(super) count: u64,
    pub(super) kind: PartitionType,
    pub(super) name: &'a str,
}

/// What the readers know of the disk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Disk {
    /// Bytes.
    pub(super) size: u64,
    /// The unit of the table's numbers, in bytes.
    pub(super) block: u64,
}

impl Disk {
    /// `count` blocks from block `first`, in bytes, if the disk has them.
    pub(super) fn blocks(self, first: u64, count: u64) -> Option<Range> {
        let start = first.checked_mul(self.block)?;
        let range = Range::checked(start, count.checked_mul(self.block)?)?;
        (range.end() <= self.size).then_some(range)
    }
}

/// Reads the partition table of a disk of `size` bytes with blocks of `logical_block` bytes
/// through `read`, which gives the bytes of a range. `None`: there is no table. An error of `read`
/// is passed on; a table that cannot be used is [`Kind::Invalid`].
pub fn read_table(
    size: u64,
    logical_block: u32,
    mut read: impl FnMut(Range) -> Result<Vec<u8>>,
) -> Result<Option<Table>> {
    let block = u64::from(logical_block.clamp(512, 64 << 10));
    let disk = Disk { size, block };
    let Some(first) = disk.blocks(0, 1) else {
        return Ok(None);
    };
    let sector = read(first)?;
    let Some(entries) = mbr::entries(&sector) else {
        return Ok(None);
    };
    let table = if entries.iter().any(|entry| entry.kind == mbr::PROTECTIVE) {
        Some(read_gpt(disk, &mut read)?)
    } else {
        mbr::read(disk, entries, &mut read)?
    };
    Ok(table.map(|mut table| {
        table.remark_overlaps();
        table
    }))
}

/// An image does not say how large the blocks of its disk were, so both sizes in use are tried.
fn read_gpt(disk: Disk, read: &mut impl FnMut(Range) -> Result<Vec<u8>>) -> Result<Table> {
    let mut blocks = vec![disk.block];
    blocks.extend(gpt::BLOCKS.into_iter().filter(|&size| size != disk.block));
    for scheme in [Scheme::Gpt, Scheme::GptBackup] {
        for &block in &blocks {
            if let Some(table) = gpt::read(Disk { block, ..disk }, scheme, read)? {
                return Ok(table);
            }
        }
    }
    let what = "the first sector announces a GPT, but neither of its copies is valid; \
                restore it (for instance with gdisk)";
    Err(Error::new(Kind::Invalid, what))
}

/// The partition table of `device`; `None` if it has none.
pub fn table_of(device: &dyn Device) -> Result<Option<Table>> {
    let mut blocking = BlockingDevice::open(device)?;
    let info = blocking.info().clone();
    read_table(info.size, info.logical_block, |range| blocking.read(range)).map_err(|error| {
        match error.kind() {
            Kind::Invalid => Error::new(Kind::Invalid, format!("{}: {error}", info.name)),
            _ => error,
        }
    })
}
