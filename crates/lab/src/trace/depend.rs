//! Who waited for whom, as far as times can tell.
//!
//! A trace of requests does not say why each was made. What can be said is which answers were there
//! when it was submitted. The rule: a request waited for that awaited request (a read, a flush, a
//! durable write) whose answer came last before it; a flush also for the write whose answer came
//! last, since it is to make that durable. The time in between was thinking, or the kernel's wait
//! before it writes back.
//!
//! What the rule cannot know: reads that several processes made side by side are taken to wait for
//! each other, and reading ahead is taken for a read that somebody waits for. So a replay may be
//! slower than the truth, not faster.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::record::{Operation, Record};

/// Fills [`Record::after`] of all records, which stand in the order of their times.
pub fn find_dependencies(records: &mut [Record]) {
    // Answers that have not come yet, by their time.
    let mut coming: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    let (mut awaited, mut written): (Option<usize>, Option<usize>) = (None, None);
    for index in 0..records.len() {
        while let Some(&Reverse((end_ns, other))) = coming.peek()
            && end_ns <= records[index].time_ns
        {
            coming.pop();
            if records[other].is_awaited() {
                awaited = Some(other);
            } else {
                written = Some(other);
            }
        }
        let barrier = records[index].operation == Operation::Flush || records[index].preflush;
        let end = |one: usize| (records[one].end_ns(), one);
        let last = match (awaited, written.filter(|_| barrier)) {
            (Some(first), Some(second)) if end(second) > end(first) => Some(second),
            (None, second) => second,
            (first, _) => first,
        };
        records[index].after = last.map(|other| (index - other) as u64);
        if let Some(end_ns) = records[index].end_ns() {
            coming.push(Reverse((end_ns, index)));
        }
    }
}
