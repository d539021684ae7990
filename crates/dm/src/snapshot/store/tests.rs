//! Stores written by hand, whole and broken, and any bytes at all.

use std::sync::Arc;

use block::memory::MemoryDevice;
use block::{BlockingDevice, Device, Range};
use proptest::prelude::{any, prop_assert, proptest};

use super::{ENTRY_LEN, EntryRun, Geometry, MAGIC, Run, Stored, read_store};
use crate::Kind;
use crate::snapshot::tests::is_frayed;
use crate::snapshot::view;
use crate::table::{Layout, Piece, Table};
use crate::volume::{Access, Volume};

const CHUNK: u64 = 4096;
const CHUNKS: u64 = 600;
const ORIGIN: u64 = 300 * CHUNK + 512;

/// A store of [`CHUNKS`] chunks with these entries.
fn store(entries: &[(u64, u64)]) -> Vec<u8> {
    let mut bytes = vec![0; (CHUNKS * CHUNK) as usize];
    for (at, word) in [MAGIC, 1, 1, (CHUNK / 512) as u32].into_iter().enumerate() {
        bytes[4 * at..][..4].copy_from_slice(&word.to_le_bytes());
    }
    let per_area = CHUNK as usize / ENTRY_LEN;
    for (number, (old, new)) in entries.iter().enumerate() {
        let area = 1 + number / per_area * (per_area + 1);
        let at = area * CHUNK as usize + number % per_area * ENTRY_LEN;
        bytes[at..at + 8].copy_from_slice(&old.to_le_bytes());
        bytes[at + 8..at + 16].copy_from_slice(&new.to_le_bytes());
    }
    bytes
}

fn read(bytes: &[u8]) -> crate::Result<Stored> {
    read_store("store", (bytes.len() as u64, ORIGIN), |range| {
        Ok(bytes[range.start() as usize..range.end() as usize].to_vec())
    })
}

fn runs(entries: &[(u64, u64)]) -> Vec<Run> {
    match read(&store(entries)) {
        Ok(Stored::Changes(changes)) if changes.chunk == CHUNK => changes.runs,
        other => panic!("{other:?}"),
    }
}

fn run(old: u64, count: u64, new: u64) -> Run {
    Run {
        range: Range::new(old * CHUNK, count * CHUNK),
        start: new * CHUNK,
    }
}

/// Entries become runs in the order of the origin; those that go on in both are one.
#[test]
fn entries_become_runs() {
    assert_eq!(runs(&[]), []);
    let entries = [(7, 2), (3, 3), (8, 4), (4, 5), (5, 6)];
    assert_eq!(
        runs(&entries),
        [run(3, 1, 3), run(4, 2, 5), run(7, 1, 2), run(8, 1, 4)]
    );
}

/// The last chunk of an origin ends where the origin does.
#[test]
fn the_last_chunk_may_be_short() {
    let last = Run {
        range: Range::new(300 * CHUNK, 512),
        start: 2 * CHUNK,
    };
    assert_eq!(runs(&[(300, 2)]), [last]);
}

/// Behind a full area comes the next one, even if that is empty.
#[test]
fn areas_follow_each_other() {
    let data = (2..CHUNKS).filter(|chunk| *chunk != 258 && *chunk != 515);
    let entries: Vec<(u64, u64)> = data.zip(0..300).map(|(new, old)| (old, new)).collect();
    assert_eq!(
        runs(&entries),
        [run(0, 256, 2), run(256, 44, 259)],
        "the chunk between them is an area"
    );
    assert_eq!(runs(&entries[..256]), [run(0, 256, 2)]);
}

/// Entries are told in their order, with the chunk from which on nothing is used.
#[test]
fn entries_keep_their_order() {
    let told = |entries: &[(u64, u64)]| match read(&store(entries)) {
        Ok(Stored::Changes(changes)) => (changes.entries, changes.next_free),
        other => panic!("{other:?}"),
    };
    assert_eq!(told(&[]), (vec![], 2));
    let entry = |new, old, count| EntryRun { new, old, count };
    let (entries, next_free) = told(&[(7, 257), (3, 3), (4, 4), (8, 5)]);
    assert_eq!(entries, [entry(257, 7, 1), entry(3, 3, 2), entry(5, 8, 1)]);
    assert_eq!(next_free, 259, "258 is an area");
}

/// What a torn write left behind the last entry is seen.
#[test]
fn frayed_areas_are_seen() {
    let is_frayed = |bytes: &[u8]| match read(bytes) {
        Ok(Stored::Changes(changes)) => is_frayed(bytes, &changes),
        other => panic!("{other:?}"),
    };
    let mut bytes = store(&[(7, 2), (3, 3)]);
    assert!(!is_frayed(&bytes));
    bytes[CHUNK as usize + 100 * ENTRY_LEN] = 1;
    assert!(is_frayed(&bytes));
}

/// Stores that hold nothing are told apart.
#[test]
fn stores_that_hold_nothing() {
    assert_eq!(read(&vec![0; 8192]).unwrap(), Stored::Fresh);
    let mut bytes = store(&[(1, 2)]);
    bytes[4] = 0;
    assert_eq!(read(&bytes).unwrap(), Stored::Overflowed);
}

