//! The predictor against the emulated disks, on a few cases: a loose bound that shows breakage, not
//! the score, which the example `score` prints.

use super::predict;
use crate::disk::catalog;
use crate::disk::profile::{Profile, Scheduler, WritePolicy};
use crate::predict::cases;
use crate::predict::emulate;
use crate::predict::subject::{Arrivals, Disk, Load, Medium, Pattern, Piece, Shape, Volume};

/// The middle of fifteen errors is small.
#[test]
fn predictions_are_near() {
    let library = catalog::library();
    let mut errors = Vec::new();
    for seed in 1..=40 {
        let case = cases::case(seed, &library).unwrap();
        if case.open.is_some() || errors.len() == 15 {
            continue;
        }
        let mut load = case.load;
        (load.warm_up, load.counted) = (500, 2000);
        let seen = emulate::run(&case.volume, &load, seed).unwrap();
        let told = predict(&case.volume, &load).unwrap();
        assert!(
            told.per_second.is_finite() && told.per_second > 0.0,
            "{seed}"
        );
        errors.push((told.per_second / seen.per_second - 1.0).abs());
    }
    errors.sort_by(f64::total_cmp);
    assert!(errors[7] < 0.1, "{errors:?}");
    assert!(errors[12] < 0.4, "{errors:?}");
}

/// The drive of this name, whole.
fn drive(name: &str) -> Profile {
    catalog::find(name).unwrap()
}

/// Disks like this one in a shape; all of each, or two halves of one.
fn volume(profile: Profile, pieces: usize, disks: usize, shape: Shape) -> Volume {
    let medium = Medium::Drive(Box::new(profile));
    let all = medium.blocks().unwrap();
    let each = all * disks as u64 / pieces as u64 / 4096 * 4096;
    Volume {
        disks: vec![Disk { medium, link: None }; disks],
        pieces: (0..pieces)
            .map(|piece| Piece {
                disk: piece % disks,
                start: each * (piece / disks) as u64,
                blocks: each,
            })
            .collect(),
        shape,
    }
}

fn stream(volume: &Volume, reads: u64, blocks: u64, arrivals: Arrivals) -> Load {
    Load {
        pattern: Pattern::Sequential,
        region_start: 0,
        region_blocks: volume.blocks(),
        reads,
        blocks,
        grain: blocks,
        arrivals,
        warm_up: 1000,
        counted: 5000,
    }
}

/// The prediction is within a share of what is emulated.
fn near(volume: &Volume, load: &Load, share: f64) {
    let seen = emulate::run(volume, load, 1).unwrap().response_ns;
    let told = predict(volume, load).unwrap().response_ns;
    assert!(
        (told / seen - 1.0).abs() < share,
        "{load:?}: {told} for {seen}"
    );
}

/// Writes in order that a drive may reorder, or that come of themselves, cost turns as emulated.
#[test]
fn streams_of_writes_take_their_turns() {
    for (scheduler, blocks, arrivals) in [
        (Scheduler::Sptf, 2, Arrivals::Closed { depth: 16 }),
        (Scheduler::Sptf, 1, Arrivals::Closed { depth: 32 }),
        (Scheduler::Fcfs, 8, Arrivals::Closed { depth: 4 }),
        (Scheduler::Fcfs, 8, Arrivals::Poisson { gap_ns: 20_000_000 }),
    ] {
        let mut profile = drive("Seagate Cheetah 9LP ST39102LW");
        profile.queue.scheduler = scheduler;
        let volume = volume(profile, 1, 1, Shape::Linear);
        near(&volume, &stream(&volume, 0, blocks, arrivals), 0.2);
    }
}

/// Cached writes in order go at the rate of the medium, or that of the host.
#[test]
fn cached_writes_run_on() {
    for (name, blocks, depth) in [
        ("wd800bd-like", 64, 8),
        ("wd800bd-like", 512, 1),
        ("HP C2490A", 16, 32),
        ("Quantum Atlas III", 4, 4),
    ] {
        let mut profile = drive(name);
        profile.cache.write_policy = WritePolicy::Behind;
        profile.cache.write_segments = 64;
        let volume = volume(profile, 1, 1, Shape::Linear);
        let load = stream(&volume, 0, blocks, Arrivals::Closed { depth });
        near(&volume, &load, 0.1);
    }
}

/// Reads that come of themselves find the head stopped now and then; those behind such a one come
/// too early for what was read ahead.
#[test]
fn reads_that_come_of_themselves_find_the_head_stopped() {
    for (name, disks, blocks, gap_ns) in [
        ("DEC RZ26", 1, 16, 40_000_000),
        ("HP C3323A", 1, 64, 50_000_000),
        ("Seagate Cheetah 9LP ST39102LW", 7, 8, 1_500_000),
        ("Seagate Elite ST41601N", 6, 2, 25_000_000),
    ] {
        let shape = match disks {
            1 => Shape::Linear,
            _ => Shape::Striped { chunk: 512 },
        };
        let volume = volume(drive(name), disks, disks, shape);
        let load = stream(&volume, 1000, blocks, Arrivals::Poisson { gap_ns });
        near(&volume, &load, 0.25);
    }
}

/// While the others have their turn, a disk of a stripe reads ahead what its next chunks ask for,
/// so that not every chunk loses a turn for each request.
#[test]
fn stripes_read_ahead_of_chunks() {
    for (name, disks, chunk, blocks, depth) in [
        ("DEC RZ26", 5, 512, 4, 2),
        ("HP C2490A", 5, 2048, 8, 4),
        ("Seagate Elite ST41601N", 7, 2048, 16, 16),
    ] {
        let volume = volume(drive(name), disks, disks, Shape::Striped { chunk });
        let load = stream(&volume, 1000, blocks, Arrivals::Closed { depth });
        near(&volume, &load, 0.15);
    }
}

/// A stream over two halves of a disk moves the arm with each chunk.
#[test]
fn halves_of_a_disk_cost_seeks() {
    for (name, chunk, blocks, depth) in [
        ("Seagate Cheetah 9LP ST39102LW", 256, 512, 2),
        ("wd800bd-like", 16, 2048, 2),
        ("HP C3323A", 32, 32, 1),
    ] {
        let volume = volume(drive(name), 2, 1, Shape::Striped { chunk });
        let load = stream(&volume, 1000, blocks, Arrivals::Closed { depth });
        near(&volume, &load, 0.3);
    }
}
