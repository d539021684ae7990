//! The journal of an array: any bytes are some entries in front of what is none, each of a row of
//! the array and with bytes for its legs; a head reads as it was written.
//!
//! The first byte says which. Checksums are mended, since no mutation finds them.
#![no_main]

use dm::raid::journal::{Bounds, Entry, Head, Session};
use libfuzzer_sys::fuzz_target;

const BOUNDS: Bounds = Bounds {
    legs: 5,
    leg_size: 1 << 20,
    chunk: 4096,
};
/// Where the sum of a head is, and what an entry's is of begins.
const HEAD_SUM: usize = 36;
const ENTRY_SUMMED: usize = 8;

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, bytes)) = bytes.split_first() else {
        return;
    };
    match kind % 2 {
        0 => head(bytes.to_vec()),
        _ => entries(bytes.to_vec()),
    }
});

fn head(mut bytes: Vec<u8>) {
    if bytes.len() >= HEAD_SUM + 4 {
        let sum = crc32fast::hash(&bytes[..HEAD_SUM]).to_le_bytes();
        bytes[HEAD_SUM..HEAD_SUM + 4].copy_from_slice(&sum);
    }
    if let Some(head) = Head::decode(&bytes) {
        assert_eq!(Head::decode(&head.encode()), Some(head));
    }
}

fn entries(mut bytes: Vec<u8>) {
    let word = |bytes: &[u8], at: usize| -> Option<u64> {
        let word = bytes.get(at..at + 8)?.try_into().ok()?;
        Some(u64::from_le_bytes(word))
    };
    let (Some(mark), Some(generation), Some(legs)) =
        (word(&bytes, 8), word(&bytes, 16), word(&bytes, 40))
    else {
        return;
    };
    let len = (mark >> 32).saturating_mul(u64::from(legs.count_ones()));
    let end = usize::try_from(len.saturating_add(64)).unwrap_or(usize::MAX);
    if let Some(summed) = bytes.get(ENTRY_SUMMED..end) {
        let sum = crc32fast::hash(summed).to_le_bytes();
        bytes[4..8].copy_from_slice(&sum);
    }
    let session = Session {
        mark: mark as u32,
        generation,
    };
    let mut last = None;
    for entry in Entry::read_all(&bytes, session, &BOUNDS) {
        assert!(last < Some(entry.number), "numbers grow");
        last = Some(entry.number);
        let (start, end) = (entry.run.start(), entry.run.end());
        assert!(end <= BOUNDS.leg_size && start / BOUNDS.chunk == (end - 1) / BOUNDS.chunk);
        for (leg, bytes) in entry.legs() {
            assert!(leg < BOUNDS.legs && bytes.len() as u64 == entry.run.len());
        }
    }
}
