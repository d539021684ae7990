//! Measures what a volume adds to a request: the same requests to memory and to volumes over it.
//!
//! `cargo run --release -p target --example overhead`. Nanoseconds per read of one sector, at queue
//! depths 1 and 32; the best of several rounds, the kinds interleaved.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ashlar_dm::delay::{Delay, Slowness};
use ashlar_dm::home::Home;
use ashlar_dm::table::{Area, Layout, Piece, Table};
use ashlar_dm::volume::{Access, Volume};
use block::memory::MemoryDevice;
use block::{BufferPool, Device, Driver, Queue, Request};

const SIZE: u64 = 1 << 20;
const BLOCK: u64 = 512;
const READS: u64 = 1 << 14;
const ROUNDS: usize = 60;

fn main() {
    let bytes = || vec![7; SIZE as usize];
    let memory = || Arc::new(MemoryDevice::from_bytes("memory", bytes())) as Arc<dyn Device>;
    let legs = [0; 4].map(|_| Area::device(memory(), 0));
    let machine = Delay::new("home", Slowness::default());
    let limit = Duration::from_secs(10);
    let home = Home::start("home", machine, vec![memory()], limit).expect("starts");
    let devices: [(&str, Arc<dyn Device>); 4] = [
        ("memory", memory()),
        ("linear", volume(Piece::linear(SIZE, memory(), 0))),
        (
            "striped 4",
            volume(Piece::striped(SIZE, 64 << 10, legs.to_vec())),
        ),
        ("home", Arc::new(home.face(0).expect("its only one"))),
    ];
    println!("{:>10} {:>10} {:>10}", "", "depth 1", "depth 32");
    let mut best = [[f64::INFINITY; 2]; 4];
    for _ in 0..ROUNDS {
        for ((_, device), best) in devices.iter().zip(&mut best) {
            for (depth, best) in [1, 32].into_iter().zip(best) {
                *best = best.min(measure(device.as_ref(), depth));
            }
        }
    }
    for ((name, _), [one, many]) in devices.iter().zip(best) {
        println!("{name:>10} {one:>10.0} {many:>10.0}");
    }
}

fn volume(piece: Piece) -> Arc<dyn Device> {
    let layout = Layout::new("volume", vec![piece]).expect("well formed");
    let table = Table::compile(&layout).expect("compiles");
    Arc::new(Volume::new("volume", Access::ReadWrite, table))
}

/// Nanoseconds per read, with `depth` of them in flight.
fn measure(device: &dyn Device, depth: usize) -> f64 {
    let driver = Driver::new().expect("a driver opens");
    let mut queue = device.open_queue(&driver).expect("a queue opens");
    let pool = BufferPool::new(1 << 20);
    let mut done = Vec::new();
    let start = Instant::now();
    let (mut asked, mut answered) = (0, 0);
    while answered < READS {
        while asked < READS && queue.in_flight() < depth {
            let at = asked * 7919 % (SIZE / BLOCK) * BLOCK;
            queue.submit(Request::read(asked, at, pool.get(BLOCK as usize)));
            asked += 1;
        }
        answered += collect(&driver, queue.as_mut(), &mut done);
    }
    start.elapsed().as_nanos() as f64 / READS as f64
}

/// Waits for answers; how many there were.
fn collect(driver: &Driver, queue: &mut dyn Queue, done: &mut Vec<block::Completion>) -> u64 {
    queue.poll(done);
    if done.is_empty() {
        driver.wait(&mut [], None).expect("waiting works");
    }
    let count = done.len() as u64;
    done.drain(..)
        .for_each(|answer| answer.result.expect("reads work"));
    count
}
