//! Stores of snapshots: any bytes hold changes, or nothing, or are refused; changes are in order,
//! lie in the origin, and lie in the store where neither its header nor an area is, each alone.
#![no_main]

use block::Range;
use dm::snapshot::{Stored, read_store};
use libfuzzer_sys::fuzz_target;

/// Of an origin whose last chunk is cut off.
const ORIGIN: u64 = 100 * 512 + 256 * 1024;

fuzz_target!(|bytes: &[u8]| {
    let size = bytes.len() as u64;
    let read = |range: Range| {
        assert!(range.end() <= size, "{range:?} lies outside");
        Ok(bytes[range.start() as usize..range.end() as usize].to_vec())
    };
    let Ok(Stored::Changes(changes)) = read_store("store", (size, ORIGIN), read) else {
        return;
    };
    let mut end = 0;
    let mut places = Vec::new();
    for run in &changes.runs {
        assert!(run.range.start() >= end && run.range.end() <= ORIGIN);
        end = run.range.end();
        places.push((run.start, run.start + run.range.len()));
    }
    places.sort_unstable();
    let mut end = 2 * changes.chunk;
    for (start, behind) in places {
        assert!(start >= end && behind <= size, "at {start}");
        end = behind;
    }
});
