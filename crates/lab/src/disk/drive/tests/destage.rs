//! Writes that go on where others end reach the rate of the medium.

use super::{Command, MS, Operation, drain, drive, near, one, read, write};
use crate::disk::catalog::{find, plain};
use crate::disk::drive::Drive;
use crate::disk::geometry::Zone;
use crate::disk::profile::{Cache, Habit, Profile, WritePolicy};
use crate::disk::rotation::Angle;
use crate::disk::seek::SeekCurve;

const FLUSH: Command = Command {
    tag: u64::MAX,
    operation: Operation::Flush,
    start: 0,
    count: 0,
};

fn behind(write_segments: usize) -> Profile {
    let mut profile = plain();
    profile.cache = Cache {
        segments: 8,
        write_segments,
        write_policy: WritePolicy::Behind,
        ..Cache::default()
    };
    profile
}

/// When `blocks` blocks from `start` on are on the medium: writes of `size`, `depth` at a time,
/// then a flush.
fn written_ns(disk: &mut Drive, start: u64, blocks: u64, size: u32, depth: u64) -> u64 {
    let end = start + blocks;
    let mut next = start;
    let mut submit = |disk: &mut Drive, now| {
        if next < end {
            let count = u64::from(size).min(end - next) as u32;
            disk.submit(now, write(next, count));
            next += u64::from(count);
        }
    };
    for _ in 0..depth {
        submit(disk, 0);
    }
    let mut now = 0;
    while let Some(wake) = disk.wake() {
        now = wake;
        while disk.answer(now).is_some() {
            submit(disk, now);
        }
        disk.check();
    }
    now + one(disk, now, FLUSH)
}

/// The time of a cylinder by the data sheet's formula: a turn and a skew for each of its tracks.
fn cylinder_ns(disk: &Drive, zone: &Zone) -> f64 {
    let turn_ns = 60e9 / f64::from(disk.profile().mechanics.rpm);
    let heads = f64::from(disk.geometry().heads());
    let skews = (heads - 1.0) * zone.track_skew_millisectors as f64
        + zone.cylinder_skew_millisectors as f64;
    turn_ns * (heads + skews / 1000.0 / f64::from(zone.per_track))
}

/// Queued writes in order, small ones and large ones, take the turns and the skews of the tracks
/// that they cover, in any zone: 128 cylinders more take the time of 128 cylinders.
#[test]
fn writes_in_order_reach_the_rate_of_their_zone() {
    for name in ["wd800bd-like", "ide-8gb-like", "ide-30gb-like"] {
        let disk = drive(find(name).unwrap());
        let zones = disk.geometry().zones().to_vec();
        for zone in [zones[0].clone(), zones[zones.len() / 2].clone()] {
            let cylinder = u64::from(zone.per_track) * u64::from(disk.geometry().heads());
            let start = disk.geometry().block_at(zone.first_cylinder, 0, 0).unwrap();
            for (size, depth) in [(8, 32), (256, 32), (256, 2), (1024, 1)] {
                let written = |cylinders: u64| {
                    let mut disk = disk.sibling(Angle::default());
                    written_ns(&mut disk, start, cylinder * cylinders, size, depth)
                };
                let more = (written(148) - written(20)) as f64;
                let expected = 128.0 * cylinder_ns(&disk, &zone);
                let error = more / expected - 1.0;
                assert!(
                    error.abs() < 0.01,
                    "{name}, {size} blocks, {depth} at a time: {more} ns, not {expected} ns"
                );
            }
        }
    }
}

/// Eight writes in order are one passage, and the flush behind them waits for its end.
#[test]
fn a_flush_waits_for_a_stream() {
    let mut disk = drive(behind(16));
    for index in 0..8 {
        disk.submit(0, write(10 + 5 * index, 5));
    }
    disk.submit(0, FLUSH);
    // The last has come at 0.9; block 10 passes at 1.0, and the 40th after it until 5.0.
    near(drain(&mut disk).last().unwrap().at_ns, 5 * MS);
}

/// A write that comes when the stream has ended waits for its turn.
#[test]
fn a_late_write_waits_for_a_turn() {
    let mut disk = drive(behind(16));
    disk.submit(0, write(10, 5));
    disk.submit(2 * MS, write(15, 5));
    disk.submit(2 * MS, FLUSH);
    // Block 15 passed at 1.5.
    near(drain(&mut disk).last().unwrap().at_ns, 12 * MS);
}

/// Without combining, the head leaves and settles between two writes.
#[test]
fn writes_apart_lose_turns() {
    let time = |combine_writes| {
        let mut profile = behind(16);
        profile.mechanics.settle_ns = MS / 5;
        profile.cache.combine_writes = combine_writes;
        written_ns(&mut drive(profile), 10, 800, 5, 16)
    };
    // Settled at 1.5: block 10 passes at 11.0, and 799 more with 4 switches of heads and 4 of
    // cylinders.
    near(time(Habit::Yes), (110 + 800 + 4 * 20 + 4 * 60) * MS / 10);
    // Of 16 that wait, the head reaches every other one in a turn.
    assert!(time(Habit::No) > 160 / 8 * 9 * MS, "{} ns", time(Habit::No));
}

/// What is cached is written from its begin, wherever the head comes to it.
#[test]
fn a_stream_begins_at_its_first_block() {
    let mut disk = drive(behind(16));
    // The second half comes first; at 0.8 the head could begin at either.
    disk.submit(0, write(30, 15));
    disk.submit(0, write(15, 15));
    disk.submit(0, FLUSH);
    near(drain(&mut disk).last().unwrap().at_ns, 45 * MS / 10);
}

/// A read does not wait until all is written back.
#[test]
fn reads_go_before_what_is_cached() {
    let mut disk = drive(behind(64));
    for index in 0..60 {
        disk.submit(0, write(10 + 50 * index, 50));
    }
    disk.submit(40 * MS, read(100_000, 1));
    let answers = drain(&mut disk);
    let read = answers.iter().find(|answer| answer.tag == 100_000).unwrap();
    // At most the write that is under way, a turn to miss, a seek and a turn to wait.
    assert!(read.at_ns < 75 * MS, "{} ns", read.at_ns);
}

/// Writes at random take the average seek, what a write settles, half a turn and their passage.
#[test]
fn random_writes_are_closed_forms() {
    let mut profile = behind(1);
    profile.mechanics.seek = SeekCurve::Table(vec![(1, MS), (1000, 11 * MS)]);
    profile.mechanics.write_settle_ns = 2 * MS as i64;
    let mut disk = drive(profile);
    let (mut state, count) = (17_u64, 20_000);
    for _ in 0..count {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        disk.submit(0, write((state >> 30) % 200_000, 1));
    }
    let last = drain(&mut disk).last().unwrap().at_ns;
    let average = last as f64 / f64::from(count);
    // One block over the bus, then the medium.
    let settle = 2 * MS;
    let expected = (disk.arm().average_seek_ns() + settle + 5 * MS + MS / 10 + 10_000) as f64;
    let error = average / expected - 1.0;
    assert!(error.abs() < 0.01, "{average} ns, not {expected} ns");
}
