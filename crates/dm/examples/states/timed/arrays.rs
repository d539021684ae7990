//! Arrays, on one disk for each leg, on which its superblock and bitmap are, too.
//!
//! ```text
//!   raid-copies         ▸ rate of random writes to two copies, over that of one leg
//!   raid-streams        ▸ bytes per second of two streams read from two copies, over those of one
//!                         stream from one leg
//!   raid-small          ▸ reads, writes for each small write at random, to four legs with parity
//!   raid-neighbours     ▸ the same for small writes in order, 32 at a time
//!   raid-sync-NAME      ▸ bytes of each leg per second of a first sync, over those of a leg that
//!                         is read in order in requests as large
//!   raid-load-NAME      ▸ rate of random reads beside a first sync, over that without one
//!   raid-journal-SORT-DEPTH   writes of small ones at random or of whole rows in order, of four
//!                             legs with parity and a journal:
//!                             ▸ time, over that without a journal
//!                             ▸ writes of metadata for each write
//! ```

use std::time::Duration;

use ashlar_dm::raid::{Array, Consistency, FirstSync};
use block::{Buffer, Durability, Request};

use super::super::arrays::{CHUNK, config, kind};
use super::super::load::{BLOCK, place};
use super::world::World;
use super::{MIB, READS, SLOW, TARGET};

/// Bytes of a read in order.
const PIECE: u64 = 256 << 10;
/// Small writes that are asked for.
const WRITES: u64 = 2_000;

pub(super) fn measure(case: &str, size: u64) -> String {
    match case {
        "raid-copies" => copies(size).to_string(),
        "raid-streams" => streams(size).to_string(),
        "raid-small" => small(1, |number| place(number, size / BLOCK, BLOCK), size),
        "raid-neighbours" => small(32, |number| number * BLOCK, size),
        _ => match case.rsplit_once('-') {
            Some(("raid-sync", name)) => sync(name, size).to_string(),
            Some(("raid-load", name)) => load(name, size).to_string(),
            Some(("raid-journal-small", depth)) => journaled(depth, BLOCK, size),
            Some(("raid-journal-rows", depth)) => journaled(depth, 3 * CHUNK, size),
            _ => panic!("'{case}' is no case"),
        },
    }
}

/// An array on disks of one kind each.
fn array(name: &str, size: u64, first: FirstSync, disk: super::Disk) -> (World<Array>, u64) {
    array_with(Consistency::None, (name, size, first), disk)
}

fn array_with(
    consistency: Consistency,
    (name, size, first): (&str, u64, FirstSync),
    disk: super::Disk,
) -> (World<Array>, u64) {
    let (mut config, infos) = config(kind(name), size, first);
    config.consistency = consistency;
    let leg_size = config.geometry().leg_size();
    let disk_of: Vec<usize> = (0..infos.len()).map(|device| device / 2).collect();
    let disks = vec![disk; infos.len() / 2];
    let array = Array::new(config, &infos).expect("well formed");
    (World::start(array, &disk_of, disks), leg_size)
}

fn write(number: u64, start: u64) -> Request {
    let bytes = Buffer::zeroed(BLOCK as usize);
    Request::write(number, start, Durability::Volatile, bytes)
}

fn read(number: u64, start: u64, bytes: u64) -> Request {
    Request::read(number, start, Buffer::zeroed(bytes as usize))
}

fn copies(size: u64) -> f64 {
    let (mut world, _) = array("raid1", size, FirstSync::Assumed, SLOW);
    let at = |number| write(number, place(number, size / BLOCK, BLOCK));
    // Marks come with the first writes.
    world.ask(32, WRITES, at);
    let begun = world.now();
    world.ask(32, WRITES, at);
    let took = world.now().saturating_sub(begun);
    SLOW.request.as_secs_f64() * WRITES as f64 / took.as_secs_f64()
}

