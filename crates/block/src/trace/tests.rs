//! A trace tells what a device was asked, and forgets the oldest first.

use std::sync::Arc;

use super::{Trace, Traced};
use crate::memory::MemoryDevice;
use crate::{BlockingDevice, Device, Driver, Kind, Operation, Range, Request};

#[test]
fn requests_are_recorded() {
    // Operations, places, results and times appear in order; tags are the caller's.
    let trace = Trace::new(3);
    let device = Traced::new(
        Arc::new(MemoryDevice::new("memory", 1 << 20)),
        trace.clone(),
    );
    let mut blocking = BlockingDevice::open(&device).unwrap();
    blocking.write_at(&[1; 1024], 512).unwrap();
    blocking.flush().unwrap();
    let records = trace.take();
    let seen: Vec<_> = records
        .iter()
        .map(|one| (one.operation, one.range))
        .collect();
    let expected = [
        (Operation::Write, Range::new(512, 1024)),
        (Operation::Flush, Range::EMPTY),
    ];
    assert_eq!(seen, expected);
    assert!(
        records
            .iter()
            .all(|one| one.submitted_ns <= one.completed_ns)
    );

    let driver = Driver::new().unwrap();
    let mut queue = device.open_queue(&driver).unwrap();
    for tag in [7, 7, 8, 9] {
        queue.submit(Request::bare(tag, Operation::Discard, Range::new(1, 1)));
    }
    let mut done = Vec::new();
    queue.poll(&mut done);
    let tags: Vec<u64> = done.iter().map(|one| one.tag).collect();
    assert_eq!(
        (tags.as_slice(), queue.in_flight()),
        ([7, 7, 8, 9].as_slice(), 0)
    );
    assert_eq!((trace.records().len(), trace.forgotten()), (3, 1));
    assert_eq!(trace.records()[0].result, Err(Kind::InvalidRequest));
}
