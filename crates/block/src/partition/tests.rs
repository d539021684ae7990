//! Tables of both kinds are read, damaged and hostile ones are survived.

use std::sync::Arc;

use proptest::prelude::{ProptestConfig, any, prop, proptest};

use super::{Partition, PartitionDevice, PartitionType, Scheme, Table, read_table, table_of};
use crate::memory::MemoryDevice;
use crate::{BlockingDevice, Device, Kind, Range, Result};

const MIB: u64 = 1 << 20;

fn table(disk: &[u8], block: u32) -> Result<Option<Table>> {
    let mut reads = 0;
    read_table(disk.len() as u64, block, |range| {
        reads += 1;
        assert!(reads < 300, "reads are bounded");
        Ok(disk[range.start() as usize..range.end() as usize].to_vec())
    })
}

/// Writes an MBR entry: `(index, type, first, count)`.
fn entry(sector: &mut [u8], index: usize, kind: u8, first: u32, count: u32) {
    let entry = &mut sector[446 + 16 * index..][..16];
    entry[4] = kind;
    entry[8..12].copy_from_slice(&first.to_le_bytes());
    entry[12..16].copy_from_slice(&count.to_le_bytes());
    sector[510..512].copy_from_slice(&[0x55, 0xaa]);
}

fn places(table: &Table) -> Vec<(u32, u64, u64)> {
    let place = |one: &Partition| (one.number, one.range.start() / 512, one.range.len() / 512);
    table.partitions.iter().map(place).collect()
}

#[test]
fn primary_and_logical_partitions_are_numbered_like_linux() {
    // Two primaries and a chain of two logical ones, each relative to its own base.
    let mut disk = vec![0; 2 * MIB as usize];
    entry(&mut disk, 0, 0x8e, 63, 100);
    entry(&mut disk, 1, 0x05, 1000, 2000);
    entry(&mut disk, 3, 0x83, 200, 50);
    entry(&mut disk[1000 * 512..], 0, 0x8e, 10, 20);
    entry(&mut disk[1000 * 512..], 1, 0x05, 500, 100);
    entry(&mut disk[1500 * 512..], 0, 0x83, 5, 6);
    let table = table(&disk, 512).unwrap().unwrap();
    assert_eq!(table.scheme, Scheme::Mbr);
    let expected = [(1, 63, 100), (4, 200, 50), (5, 1010, 20), (6, 1505, 6)];
    assert_eq!(places(&table), expected);
    assert!(table.remarks.is_empty(), "{:?}", table.remarks);
    assert!(table.partitions[0].kind.is_lvm() && !table.partitions[1].kind.is_lvm());
}

#[test]
fn chains_that_loop_or_leave_are_cut() {
    // A chain back to its start, one out of the extended partition and one into nothing end.
    for (next, remark) in [(0, "loops"), (5000, "outside"), (100, "does not")] {
        let mut disk = vec![0; 2 * MIB as usize];
        entry(&mut disk, 0, 0x0f, 1000, 2000);
        entry(&mut disk[1000 * 512..], 0, 0x83, 10, 20);
        entry(&mut disk[1000 * 512..], 1, 0x05, next, 100);
        let table = table(&disk, 512).unwrap().unwrap();
        assert_eq!(places(&table), [(5, 1010, 20)]);
        assert!(table.remarks[0].contains(remark), "{:?}", table.remarks);
    }
}

#[test]
fn what_does_not_fit_or_overlaps_is_said() {
    // A partition beyond the end is left out, overlapping ones stay; both are remarked.
    let mut disk = vec![0; MIB as usize];
    entry(&mut disk, 0, 0x83, 1, 100);
    entry(&mut disk, 1, 0x83, 50, 100);
    entry(&mut disk, 2, 0x83, 2000, u32::MAX);
    let table = table(&disk, 512).unwrap().unwrap();
    assert_eq!(places(&table), [(1, 1, 100), (2, 50, 100)]);
    assert_eq!(table.remarks.len(), 2);
}

#[test]
fn other_first_sectors_are_no_table() {
    // Zeros, an empty table, a boot sector, a disk shorter than a sector.
    let mut disk = vec![0; MIB as usize];
    assert_eq!(table(&disk, 512).unwrap(), None);
    disk[510..512].copy_from_slice(&[0x55, 0xaa]);
    assert_eq!(table(&disk, 512).unwrap(), None);
    disk[446..500].fill(0x41);
    assert_eq!(table(&disk, 512).unwrap(), None);
    assert_eq!(table(&disk[..100], 512).unwrap(), None);
}

