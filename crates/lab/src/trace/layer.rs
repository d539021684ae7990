//! A run of our own data path as a trace: what `block::trace` noted.

use block::trace::Record as Noted;
use block::{Durability, Operation as Asked};

use super::depend::find_dependencies;
use super::record::{Header, Operation, Record, Trace};

/// Bytes of a block of a trace.
const BLOCK: u64 = 512;

/// The trace of what a layer noted, in any order.
pub fn from_layer(header: Header, noted: &[Noted]) -> Trace {
    let mut records: Vec<Record> = noted.iter().map(record).collect();
    records.sort_by_key(|record| record.time_ns);
    find_dependencies(&mut records);
    Trace { header, records }
}

fn record(noted: &Noted) -> Record {
    let operation = match noted.operation {
        Asked::Read => Operation::Read,
        Asked::Write => Operation::Write,
        Asked::WriteZeroes(_) => Operation::WriteZeroes,
        Asked::Discard => Operation::Discard,
        Asked::Flush => Operation::Flush,
    };
    let (start, end) = (noted.range.start(), noted.range.end());
    let first = start / BLOCK;
    let count = match operation {
        Operation::Flush => 0,
        _ => end.div_ceil(BLOCK) - first,
    };
    Record {
        duration_ns: Some(noted.completed_ns.saturating_sub(noted.submitted_ns)),
        fua: noted.durability == Durability::Fua,
        failed: noted.result.is_err(),
        ..Record::new(noted.submitted_ns, operation, first, count)
    }
}
