//! In steady state a request allocates nothing: one to a volume, and one that a mirror or an origin
//! lets past its home.
//!
//! A binary of its own, because it counts every allocation of the process.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ashlar_dm::home::Home;
use ashlar_dm::mirror::{Mirror, MirrorConfig, MirrorImage, Sync};
use ashlar_dm::snapshot::{Origin, OriginConfig, Overflow, SnapshotConfig, Stored};
use ashlar_dm::table::{Area, Layout, Piece, Table};
use ashlar_dm::volume::{Access, Volume};
use ashlar_testkit::Counting;
use block::memory::MemoryDevice;
use block::{BufferPool, Completion, Device, Driver, Durability, Operation, Range, Request, Unmap};

#[global_allocator]
static COUNTING: Counting = Counting::new();
/// One test counts at a time.
static TURN: Mutex<()> = Mutex::new(());

const LIMIT: Duration = Duration::from_secs(10);
const SIZE: u64 = 1 << 20;

fn disk(name: &str) -> Arc<dyn Device> {
    Arc::new(MemoryDevice::new(name, 4 * SIZE))
}

/// Reads, writes, zeros, discards and flushes over stripes, runs and zeros allocate nothing once
/// each has been done.
#[test]
fn steady_state_allocates_nothing() {
    let _turn = TURN.lock().expect("no test fails under it");
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

/// Reads, and writes to what was written before, allocate nothing once each has been done.
fn check_past_home(device: &dyn Device) {
    let driver = Driver::new().expect("a driver opens");
    let mut queue = device.open_queue(&driver).expect("a queue opens");
    let pool = BufferPool::new(64 << 20);
    let mut done: Vec<Completion> = Vec::with_capacity(64);
    let mut round = |depth: u64| {
        for tag in 0..depth {
            let start = tag * 7919 % 200 * 4096;
            let buffer = pool.get(4096);
            queue.submit(match tag % 2 {
                0 => Request::read(tag, start, buffer),
                _ => Request::write(tag, start, Durability::Volatile, buffer),
            });
        }
        while queue.in_flight() > 0 {
            queue.poll(&mut done);
        }
        done.drain(..)
            .for_each(|answer| answer.result.expect("all works"));
    };
    for _ in 0..50 {
        round(64);
    }
    let before = COUNTING.allocations();
    for _ in 0..50 {
        round(64);
    }
    let allocated = COUNTING.allocations() - before;
    assert_eq!(allocated, 0, "allocations in 3200 requests");
}

#[test]
fn mirrors_allocate_nothing() {
    let _turn = TURN.lock().expect("no test fails under it");
    let legs = vec![disk("a"), disk("b")];
    let infos: Vec<_> = legs.iter().map(|leg| leg.info()).collect();
    let images = (0..2).map(|leg| MirrorImage::present(leg as u64, leg));
    let mut config = MirrorConfig::new("mirror", SIZE, 64 << 10, images.collect());
    config.sync = Sync::Assumed;
    let mirror = Mirror::new(config, &infos).expect("well formed");
    let home = Home::start("mirror", mirror, legs, LIMIT).expect("it starts");
    check_past_home(&home.face(0).expect("its only one"));
}

#[test]
fn origins_and_snapshots_allocate_nothing() {
    let _turn = TURN.lock().expect("no test fails under it");
    let legs = vec![disk("origin"), disk("store")];
    let infos: Vec<_> = legs.iter().map(|leg| leg.info()).collect();
    let snapshot = SnapshotConfig {
        id: 1,
        name: "snapshot".into(),
        size: SIZE,
        store: 1,
        store_size: 4 * SIZE,
        chunk: 4096,
        stored: Stored::Fresh,
        access: Access::ReadWrite,
        merging: false,
        overflow: Overflow::FailWrite,
        notify_at: None,
    };
    let config = OriginConfig {
        name: "origin".into(),
        size: SIZE,
        origin: 0,
        access: Access::ReadWrite,
        snapshots: vec![Some(snapshot)],
    };
    let origin = Origin::new(config, &infos).expect("well formed");
    let home = Home::start("origin", origin, legs, LIMIT).expect("it starts");
    check_past_home(&home.face(0).expect("there"));
    check_past_home(&home.face(1).expect("there"));
}