fn streams(size: u64) -> f64 {
    let (mut world, _) = array("raid1", size, FirstSync::Assumed, TARGET);
    let count = size / PIECE;
    let begun = world.now();
    // Turn by turn from two places, far apart.
    world.ask(16, count, |number| {
        let stream = number % 2 * (size / 2);
        read(number, stream + number / 2 * PIECE, PIECE)
    });
    let took = world.now().saturating_sub(begun);
    size as f64 / took.as_secs_f64() / TARGET.rate_in_order(PIECE)
}

fn small(depth: usize, place: impl Fn(u64) -> u64, size: u64) -> String {
    let (mut world, _) = array("raid5x4", size, FirstSync::Assumed, SLOW);
    let count = WRITES.min(size / BLOCK);
    world.ask(depth, count, |number| write(number, place(number)));
    let counts = world.counts();
    // Of the legs' data: their metadata are every second device.
    let each = |kind: usize| -> f64 {
        let data = counts.iter().step_by(2);
        data.map(|counts| counts[kind] as f64).sum::<f64>() / count as f64
    };
    format!("{} {}", each(0), each(1))
}

fn journaled(depth: &str, bytes: u64, size: u64) -> String {
    let depth = depth.parse().expect("a depth");
    let places = size / bytes;
    let count = WRITES.min(places);
    let run = |consistency| {
        let what = ("raid5x4", size, FirstSync::Assumed);
        let (mut world, _) = array_with(consistency, what, TARGET);
        let at = |number| {
            let start = if bytes == BLOCK {
                place(number, places, bytes)
            } else {
                number % places * bytes
            };
            let buffer = Buffer::zeroed(bytes as usize);
            Request::write(number, start, Durability::Volatile, buffer)
        };
        // Marks come with the first writes.
        world.ask(32, count, at);
        let (begun, before) = (world.now(), world.counts());
        world.ask(depth, count, at);
        let took = world.now().saturating_sub(begun).as_secs_f64();
        let written = world.counts().into_iter().zip(before).skip(1).step_by(2);
        let written: u64 = written.map(|(after, before)| after[1] - before[1]).sum();
        (took, written as f64 / count as f64)
    };
    let (without, _) = run(Consistency::None);
    let (with, written) = run(Consistency::Journal);
    format!("{} {written}", with / without)
}

/// A first sync has written so much of all legs together.
fn written(name: &str, leg_size: u64) -> u64 {
    match name {
        // The first of two copies is right; the first of each pair.
        "raid10" => 2 * leg_size,
        _ => leg_size,
    }
}

fn synced(world: &World<Array>, bytes: u64) -> bool {
    let legs = world.counts().len();
    let sum: u64 = (0..legs)
        .step_by(2)
        .map(|leg| world.bytes_written(leg))
        .sum();
    sum >= bytes
}

fn sync(name: &str, size: u64) -> f64 {
    let (mut world, leg_size) = array(name, size, FirstSync::Due, TARGET);
    let begun = world.now();
    world.run_until(|world| synced(world, written(name, leg_size)));
    let took = world.now().saturating_sub(begun);
    leg_size as f64 / took.as_secs_f64() / TARGET.rate_in_order(piece(name))
}

/// Bytes of a request of a sync, which no elevator puts together here.
fn piece(name: &str) -> u64 {
    match name {
        "raid1" => MIB,
        _ => CHUNK,
    }
}

fn load(name: &str, size: u64) -> f64 {
    let size = 16 * size;
    let at = |number| read(number, place(number, size / BLOCK, BLOCK), BLOCK);
    let rate = |first| {
        let (mut world, leg_size) = array(name, size, first, TARGET);
        let begun = world.now();
        world.ask(4, READS, at);
        let is_over = synced(&world, written(name, leg_size));
        assert!(first == FirstSync::Assumed || !is_over, "it goes on");
        let took: Duration = world.now().saturating_sub(begun);
        READS as f64 / took.as_secs_f64()
    };
    assert!(size >= CHUNK, "there is a row");
    rate(FirstSync::Due) / rate(FirstSync::Assumed)
}