/// A disk with a GPT in both places: partition 1, "data", of 100 blocks from 40, and 3 behind it.
fn gpt(block: usize) -> Vec<u8> {
    let mut disk = vec![0; block * 2048];
    entry(&mut disk, 0, 0xee, 1, u32::MAX);
    let mut entries = vec![0; 128 * 128];
    for (index, first, last, name) in [(0, 40_u64, 139_u64, "data"), (2, 140, 140, "é")] {
        let entry = &mut entries[128 * index..][..128];
        entry[..16].fill(7);
        entry[32..40].copy_from_slice(&first.to_le_bytes());
        entry[40..48].copy_from_slice(&last.to_le_bytes());
        for (at, unit) in name.encode_utf16().enumerate() {
            entry[56 + 2 * at..][..2].copy_from_slice(&unit.to_le_bytes());
        }
    }
    let entries_blocks = entries.len() / block;
    for (at, entries_at) in [(1, 2), (2047, 2047 - entries_blocks)] {
        let mut header = vec![0; 92];
        header[..8].copy_from_slice(b"EFI PART");
        header[12..16].copy_from_slice(&92_u32.to_le_bytes());
        header[24..32].copy_from_slice(&(at as u64).to_le_bytes());
        header[72..80].copy_from_slice(&(entries_at as u64).to_le_bytes());
        header[80..84].copy_from_slice(&128_u32.to_le_bytes());
        header[84..88].copy_from_slice(&128_u32.to_le_bytes());
        header[88..92].copy_from_slice(&crc32fast::hash(&entries).to_le_bytes());
        let sum = crc32fast::hash(&header);
        header[16..20].copy_from_slice(&sum.to_le_bytes());
        disk[at * block..][..92].copy_from_slice(&header);
        disk[entries_at * block..][..entries.len()].copy_from_slice(&entries);
    }
    disk
}

#[test]
fn a_gpt_is_read_whatever_its_block() {
    // 512 and 4096 bytes, also where the device does not say which.
    for (block, said) in [(512, 512), (4096, 4096), (4096, 512), (512, 4096)] {
        let table = table(&gpt(block), said).unwrap().unwrap();
        assert_eq!(table.scheme, Scheme::Gpt);
        let unit = block as u64;
        let ranges = table.partitions.iter().map(|one| (one.number, one.range));
        let expected = [
            (1, Range::new(40 * unit, 100 * unit)),
            (3, Range::new(140 * unit, unit)),
        ];
        assert!(ranges.eq(expected));
        assert_eq!(table.partitions[0].name, "data");
        assert_eq!(table.partitions[1].name, "é");
        assert_eq!(table.partitions[0].kind, PartitionType::Gpt([7; 16]));
    }
}

#[test]
fn the_backup_stands_in_for_a_damaged_first_copy() {
    // One flipped bit anywhere in the first copy leads to the second; in both, to an error.
    for damaged in [512 + 75, 1024 + 33] {
        let mut disk = gpt(512);
        disk[damaged] ^= 1;
        let found = table(&disk, 512).unwrap().unwrap();
        assert_eq!(found.scheme, Scheme::GptBackup);
        assert_eq!(found.partitions.len(), 2);
        assert_eq!(found.remarks.len(), 1);
        disk[2047 * 512 + 30] ^= 1;
        assert_eq!(table(&disk, 512).unwrap_err().kind(), Kind::Invalid);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn damaged_tables_are_survived(
        gpt_disk in any::<bool>(),
        hits in prop::collection::vec((0_usize..40 * 512, any::<u8>()), 0..20),
        extended in prop::collection::vec((0_usize..30, any::<u8>(), any::<u16>()), 0..40),
    ) {
        // Whatever bytes are hit, reading ends, and partitions lie on the disk.
        let mut disk = if gpt_disk { gpt(512) } else { vec![0; MIB as usize] };
        for (sector, kind, first) in extended {
            let kind = if kind < 128 { 5 } else { kind };
            let index = usize::from(kind) % 4;
            entry(&mut disk[sector * 512..], index, kind, u32::from(first) % 64, 99);
        }
        for (at, byte) in hits {
            disk[at] = byte;
        }
        disk[510..512].copy_from_slice(&[0x55, 0xaa]);
        if let Ok(Some(table)) = table(&disk, 512) {
            for partition in table.partitions {
                assert!(partition.range.end() <= disk.len() as u64);
            }
        }
    }
}

#[test]
fn a_partition_is_a_device() {
    // A window reads and writes its own bytes only, and says how it is aligned.
    let mut disk = vec![0; MIB as usize];
    entry(&mut disk, 0, 0x8e, 63, 100);
    let memory = Arc::new(MemoryDevice::from_bytes("disk", disk));
    let whole: Arc<dyn Device> = memory.clone();
    let table = table_of(&*whole).unwrap().unwrap();
    let partition = PartitionDevice::new(Arc::clone(&whole), &table.partitions[0]).unwrap();
    assert_eq!(partition.info().size, 51_200);
    assert_eq!(partition.info().name, "disk#1");
    let mut blocking = BlockingDevice::open(&partition).unwrap();
    blocking.write_at(&vec![9; 51_200], 0).unwrap();
    blocking.flush().unwrap();
    assert!(blocking.write_at(&[1], 51_200).is_err());
    let bytes = memory.snapshot();
    assert!(bytes[63 * 512..163 * 512].iter().all(|&byte| byte == 9));
    assert_eq!((bytes[63 * 512 - 1], bytes[163 * 512]), (0, 0));
    let extents = partition.extents(Range::new(0, 512), 4).unwrap();
    assert_eq!(extents.len(), 1);
    assert!(partition.extents(Range::new(0, MIB), 4).is_err());
    let outside = PartitionDevice::window(whole, Range::new(0, 2 * MIB), "w".into());
    assert!(outside.is_err());
}
