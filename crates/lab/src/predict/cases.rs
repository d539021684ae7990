//! Random questions: disks, a layout, a load, from a seed.
//!
//! Written before any predictor and not changed since: what is drawn here, and how often, decides
//! what a score means. Seeds below 8001, and those from 100001 on, were used for tuning.
//!
//! Disks are drives of a library (the catalog, and imported ones where the caller has their files),
//! half of them with another queue or write cache than they were built with; volumes with limits;
//! and flash. One in eight is behind a network. Layouts are a whole disk, a partition, two
//! partitions of one disk (one after the other, or striped), up to eight disks one after the other
//! or striped, and mirrors of two. Loads are random, with a hot part or without, or sequential;
//! reads, writes or both; 512 bytes to 1 MiB; with 1 to 64 outstanding, or coming at random at a
//! share of what the volume can do with four outstanding on each piece.

use block::sim::Random;

use super::subject::{Arrivals, Disk, Load, Medium, Pattern, Piece, Shape, Volume};
use crate::disk::capped::Cap;
use crate::disk::flash::FlashProfile;
use crate::disk::link::Network;
use crate::disk::profile::{Profile, Scheduler, WritePolicy};
use crate::error::Result;

/// Seeds that parameters of the predictor may be fitted to.
pub const TUNING: std::ops::RangeInclusive<u64> = 1..=200;
/// Seeds that it is judged by.
pub const JUDGING: std::ops::RangeInclusive<u64> = 8001..=9500;

/// A question, before the rate of an open load is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Where it comes from.
    pub seed: u64,
    /// What it is about, for tables.
    pub class: Class,
    /// The disks and the volume on them.
    pub volume: Volume,
    /// The load; for an open one as if it were closed, with four outstanding on each piece.
    pub load: Load,
    /// The share of what the volume does then that comes, in thousandths; `None` is a closed load.
    pub open: Option<u64>,
}

/// What a case is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Class {
    /// drive, flash or cap.
    pub disks: &'static str,
    /// The layout.
    pub layout: &'static str,
    /// random, hot or sequential.
    pub pattern: &'static str,
    /// read, write or mix.
    pub direction: &'static str,
    /// one, few, many or open.
    pub arrivals: &'static str,
}

