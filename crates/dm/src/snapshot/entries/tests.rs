//! Entries beside a plain list, and areas that are read back.

use proptest::prelude::{any, prop_assert_eq, proptest};

use super::{Entries, Validity, encode_header};
use crate::snapshot::store::{EntryRun, Geometry};
use crate::snapshot::tests::is_frayed;
use crate::snapshot::{Stored, read_store};

const CHUNK: u64 = 512;
const PER_AREA: u64 = 32;

fn entry(new: u64, old: u64, count: u64) -> EntryRun {
    EntryRun { new, old, count }
}

/// What is taken from the end is of one area, and of a run.
#[test]
fn the_last_run_ends_with_its_area() {
    let mut entries = Entries::new(vec![entry(2, 10, 32), entry(35, 42, 3)]);
    assert_eq!(entries.last(PER_AREA, 2), Some(entry(36, 43, 2)));
    assert_eq!(entries.last(PER_AREA, 9), Some(entry(35, 42, 3)));
    entries.pop(3);
    assert_eq!(
        entries.last(PER_AREA, 99),
        Some(entry(2, 10, 32)),
        "of a full area"
    );
    entries.pop(31);
    entries.push(entry(3, 11, 1));
    assert_eq!(
        entries.iter().copied().collect::<Vec<_>>(),
        [entry(2, 10, 2)],
        "they are one"
    );
    entries.pop(2);
    assert_eq!(entries.last(PER_AREA, 1), None);
}

proptest! {
    /// Areas that are written with any runs, some of them later than others, are read as these
    /// entries.
    #[test]
    fn areas_are_read_back(
        counts in proptest::collection::vec((1_u64..9, 0_u64..3), 1..40),
        is_in_order in any::<bool>(),
    ) {
        let geometry = Geometry::new(CHUNK, 400 * CHUNK, 1000 * CHUNK);
        let (mut new, mut old) = (2, if is_in_order { 0 } else { 900 });
        let mut plain: Vec<(u64, u64)> = Vec::new();
        let mut entries = Entries::default();
        let mut store = vec![0; 400 * CHUNK as usize];
        encode_header(Validity::Valid, &mut store[..CHUNK as usize]);
        for (count, gap) in counts {
            let room = PER_AREA - entries.count() % PER_AREA;
            let data = PER_AREA - (new - 2) % (PER_AREA + 1);
            let run = entry(new, old, count.min(room).min(data));
            let area = entries.count() / PER_AREA;
            let range = geometry.area(area).unwrap();
            let bytes = &mut store[range.start() as usize..range.end() as usize];
            entries.encode_area(&geometry, area, entries.count(), &[run], bytes);
            entries.push(run);
            entries.check(&geometry);
            plain.extend((0..run.count).map(|at| (run.old + at, run.new + at)));
            new = geometry.skip_area(new + run.count);
            old = if is_in_order { old + run.count + gap } else { old - 20 };
        }
        let read = |range: block::Range| {
            Ok(store[range.start() as usize..range.end() as usize].to_vec())
        };
        let Ok(Stored::Changes(changes)) = read_store("store", (400 * CHUNK, 1000 * CHUNK), read)
        else {
            panic!("it is a store");
        };
        let rows = changes.entries.iter();
        let seen = rows.flat_map(|run| (0..run.count).map(|at| (run.old + at, run.new + at)));
        prop_assert_eq!(seen.collect::<Vec<_>>(), plain);
        prop_assert_eq!((changes.next_free, is_frayed(&store, &changes)), (new, false));
        prop_assert_eq!(Entries::new(changes.entries), entries);
    }
}
