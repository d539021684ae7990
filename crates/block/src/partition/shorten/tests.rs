//! Tests: shorter tables are whole at every moment, and what is not understood is refused.

use super::{Shortening, abandoned_copy, shorten};
use crate::partition::{Scheme, Table, read_table};
use crate::{Kind, Range, Result};

const MIB: usize = 1 << 20;

fn bytes(disk: &[u8], range: Range) -> Vec<u8> {
    disk[range.start() as usize..range.end() as usize].to_vec()
}

fn shortened(disk: &[u8], number: u32, len: usize) -> Result<Shortening> {
    shorten(disk.len() as u64, number, len as u64, |range| {
        Ok(bytes(disk, range))
    })
}

fn refusal(disk: &[u8], number: u32) -> String {
    let error = shortened(disk, number, MIB).expect_err("it is refused");
    assert_eq!(error.kind(), Kind::Invalid);
    error.to_string()
}

fn table(disk: &[u8]) -> Result<Option<Table>> {
    read_table(disk.len() as u64, 512, |range| Ok(bytes(disk, range)))
}

/// Where the partitions of a table lie, in MiB.
fn places(disk: &[u8]) -> Vec<(u32, u64, u64)> {
    let table = table(disk).expect("it can be used").expect("there is one");
    let mib = |bytes: u64| {
        assert_eq!(bytes % MIB as u64, 0, "{bytes}");
        bytes / MIB as u64
    };
    let all = table.partitions.iter();
    all.map(|one| (one.number, mib(one.range.start()), mib(one.range.len())))
        .collect()
}

fn mbr_entry(disk: &mut [u8], index: usize, kind: u8, (first, count): (usize, usize)) {
    let entry = &mut disk[446 + 16 * index..][..16];
    entry[4] = kind;
    entry[8..12].copy_from_slice(&(first as u32).to_le_bytes());
    entry[12..16].copy_from_slice(&(count as u32).to_le_bytes());
    disk[510..512].copy_from_slice(&[0x55, 0xaa]);
}

/// What a GPT looks like.
#[derive(Clone, Copy)]
struct Form {
    block: usize,
    count: usize,
    entry_len: usize,
    /// The block of the first entries.
    entries_at: usize,
    /// The disk.
    size: usize,
    /// Where the last partition ends.
    end: usize,
}

const USUAL: Form = Form {
    block: 512,
    count: 128,
    entry_len: 128,
    entries_at: 2,
    size: 16 * MIB,
    end: 15 * MIB,
};

/// A disk with partitions at 1-2 MiB and, number 3, from 3 MiB on.
fn gpt(form: Form) -> Vec<u8> {
    let Form {
        block,
        count,
        entry_len,
        entries_at,
        size,
        end,
    } = form;
    let mut disk = vec![0; size];
    mbr_entry(&mut disk, 0, 0xee, (1, size / 512 - 1));
    let array = (count * entry_len).next_multiple_of(block);
    let mut entries = vec![0; array];
    for (index, first, last) in [(0, MIB, 2 * MIB), (2, 3 * MIB, end)] {
        let entry = &mut entries[entry_len * index..][..entry_len];
        entry[..16].fill(7);
        entry[32..40].copy_from_slice(&((first / block) as u64).to_le_bytes());
        entry[40..48].copy_from_slice(&((last / block - 1) as u64).to_le_bytes());
    }
    let end = disk.len() / block - 1;
    let places = [(1, end, entries_at), (end, 1, end - array / block)];
    for (at, other, entries_at) in places {
        let mut header = vec![0; 92];
        header[..8].copy_from_slice(b"EFI PART");
        header[8..12].copy_from_slice(&[0, 0, 1, 0]);
        header[12..16].copy_from_slice(&92_u32.to_le_bytes());
        let usable = (2 + array / block, end - array / block - 1);
        for (field, number) in [(24, at), (32, other), (40, usable.0), (48, usable.1)] {
            header[field..field + 8].copy_from_slice(&(number as u64).to_le_bytes());
        }
        header[56..72].fill(9);
        header[72..80].copy_from_slice(&(entries_at as u64).to_le_bytes());
        header[80..84].copy_from_slice(&(count as u32).to_le_bytes());
        header[84..88].copy_from_slice(&(entry_len as u32).to_le_bytes());
        let sum = crc32fast::hash(&entries[..count * entry_len]);
        header[88..92].copy_from_slice(&sum.to_le_bytes());
        let sum = crc32fast::hash(&header);
        header[16..20].copy_from_slice(&sum.to_le_bytes());
        disk[at * block..][..92].copy_from_slice(&header);
        disk[entries_at * block..][..array].copy_from_slice(&entries);
    }
    disk
}

