//! Machines on disks in virtual time, where what is left of a rate is what the machine lost.
//!
//! A disk does one request after the other, in the order in which they came; each takes the time of
//! its kind and of its bytes. No time passes between an event and the steps that follow. So a
//! number is the same in each run, on each computer.
//!
//! ```text
//!   overwrite DEPTH one|two   random first writes of an origin with one snapshot; on one disk, or
//!                             with the store on one of its own:
//!                             ▸ share of the rate that the disks allow for what they were asked
//!                             ▸ reads, writes and flushes for each write
//!   move                      ▸ bytes per second of a move, over those of the slower disk
//!   latency DEPTH             ▸ p99 of random reads beside a move, over p99 without one
//!                             ▸ bytes per second of that move, over those of the slower disk
//!   raid-…                    see `arrays.rs`
//! ```

mod arrays;
mod world;

use std::time::Duration;

use ashlar_dm::mirror::{Content, Mirror, MirrorConfig, MirrorImage, Primary};
use ashlar_dm::snapshot::Origin;
use block::{Durability, Info, Operation, Request};

use super::devices::{origin_config, snapshot_config};
use super::load::{BLOCK, place};
use world::{Disk, World};

const MIB: u64 = 1 << 20;

/// What a case says.
pub(super) fn measure(case: &str, is_small: bool) -> String {
    let size = if is_small { 8 * MIB } else { 128 * MIB };
    match case {
        "overwrite-1-one" => overwrite(1, &[0, 0], size),
        "overwrite-32-one" => overwrite(32, &[0, 0], size),
        "overwrite-1-two" => overwrite(1, &[0, 1], size),
        "overwrite-32-two" => overwrite(32, &[0, 1], size),
        "move" => moved(size).to_string(),
        "latency-1" => latency(1, 8 * size),
        "latency-4" => latency(4, 8 * size),
        _ => arrays::measure(case, size),
    }
}

/// Each request takes this, flushes too.
const SLOW: Disk = Disk {
    request: Duration::from_micros(100),
    seek: Duration::ZERO,
    bytes_per_second: u64::MAX,
};

fn overwrite(depth: usize, disk_of: &[usize], size: u64) -> String {
    let legs = [Info::new("origin", size), Info::new("store", 2 * size)];
    let config = origin_config(size, vec![Some(snapshot_config(size, 2 * size))]);
    let origin = Origin::new(config, &legs).expect("well formed");
    let disks = vec![SLOW; 1 + disk_of[1]];
    let mut world = World::start(origin, disk_of, disks);
    // Each block once, in no order that the store could profit from.
    let count = size / BLOCK / 2;
    let blocks = size / BLOCK;
    let scattered = |number: u64| number.wrapping_mul(0x9e37_79b1) % blocks * BLOCK;
    let begun = world.now();
    let before = world.counts();
    let write = |number| {
        let bytes = block::Buffer::zeroed(BLOCK as usize);
        Request::write(number, scattered(number), Durability::Volatile, bytes)
    };
    let latencies = world.ask(depth, count, write);
    assert_eq!(latencies.len() as u64, count);
    let took = world.now().saturating_sub(begun);
    let after = world.counts();
    let each =
        |leg: usize, kind: usize| (after[leg][kind] - before[leg][kind]) as f64 / count as f64;
    let of_disk = |disk: usize| -> f64 {
        let legs = (0..2).filter(|leg| disk_of[*leg] == disk);
        legs.flat_map(|leg| (0..3).map(move |kind| (leg, kind)))
            .map(|(leg, kind)| each(leg, kind))
            .sum()
    };
    // A disk can do no more than one at a time; nor can the five of a write overlap, which wait
    // for each other.
    let chain = 5.0 / depth as f64;
    let least = of_disk(0).max(of_disk(1)).max(chain) * SLOW.request.as_secs_f64();
    let share = least * count as f64 / took.as_secs_f64();
    let sum = |kind| each(0, kind) + each(1, kind);
    format!("{share} {} {} {}", sum(0), sum(1), sum(2))
}

/// A fast disk and one that is slower.
const SOURCE: Disk = Disk {
    request: Duration::from_micros(50),
    seek: Duration::from_micros(100),
    bytes_per_second: 400 * MIB,
};
const TARGET: Disk = Disk {
    request: Duration::from_micros(50),
    seek: Duration::from_micros(100),
    bytes_per_second: 200 * MIB,
};

/// So many that those of the first moments, before the move makes way, are less than 1 in 100.
const READS: u64 = 20_000;

fn moving(size: u64) -> World<Mirror> {
    let legs = [Info::new("source", size), Info::new("target", size)];
    let target = MirrorImage {
        content: Content::Rebuild,
        ..MirrorImage::present(1, 1)
    };
    let images = vec![MirrorImage::present(0, 0), target];
    let mut config = MirrorConfig::new("pvmove0", size, 2 * MIB, images);
    config.primary = Primary::Source;
    let mirror = Mirror::new(config, &legs).expect("well formed");
    World::start(mirror, &[0, 1], vec![SOURCE, TARGET])
}

fn moved(size: u64) -> f64 {
    let mut world = moving(size);
    let begun = world.now();
    world.run_until(|world| world.bytes_written(1) >= size);
    let rate = size as f64 / world.now().saturating_sub(begun).as_secs_f64();
    rate / TARGET.rate_in_order(MIB)
}

fn latency(depth: usize, size: u64) -> String {
    let read = |number| {
        let bytes = block::Buffer::zeroed(BLOCK as usize);
        Request::read(number, place(number, size / BLOCK, BLOCK), bytes)
    };
    let percentile = |mut latencies: Vec<Duration>| {
        latencies.sort_unstable();
        latencies[latencies.len() * 99 / 100].as_secs_f64()
    };
    let mut beside = moving(size);
    let busy = percentile(beside.ask(depth, READS, read));
    let moved = beside.bytes_written(1);
    assert!(moved > 0 && moved < size, "something moved meanwhile");
    let rate = moved as f64 / beside.now().as_secs_f64() / TARGET.rate_in_order(MIB);
    let mut alone = moving(size);
    alone.run_until(|world| world.bytes_written(1) >= size);
    let times = busy / percentile(alone.ask(depth, READS, read));
    format!("{times} {rate}")
}

/// Which count a request is in.
fn kind(operation: Operation) -> usize {
    match operation {
        Operation::Read => 0,
        Operation::Flush => 2,
        _ => 1,
    }
}
