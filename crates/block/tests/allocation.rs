//! Devices in steady state allocate nothing per request.
//!
//! A binary of its own, because it counts every allocation of the process, on all its threads.

use std::fs::File;

use ashlar_block::file::{Access, Caching, FileDevice};
use ashlar_block::memory::MemoryDevice;
use ashlar_block::{
    Buffer, BufferPool, Completion, Device, Driver, Durability, EngineKind, Operation, Queue,
    Range, Request, Unmap,
};
use ashlar_testkit::Counting;

#[global_allocator]
static COUNTING: Counting = Counting::new();

const SIZE: u64 = 1 << 20;
const DEPTH: u64 = 32;

/// Submits a full depth of mixed requests and waits for all answers.
fn round(driver: &Driver, queue: &mut dyn Queue, pool: &BufferPool, done: &mut Vec<Completion>) {
    for tag in 0..DEPTH {
        let at = tag * 8192;
        let range = Range::new(at, 4096);
        queue.submit(match tag % 8 {
            0 => Request::bare(tag, Operation::WriteZeroes(Unmap::Allowed), range),
            1 => Request::flush(tag),
            2 => Request::write(tag, at, Durability::Fua, pool.get(4096)),
            3 | 4 => Request::write(tag, at, Durability::Volatile, pool.get(4096)),
            // Not aligned: goes through a bounce buffer where I/O is direct.
            5 => Request::read(tag, at, pool.get(4097).split_off(1)),
            _ => Request::read(tag, at, pool.get(4096)),
        });
    }
    while queue.in_flight() > 0 {
        queue.poll(done);
        if queue.in_flight() > 0 {
            driver.wait(&mut [], None).unwrap();
        }
    }
    for answer in done.drain(..) {
        answer.result.unwrap();
    }
}

fn check(name: &str, driver: &Driver, device: &dyn Device) {
    let pool = BufferPool::new(1 << 20);
    let mut queue = device.open_queue(driver).unwrap();
    let mut done = Vec::new();
    // Pools, slabs and threads grow to what the load needs, and the test runner's own thread may
    // allocate at any time; what requests allocate shows in every window.
    let mut windows = Vec::new();
    for _ in 0..8 {
        let before = COUNTING.allocations();
        for _ in 0..20 {
            round(driver, &mut *queue, &pool, &mut done);
        }
        windows.push(COUNTING.allocations() - before);
    }
    let steady = windows[2..].contains(&0);
    assert!(
        steady,
        "{name}: allocations in windows of 640 requests: {windows:?}"
    );
}

/// Memory, files on disk and in memory, through threads, a ring or neither: no request of any
/// kind allocates once the pools are warm.
#[test]
fn steady_state_allocates_nothing() {
    let mut drivers = vec![
        ("by default", Driver::new().unwrap()),
        ("threads", Driver::with_engine(EngineKind::Threads).unwrap()),
    ];
    if let Ok(ring) = Driver::with_engine(EngineKind::Uring) {
        drivers.push(("uring", ring));
    }
    for (engine, driver) in drivers {
        check("memory", &driver, &MemoryDevice::new("memory", SIZE));
        for folder in [std::env::temp_dir(), "/dev/shm".into()] {
            let path = folder.join(format!("ashlar-allocation-{}", std::process::id()));
            let mut options = File::options();
            let file = options.read(true).write(true).create_new(true).open(&path);
            let file = file.unwrap();
            std::fs::remove_file(&path).unwrap();
            std::io::Write::write_all(&mut &file, &Buffer::zeroed(SIZE as usize)).unwrap();
            let device = FileDevice::from_fd(file.into(), "f", Access::ReadWrite, Caching::Probe);
            check(engine, &driver, &device.unwrap());
        }
    }
}