const WAS: [(u32, u64, u64); 2] = [(1, 1, 1), (3, 3, 12)];
const IS: [(u32, u64, u64); 2] = [(1, 1, 1), (3, 3, 4)];

#[test]
fn a_gpt_is_whole_at_every_moment() {
    // Proves: for all sizes of blocks and entries, whatever number of sectors of whichever write
    // was written, one copy is whole and says the old place or the new one; the call can be made
    // again; and at the end both copies are whole at the ends of the shorter disk.
    let forms = [
        USUAL,
        Form {
            block: 4096,
            ..USUAL
        },
        Form {
            entry_len: 256,
            ..USUAL
        },
        Form { count: 56, ..USUAL },
        Form { count: 5, ..USUAL },
    ];
    for form in forms {
        let mut disk = gpt(form);
        assert_eq!(places(&disk), WAS);
        let plan = shortened(&disk, 3, 4 * MIB - 5000).expect("it can");
        assert_eq!(plan.size, 8 * MIB as u64);
        assert_eq!(plan.partition, Range::new(3 * MIB as u64, 4 * MIB as u64));
        assert_eq!(plan.copies.len(), 2, "the old copy is known");
        for (number, (at, bytes)) in plan.writes.iter().enumerate() {
            for (sector, part) in bytes.chunks(512).enumerate() {
                assert!(places(&disk) == WAS || number == 1 && places(&disk) == IS);
                if number == 0 {
                    let again = shortened(&disk, 3, 4 * MIB - 5000).expect("it can");
                    assert_eq!(again.writes, plan.writes);
                }
                let at = *at as usize + sector * 512;
                disk[at..at + part.len()].copy_from_slice(part);
            }
        }
        assert_eq!(places(&disk), IS);
        let again = shortened(&disk, 3, 4 * MIB - 5000).expect("it can");
        assert_eq!((again.size, again.writes), (plan.size, Vec::new()));
        disk.truncate(plan.size as usize);
        assert_eq!(places(&disk), IS);
        let last = shortened(&disk, 3, 4 * MIB - 5000).expect("it can");
        assert_eq!((last.size, last.writes.len()), (plan.size, 0));
        disk[form.block + 60] ^= 1;
        assert_eq!(places(&disk), IS, "the copy says the same");
        let found = table(&disk).expect("it can be used").expect("there is one");
        assert_eq!(found.scheme, Scheme::GptBackup);
    }
}

/// Where the partitions of a table lie.
fn ranges(disk: &[u8]) -> Vec<Range> {
    let table = table(disk).expect("it can be used").expect("there is one");
    table.partitions.iter().map(|one| one.range).collect()
}

/// Everything behind the partition is zero, of the table, or what is written next.
fn assert_explained(disk: &[u8], plan: &Shortening) {
    let end = plan.partition.end() as usize;
    for (at, sector) in (end..).step_by(512).zip(disk[end..].chunks(512)) {
        if *sector == [0; 512][..sector.len()] {
            continue;
        }
        let mut copies = plan.copies.iter();
        let is_of_copy = copies.any(|range| (range.start()..range.end()).contains(&(at as u64)));
        let is_next = plan.writes.iter().any(|(start, bytes)| {
            let from = at.checked_sub(*start as usize);
            from.and_then(|from| bytes.get(from..from + sector.len())) == Some(sector)
        });
        assert!(is_of_copy || is_next, "byte {at}");
    }
}

