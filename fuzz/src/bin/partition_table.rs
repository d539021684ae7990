//! A disk's partition table: any bytes are a table, none, or an error that says what is wrong.
//! Reading costs a bounded number of reads, and what is found lies on the disk.
//!
//! The checksums of a GPT in the first blocks are put right first, or nothing would get past them.
#![no_main]

use block::Kind;
use block::partition::read_table;
use libfuzzer_sys::fuzz_target;

/// Four extended partitions of as many logical ones as are followed, and the copies of a GPT.
const READS_MAX: usize = 4 * 128 + 9;

fuzz_target!(|bytes: &[u8]| {
    let mut disk = bytes.to_vec();
    mend(&mut disk);
    for block in [512, 4096] {
        let (mut reads, mut read_bytes) = (0, 0);
        let table = read_table(disk.len() as u64, block, |range| {
            reads += 1;
            read_bytes += range.len();
            Ok(disk[range.start() as usize..range.end() as usize].to_vec())
        });
        assert!(reads <= READS_MAX);
        assert!(read_bytes <= 16 << 20);
        match table {
            Ok(Some(table)) => {
                for partition in &table.partitions {
                    assert!(!partition.range.is_empty());
                    assert!(partition.range.end() <= disk.len() as u64);
                }
                assert!(table.remarks.iter().all(|remark| remark.len() < 300));
            }
            Ok(None) => {}
            Err(error) => assert_eq!(error.kind(), Kind::Invalid),
        }
    }
});

fn mend(disk: &mut [u8]) {
    let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    let Some(header) = disk.get(512..604) else {
        return;
    };
    let (at, sizes) = (number(&header[72..80]), number(&header[80..88]));
    let start = at.saturating_mul(512);
    let end = start.saturating_add((sizes & 0xffff_ffff).saturating_mul(sizes >> 32));
    if let Some(entries) = disk.get(start as usize..end as usize) {
        let sum = crc32fast::hash(entries);
        disk[600..604].copy_from_slice(&sum.to_le_bytes());
    }
    disk[528..532].fill(0);
    let sum = crc32fast::hash(&disk[512..604]);
    disk[528..532].copy_from_slice(&sum.to_le_bytes());
}
