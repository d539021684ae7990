//! Superblocks and journals of checksums: any bytes are one, or none, or are refused; what is read
//! is written so that it reads the same; and what a journal is said to hold are blocks that there
//! are, each once.
//!
//! The first byte says what the others are. Commit ids are mended, since no mutation finds them.
#![no_main]

use dm::integrity::{Places, Superblock, look_at_journal};
use libfuzzer_sys::fuzz_target;

const DATA: u64 = 1 << 20;
const METADATA: u64 = 1 << 30;
/// Sections of a journal at most, here.
const SECTIONS: u8 = 4;

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, bytes)) = bytes.split_first() else {
        return;
    };
    match kind % 2 {
        0 => superblock(bytes),
        _ => journal(bytes),
    }
});

fn superblock(start: &[u8]) {
    let mut bytes = vec![0; Superblock::LEN];
    let len = start.len().min(bytes.len());
    bytes[..len].copy_from_slice(&start[..len]);
    let Ok(Some(mut read)) = Superblock::decode(&bytes) else {
        return;
    };
    let again = Superblock::decode(&read.encode()).ok().flatten();
    let again = again.expect("what is written is read");
    assert!(again.version >= read.version);
    read.version = again.version;
    assert_eq!(again, read);
    if let Ok(places) = Places::new(&read, DATA, METADATA) {
        assert!(places.journal_len() < METADATA && places.blocks() > 0);
    }
}

/// Log2 of a block, sections, their rounds a byte each, and then where other bytes stand: two bytes
/// of a place, one of how many, and these.
fn journal(bytes: &[u8]) {
    let [log2, sections, rest @ ..] = bytes else {
        return;
    };
    let sections = 1 + sections % SECTIONS;
    let superblock = Superblock {
        version: 2,
        journal_sections: sections.into(),
        provided_sectors: DATA / 512,
        log2_block: log2 % 4,
        log2_bit: 15,
        recalculated: None,
        has_bitmap: false,
        has_padding: false,
    };
    let places = Places::new(&superblock, DATA, METADATA).expect("it fits");
    let mut journal = vec![0xff; places.journal_len() as usize];
    let count = usize::from(sections);
    if rest.len() < count {
        return;
    }
    let (rounds, mut rest) = rest.split_at(count);
    while let [low, high, len, tail @ ..] = rest {
        let len = usize::from(*len).min(tail.len());
        let section = journal.len() / count;
        let at = usize::from(*low) << 8 | usize::from(*high);
        let at = (at % count) * section + (at / count) % (section - len);
        journal[at..at + len].copy_from_slice(&tail[..len]);
        rest = &tail[len..];
    }
    let section = journal.len() / count;
    for (number, bytes) in journal.chunks_mut(section).enumerate() {
        for (sector, bytes) in bytes.chunks_mut(512).enumerate() {
            let round = u64::from(rounds[number] % 4) + 1;
            let id = (0x1111_1111_1111_1111 * round) ^ ((number as u64) << 32 | sector as u64);
            bytes[504..].copy_from_slice(&id.to_le_bytes());
        }
    }
    if let Ok(found) = look_at_journal(&places, &journal) {
        assert!(found.blocks.keys().all(|block| *block < places.blocks()));
        assert_eq!(look_at_journal(&places, &journal).ok(), Some(found));
    }
}