#[test]
fn disks_that_grew_are_whole_at_every_moment() {
    // Proves: of a disk that grew, by whatever size, and of one whose next copy would reach into
    // the present one: whichever part of whichever write was written, from its beginning or from
    // its end, a copy is whole, and the same call does the rest and knows everything that is left.
    let odd = Form {
        size: 15 * MIB + 4096,
        end: 14 * MIB + MIB / 2,
        ..USUAL
    };
    let large = Form {
        block: 4096,
        ..USUAL
    };
    let cases = [
        (USUAL, 8 * MIB, 8),
        (large, 8 * MIB + 512, 8),
        (USUAL, 512, 8),
        (USUAL, 8192 + 100, 16),
        (odd, 0, 15),
        (odd, MIB, 15),
    ];
    for (form, grown, mib) in cases {
        let len = (mib - 4) * MIB - 5000;
        let mut disk = gpt(form);
        disk.resize(form.size + grown, 0);
        let was = ranges(&disk);
        let plan = shortened(&disk, 3, len).expect("it can");
        let is = [was[0], plan.partition];
        let whole = disk.len() / form.block * form.block;
        let keeps = whole - mib * MIB < 33 * 512;
        let size = if keeps { whole } else { mib * MIB };
        assert_eq!(plan.size, size as u64);
        for order in [false, true] {
            let mut disk = disk.clone();
            for (number, (at, bytes)) in plan.writes.iter().enumerate() {
                let mut parts: Vec<(usize, &[u8])> = bytes.chunks(512).enumerate().collect();
                if order {
                    parts.reverse();
                }
                let is_front = number + 1 == plan.writes.len();
                for (sector, part) in parts {
                    let there = ranges(&disk);
                    assert!(
                        there == was || is_front && there == is,
                        "{number}: {there:?}"
                    );
                    if !is_front {
                        let again = shortened(&disk, 3, len).expect("it can");
                        assert_eq!(again.size, plan.size);
                        assert_explained(&disk, &again);
                    }
                    let at = *at as usize + sector * 512;
                    disk[at..at + part.len()].copy_from_slice(part);
                }
            }
            let again = shortened(&disk, 3, len).expect("it can");
            assert_eq!((again.size, again.writes.len()), (plan.size, 0));
            assert_explained(&disk, &again);
            disk.truncate(plan.size as usize);
            disk[form.block + 60] ^= 1;
            assert_eq!(ranges(&disk), is, "the copy says the same");
        }
    }
}

#[test]
fn only_copies_of_this_table_are_taken_for_one() {
    // Proves: the copy that the header names is known as one wherever it lies, of a damaged one
    // only what is the same in the first, and that of another table not at all.
    let mut disk = gpt(USUAL);
    disk.resize(64 * MIB, 0);
    let plan = shortened(&disk, 3, 4 * MIB).expect("it can");
    let end = 16 * MIB as u64;
    let (header, entries) = (Range::new(end - 512, 512), end - 33 * 512);
    assert_eq!(plan.copies, [header, Range::new(entries, 32 * 512)]);
    assert_eq!(plan.size, 8 * MIB as u64);
    let mut damaged = disk.clone();
    damaged[entries as usize + 5 * 512] = 1;
    let plan = shortened(&damaged, 3, 4 * MIB).expect("it can");
    assert_eq!(plan.copies, [header, Range::new(entries, 512)]);
    // Two disks that were put behind each other.
    disk[16 * MIB - 512 + 56] ^= 1;
    let sum = {
        let mut header = disk[16 * MIB - 512..][..92].to_vec();
        header[16..20].fill(0);
        crc32fast::hash(&header)
    };
    disk[16 * MIB - 512 + 16..][..4].copy_from_slice(&sum.to_le_bytes());
    assert_eq!(shortened(&disk, 3, 4 * MIB).expect("it can").copies, []);
}

#[test]
fn a_first_header_says_where_the_copy_is() {
    // Proves: damaged entries behind a valid header do not hide the copy of a disk that grew.
    let mut disk = gpt(USUAL);
    disk.resize(64 * MIB, 0);
    disk[2 * 512 + 5 * 512] ^= 1;
    let found = table(&disk).expect("it can be used").expect("there is one");
    assert_eq!(found.scheme, Scheme::GptBackup);
    assert_eq!(places(&disk), WAS);
    assert!(refusal(&disk, 3).contains("repair the table first"));
}

