//! The predictor against the emulated disks, on a few cases: a loose bound that shows breakage, not
//! the score, which the example `score` prints.

use super::predict;
use crate::disk::catalog;
use crate::disk::profile::Scheduler;
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

/// Writes in order that a drive may reorder, or that come of themselves, cost turns as emulated.
#[test]
fn streams_of_writes_take_their_turns() {
    let profile = catalog::find("Seagate Cheetah 9LP ST39102LW").unwrap();
    for (scheduler, blocks, arrivals) in [
        (Scheduler::Sptf, 2, Arrivals::Closed { depth: 16 }),
        (Scheduler::Sptf, 1, Arrivals::Closed { depth: 32 }),
        (Scheduler::Fcfs, 8, Arrivals::Closed { depth: 4 }),
        (Scheduler::Fcfs, 8, Arrivals::Poisson { gap_ns: 20_000_000 }),
    ] {
        let mut profile = profile.clone();
        profile.queue.scheduler = scheduler;
        let medium = Medium::Drive(Box::new(profile));
        let all = medium.blocks().unwrap();
        let volume = Volume {
            disks: vec![Disk { medium, link: None }],
            pieces: vec![Piece {
                disk: 0,
                start: 0,
                blocks: all,
            }],
            shape: Shape::Linear,
        };
        let load = Load {
            pattern: Pattern::Sequential,
            region_start: 0,
            region_blocks: all,
            reads: 0,
            blocks,
            grain: blocks,
            arrivals,
            warm_up: 500,
            counted: 3000,
        };
        let seen = emulate::run(&volume, &load, 1).unwrap().response_ns;
        let told = predict(&volume, &load).unwrap().response_ns;
        assert!(
            (told / seen - 1.0).abs() < 0.2,
            "{load:?}: {told} for {seen}"
        );
    }
}