/// The case of `seed`. Drives are taken from `library`, which must not be empty.
pub fn case(seed: u64, library: &[Profile]) -> Result<Case> {
    let mut random = Random::new(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let kind = match random.below(10) {
        0 => "cap",
        1 => "flash",
        _ => "drive",
    };
    let (layout, pieces, spindles, striped) = layout(&mut random);
    let mirror = layout == "mirror";
    let equal = mirror || random.chance(3, 4);
    let mut disks: Vec<Disk> = Vec::new();
    for number in 0..spindles {
        if equal && number > 0 {
            disks.push(disks[0].clone());
        } else {
            disks.push(disk(&mut random, kind, library));
        }
    }
    let pieces = place(&mut random, layout, &disks, pieces)?;
    let shape = match (mirror, striped) {
        (true, _) => Shape::Mirror,
        (_, true) => Shape::Striped {
            chunk: 8 << random.below(9),
        },
        _ => Shape::Linear,
    };
    let volume = Volume {
        disks,
        pieces,
        shape,
    };
    let (load, open) = load(&mut random, &volume);
    let class = Class {
        disks: kind,
        layout,
        pattern: match load.pattern {
            Pattern::Sequential => "sequential",
            Pattern::Random { hot_share: 0, .. } => "random",
            Pattern::Random { .. } => "hot",
        },
        direction: match load.reads {
            1000 => "read",
            0 => "write",
            _ => "mix",
        },
        arrivals: match (open, load.arrivals) {
            (None, Arrivals::Closed { depth: 1 }) => "one",
            (None, Arrivals::Closed { depth: 2..=8 }) => "few",
            (None, Arrivals::Closed { .. }) => "many",
            _ => "open",
        },
    };
    Ok(Case {
        seed,
        class,
        volume,
        load,
        open,
    })
}

/// A layout: its name, pieces, disks, and whether it is striped.
fn layout(random: &mut Random) -> (&'static str, usize, usize, bool) {
    match random.below(8) {
        0 => ("whole", 1, 1, false),
        1 => ("partition", 1, 1, false),
        2 => ("one spindle linear", 2, 1, false),
        3 => ("one spindle striped", 2, 1, true),
        4 => {
            let count = 2 + random.index(7);
            ("linear", count, count, false)
        }
        7 => ("mirror", 2, 2, false),
        _ => {
            let count = 2 + random.index(7);
            ("striped", count, count, true)
        }
    }
}

fn disk(random: &mut Random, kind: &str, library: &[Profile]) -> Disk {
    let medium = match kind {
        "cap" => Medium::Capped(cap(random)),
        "flash" => Medium::Flash(flash(random)),
        _ => Medium::Drive(Box::new(drive(random, library))),
    };
    let link = random.chance(1, 8).then(|| {
        let megabits = [100, 1000, 10_000][random.index(3)];
        Network::ethernet(megabits, 50_000 + random.below(950_000))
    });
    Disk { medium, link }
}

fn drive(random: &mut Random, library: &[Profile]) -> Profile {
    let mut profile = library[random.index(library.len())].clone();
    if random.chance(1, 2) {
        profile.queue.scheduler =
            [Scheduler::Fcfs, Scheduler::Look, Scheduler::Sptf][random.index(3)];
        profile.queue.depth = 32;
    }
    if random.chance(1, 4) && profile.cache.segments > 1 {
        profile.cache.write_policy = WritePolicy::Behind;
        profile.cache.write_segments = 8 << random.below(5);
    }
    profile
}

fn cap(random: &mut Random) -> Cap {
    let operations = 100 * (1 + random.below(60));
    let bytes = 1_000_000 * (10 + random.below(400));
    let (some, other) = [(true, false), (false, true), (true, true)][random.index(3)];
    Cap {
        blocks: 1 << 26,
        operations: some.then_some(operations),
        bytes: other.then_some(bytes),
        burst_ns: 0,
        latency_ns: 100_000 + random.below(4_000_000),
    }
}

fn flash(random: &mut Random) -> FlashProfile {
    FlashProfile {
        blocks: 1 << 26,
        page_blocks: 8 << random.below(3),
        units: 1 << random.below(6),
        read_ns: 40_000 + random.below(80_000),
        program_ns: 200_000 + random.below(1_000_000),
        erase_ns: 1_000_000 + random.below(4_000_000),
        erase_pages: 64 << random.below(3),
        amplification_thousandths: 1000 + random.below(2000),
        cache_pages: [0, 64, 1024][random.index(3)],
        overhead_ns: 5_000 + random.below(40_000),
        block_ns: 200 + random.below(1500),
    }
}

/// Where the pieces lie.
fn place(random: &mut Random, layout: &str, disks: &[Disk], count: usize) -> Result<Vec<Piece>> {
    let mut pieces = Vec::new();
    for number in 0..count {
        let disk = number.min(disks.len() - 1);
        let total = disks[disk].medium.blocks()? / 2048 * 2048;
        let within = |from: u64, until: u64, random: &mut Random| {
            let room = until - from;
            let blocks = room * (100 + random.below(901)) / 1000 / 2048 * 2048;
            let start = from + random.below(room - blocks + 1) / 8 * 8;
            (start, blocks)
        };
        let (start, blocks) = match layout {
            "whole" => (0, total),
            "one spindle linear" | "one spindle striped" => {
                let half = total / 2;
                let from = half * number as u64;
                within(from, from + half, random)
            }
            _ if random.chance(1, 2) => (0, total),
            _ => within(0, total, random),
        };
        pieces.push(Piece {
            disk,
            start,
            blocks,
        });
    }
    Ok(pieces)
}

fn load(random: &mut Random, volume: &Volume) -> (Load, Option<u64>) {
    let blocks = 1 << random.below(12);
    let grain = if random.chance(1, 2) {
        blocks
    } else {
        blocks.min(8)
    };
    let total = volume.blocks();
    let (region_start, region_blocks) = if random.chance(1, 2) {
        (0, total)
    } else {
        let size = total * (10 + random.below(990)) / 1000;
        let size = (size / 2048 * 2048).clamp(4096, total);
        (random.below(total - size + 1) / 8 * 8, size)
    };
    let pattern = match random.below(10) {
        0..3 => Pattern::Sequential,
        3..5 => Pattern::Random {
            hot_share: 100 * (5 + random.below(5)),
            hot_blocks: (region_blocks * (10 + random.below(300)) / 1000).max(4096),
        },
        _ => Pattern::Random {
            hot_share: 0,
            hot_blocks: 0,
        },
    };
    let reads = [1000, 1000, 0, 0, 100 * (1 + random.below(9))][random.index(5)];
    let open = random.chance(3, 10).then(|| 100 + random.below(600));
    let depth = match open {
        Some(_) => 4 * volume.pieces.len(),
        None => [1, 1, 2, 4, 8, 16, 32, 64][random.index(8)],
    };
    let load = Load {
        pattern,
        region_start,
        region_blocks,
        reads,
        blocks,
        grain,
        arrivals: Arrivals::Closed { depth },
        warm_up: 2000,
        counted: 10_000,
    };
    (load, open)
}

#[cfg(test)]
mod tests;
