//! The averages of random commands against sums over all distances.

use super::{Waiting, Ways};
use crate::disk::catalog;
use crate::disk::profile::{Profile, Scheduler};
use crate::predict::footprint::Part;
use crate::predict::mechanics::Mechanics;

/// Evenly spread single blocks: by cylinder, so that distances are as in the formula.
fn parts(mechanics: &Mechanics<'_>) -> Vec<Part> {
    let geometry = &mechanics.geometry;
    let cylinders = u64::from(geometry.cylinders());
    (0..1024)
        .filter_map(|index| geometry.block_at((cylinders * index / 1024) as u32, 0, 0))
        .map(|start| Part { start, count: 1 })
        .collect()
}

fn law(profile: &Profile, candidates: f64) -> super::Law {
    let mechanics = Mechanics::new(profile).unwrap();
    let ways = Ways::new(&mechanics, &parts(&mechanics), 1.0);
    let waiting = Waiting {
        candidates,
        idle: 0.0,
    };
    ways.reads(&mechanics, waiting)
}

/// FCFS: the sum of 2(n-d)/n² t(d), half a turn, and one sector.
#[test]
fn first_come_first_served() {
    for profile in catalog::all() {
        let mut profile = profile;
        profile.queue.scheduler = Scheduler::Fcfs;
        let mechanics = Mechanics::new(&profile).unwrap();
        let seek = mechanics.arm.average_seek_ns() as f64;
        let law = law(&profile, 1.0);
        assert!(
            (law.cost.seek / seek - 1.0).abs() < 0.03,
            "{}",
            profile.name
        );
        let wait = law.cost.rotation * 2.0 / mechanics.turn;
        assert!((wait - 1.0).abs() < 0.02, "{} {wait}", profile.name);
    }
}

/// More to choose from makes a command shorter, the most so where rotation counts too.
#[test]
fn choice_pays() {
    let mut profile = catalog::wd800bd_like();
    let mut busy = |scheduler, candidates| {
        profile.queue.scheduler = scheduler;
        law(&profile, candidates).cost.busy
    };
    let alone = busy(Scheduler::Fcfs, 1.0);
    let look = [busy(Scheduler::Look, 4.0), busy(Scheduler::Look, 31.0)];
    let sptf = [busy(Scheduler::Sptf, 4.0), busy(Scheduler::Sptf, 31.0)];
    assert!(alone > look[0] && look[0] > look[1]);
    assert!(look[0] > sptf[0] && sptf[0] > sptf[1] && look[1] > sptf[1]);
}
