//! A volume in steady state allocates nothing per request.
//!
//! A binary of its own, because it counts every allocation of the process.

use std::sync::Arc;

use ashlar_dm::table::{Area, Layout, Piece, Table};
use ashlar_dm::volume::{Access, Volume};
use ashlar_testkit::Counting;
use block::memory::MemoryDevice;
use block::{BufferPool, Completion, Device, Driver, Durability, Operation, Range, Request, Unmap};

#[global_allocator]
static COUNTING: Counting = Counting::new();

/// Reads, writes, zeros, discards and flushes over stripes, runs and zeros allocate nothing once
/// each has been done.
#[test]
fn steady_state_allocates_nothing() {
    let disk = |name: &str| Arc::new(MemoryDevice::new(name, 1 << 20)) as Arc<dyn Device>;
    let legs = ["a", "b", "c"].map(|name| Area::device(disk(name), 4096));
    let pieces = vec![
        Piece::striped(3 << 16, 4096, legs.to_vec()),
        Piece::zero(4096),
        Piece::linear(1 << 16, disk("d"), 512),
    ];
    let layout = Layout::new("volume", pieces).expect("well formed");
    let table = Table::compile(&layout).expect("compiles");
    let volume = Volume::new("volume", Access::ReadWrite, table);
    let driver = Driver::new().expect("a driver opens");
    let mut queue = volume.open_queue(&driver).expect("a queue opens");
    let pool = BufferPool::new(64 << 20);
    let mut done: Vec<Completion> = Vec::with_capacity(64);

    let mut round = |depth: u64| {
        for tag in 0..depth {
            let start = tag * 7919 % 300 * 512;
            let buffer = || pool.get(64 << 10);
            let range = Range::new(start, 64 << 10);
            queue.submit(match tag % 8 {
                0..=2 => Request::read(tag, start, buffer()),
                3 | 4 => Request::write(tag, start, Durability::Fua, buffer()),
                5 => Request::bare(tag, Operation::WriteZeroes(Unmap::Allowed), range),
                6 => Request::bare(tag, Operation::Discard, range),
                _ => Request::flush(tag),
            });
        }
        while queue.in_flight() > 0 {
            queue.poll(&mut done);
        }
        assert_eq!(done.len() as u64, depth);
        done.drain(..)
            .for_each(|answer| answer.result.expect("all works"));
    };
    // Requests meet entries that others used before, until each has held the largest one.
    for _ in 0..100 {
        round(32);
        round(1);
    }
    let before = COUNTING.allocations();
    for _ in 0..100 {
        round(32);
        round(1);
    }
    let allocated = COUNTING.allocations() - before;
    assert_eq!(allocated, 0, "allocations in 3300 requests");
}