/// What a store may not say is an error that names it.
#[test]
fn damage_is_named() {
    let refusal = |bytes: &[u8]| {
        let error = read(bytes).expect_err("is damaged");
        assert_eq!(error.kind(), Kind::Damaged);
        error.to_string()
    };
    let edited = |at: usize, value: u8| {
        let mut bytes = store(&[(1, 2)]);
        bytes[at] = value;
        refusal(&bytes)
    };
    assert!(edited(0, 1).contains("magic"));
    assert!(edited(8, 2).contains("version 2"));
    assert!(edited(12, 0).contains("chunks of 0 sectors"));
    assert!(edited(12, 9).contains("chunks of 9 sectors"));
    assert!(edited(14, 9).contains("a power of two"));
    for (entries, what) in [
        (&[(1, CHUNKS)][..], "change 0 lies at chunk 600"),
        (&[(1, 2), (2, 1)], "change 1 lies at chunk 1"),
        (&[(1, 258)], "change 0 lies at chunk 258"),
        (&[(301, 2)], "chunk 301, which the origin does not have"),
        (&[(1, 2), (2, 2)], "two changes lie at chunk 2"),
        (&[(1, 2), (1, 3)], "chunk 1 has two changes"),
    ] {
        let said = refusal(&store(entries));
        assert!(said.contains(what), "{said}");
    }
    let data = (2..CHUNKS).filter(|chunk| *chunk != 258);
    let full: Vec<(u64, u64)> = data.zip(0..256).map(|(new, old)| (old, new)).collect();
    let bytes = store(&full);
    let said = refusal(&bytes[..258 * CHUNK as usize]);
    assert!(said.contains("cut off behind 256"), "{said}");
    assert!(refusal(&[0; 100]).contains("no header"));
}

/// The origin's bytes where nothing changed, the store's where something did.
#[test]
fn a_view_has_both() {
    let mut bytes = store(&[(7, 2), (300, 3)]);
    bytes[2 * CHUNK as usize..4 * CHUNK as usize].fill(9);
    let device = |bytes: &[u8]| -> Arc<dyn Device> {
        let device = MemoryDevice::new("memory", bytes.len() as u64);
        let mut writer = BlockingDevice::open(&device).unwrap();
        writer.write_at(bytes, 0).unwrap();
        Arc::new(device)
    };
    let layout = |bytes: &[u8]| {
        let piece = Piece::linear(bytes.len() as u64, device(bytes), 0);
        Layout::new("layout", vec![piece]).unwrap()
    };
    let Ok(Stored::Changes(changes)) = read(&bytes) else {
        panic!("it is a store");
    };
    let origin = vec![5; ORIGIN as usize];
    let sources = (&layout(&origin), &layout(&bytes));
    let seen = view("snapshot", sources, ORIGIN, &changes.runs).unwrap();
    let table = Table::compile(&seen).unwrap();
    let volume = Volume::new("snapshot", Access::ReadOnly, table);
    let mut reader = BlockingDevice::open(&volume).unwrap();
    let all = reader.read(Range::new(0, ORIGIN)).unwrap();
    let changed = |at: u64| (7..8).contains(&(at / CHUNK)) || at / CHUNK == 300;
    let wanted = (0..ORIGIN).map(|at| if changed(at) { 9 } else { 5 });
    assert!(all.into_iter().eq(wanted));
}

proptest! {
    /// Any bytes are a store or an error, and runs are in order, in the origin and in the store.
    #[test]
    fn any_bytes_are_read(
        head in proptest::collection::vec(any::<u8>(), 16),
        entries in proptest::collection::vec((0_u64..320, 0_u64..620), 0..300),
        is_whole in any::<bool>(),
    ) {
        let mut bytes = store(&entries);
        if !is_whole {
            bytes[..16].copy_from_slice(&head);
        }
        if let Ok(Stored::Changes(changes)) = read(&bytes) {
            let mut end = 0;
            for run in &changes.runs {
                prop_assert!(run.range.start() >= end && run.range.end() <= ORIGIN);
                prop_assert!(run.start + run.range.len() <= bytes.len() as u64);
                end = run.range.end();
            }
        }
    }

    /// Areas are where the kernel has them, and nowhere else.
    #[test]
    fn areas_are_found(number in 0_u64..1000) {
        let geometry = Geometry { chunk: CHUNK, per_area: 256, chunks: u64::MAX, origin_chunks: 1 };
        let chunk = geometry.area(number).unwrap().start() / CHUNK;
        prop_assert!(geometry.is_area(chunk) && !geometry.is_area(chunk + 1));
        prop_assert!(!geometry.is_area(chunk - 1));
    }
}

/// What is in use of a store is what cannot be cut off.
#[test]
fn what_is_in_use_is_needed() {
    for count in [0, 1, 2, 255, 256, 257] {
        let mut next = 2;
        let entries: Vec<(u64, u64)> = (0..count)
            .map(|old| {
                let new = next;
                next += if next % 257 == 0 { 2 } else { 1 };
                (old, new)
            })
            .collect();
        let bytes = store(&entries);
        let Ok(Stored::Changes(changes)) = read(&bytes) else {
            panic!("{count} changes are read");
        };
        let used = changes.used() as usize;
        assert_eq!(read(&bytes[..used]).ok(), Some(Stored::Changes(changes)));
        let cut = read(&bytes[..used - CHUNK as usize]).expect_err("something is cut off");
        assert_eq!(cut.kind(), Kind::Damaged, "{count}: {cut}");
    }
}