#[test]
fn an_mbr_changes_in_one_sector() {
    // Proves: the count of the last partition, whichever number it has, and nothing else.
    let mut disk = vec![0; 16 * MIB];
    mbr_entry(&mut disk, 2, 0x8e, (3 * 2048, 13 * 2048));
    mbr_entry(&mut disk, 0, 0x83, (2048, 2048));
    let plan = shortened(&disk, 3, 4 * MIB - 1).expect("it can");
    assert_eq!(plan.size, 7 * MIB as u64);
    let [(0, sector)] = &plan.writes[..] else {
        panic!("{:?}", plan.writes);
    };
    disk[..512].copy_from_slice(sector);
    assert_eq!(places(&disk), IS);
    assert!(
        shortened(&disk, 3, 4 * MIB)
            .expect("it can")
            .writes
            .is_empty()
    );
    disk.truncate(plan.size as usize);
    assert_eq!(places(&disk), IS);
}

#[test]
fn what_is_not_understood_is_refused() {
    // Proves: each of them with a reason.
    let mut disk = gpt(USUAL);
    assert!(refusal(&disk, 1).contains("partition 3 lies behind it"));
    assert!(refusal(&disk, 2).contains("there is no partition 2"));
    mbr_entry(&mut disk, 1, 0x83, (2048, 2048));
    assert!(refusal(&disk, 3).contains("beside the one that protects"));
    let far = Form {
        entries_at: 40,
        ..USUAL
    };
    assert!(refusal(&gpt(far), 3).contains("do not follow the header"));
    let mut disk = gpt(USUAL);
    disk[512 + 60] ^= 1;
    assert!(refusal(&disk, 3).contains("repair the table first"));
    let mut disk = vec![0; 16 * MIB];
    assert!(refusal(&disk, 3).contains("no partition table"));
    mbr_entry(&mut disk, 0, 0x8e, (2048, 2048));
    mbr_entry(&mut disk, 1, 0x05, (3 * 2048, 8 * 2048));
    mbr_entry(&mut disk[3 * MIB..], 0, 0x8e, (2048, 2048));
    assert!(refusal(&disk, 5).contains("only primary ones"));
    disk[3 * MIB..3 * MIB + 512].fill(0);
    disk[3 * MIB + 510..3 * MIB + 512].copy_from_slice(&[0x55, 0xaa]);
    assert!(refusal(&disk, 1).contains("extended partition lies behind"));
}

#[test]
fn what_an_interrupted_call_left_is_known_to_one_that_needs_less() {
    // Proves: whichever sectors of the copy at a new end were written before a call was
    // interrupted, one that makes the disk still shorter tells them from somebody's data.
    let large = Form {
        block: 4096,
        ..USUAL
    };
    for form in [USUAL, large] {
        let disk = gpt(form);
        let plan = shortened(&disk, 3, 4 * MIB).expect("it can");
        let (start, copy) = &plan.writes[0];
        let count = copy.len() / 512;
        let written = (0..=count).flat_map(|some| [0..some, some..count]);
        for sectors in written {
            let mut disk = disk.clone();
            for sector in sectors.clone() {
                let at = *start as usize + sector * 512;
                disk[at..at + 512].copy_from_slice(&copy[sector * 512..][..512]);
            }
            let mut less = shortened(&disk, 3, 2 * MIB).expect("it can");
            assert!(less.size < *start);
            let read = |range| Ok(bytes(&disk, range));
            let known = abandoned_copy(disk.len() as u64, 3, plan.size, read).expect("is read");
            assert!(
                known
                    .iter()
                    .all(|range| range.start() >= *start && range.end() <= plan.size)
            );
            less.copies.extend(known);
            assert_explained(&disk, &less);
        }
    }
    // The data of somebody else, a place in front of everything, and partitions that are not there.
    let mut disk = gpt(USUAL);
    disk[8 * MIB - 33 * 512..8 * MIB].fill(7);
    for (number, end) in [
        (3, 8 * MIB),
        (3, 0),
        (3, 512),
        (0, 8 * MIB),
        (4000, 8 * MIB),
    ] {
        let read = |range| Ok(bytes(&disk, range));
        let known = abandoned_copy(disk.len() as u64, number, end as u64, read);
        assert_eq!(known.expect("is read"), [], "{number}, {end}");
    }
}
