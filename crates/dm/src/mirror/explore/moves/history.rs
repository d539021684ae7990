//! One history: what is moved, what is asked meanwhile, what fails, and when the power goes.

use block::sim::Random;

use super::cut::{cut, killed};
use super::fault::SeededFault;
use super::mishap::Mishap;
use super::run::{Left, Run};
use super::shape::{Described, Shape};
use crate::explore::{Model, Seen};

/// Runs the history of `seed`; what is wrong, if anything.
pub(super) fn run(seed: u64, fault: Option<SeededFault>, seen: &mut Seen) -> Result<(), String> {
    let mut random = Random::new(seed);
    let random = &mut random;
    let shape = Shape::chosen(random, fault);
    let mut run = Run::start(shape, beginning(&shape, random), false, random)?;
    let steps = 40 + random.index(260);
    let mishaps: Vec<(usize, Mishap)> = (0..random.index(4))
        .map(|_| (random.index(steps), Mishap::chosen(random)))
        .collect();
    let is_killed = random.chance(1, 3);
    for step in 0..steps {
        // After a failure a cache may hold what is never written, and shows it to who reads next.
        if is_killed && !run.source_fails && random.chance(1, 40) {
            run = killed(run, random)?;
            seen.count("processes killed", 1);
        }
        for (_, mishap) in mishaps.iter().filter(|(when, _)| *when == step) {
            run.suffer(*mishap, random);
            seen.count(mishap.name(), 1);
        }
        run.act(random)?;
        if random.chance(1, 3) {
            cut(&run, random, 1, seen)?;
        }
    }
    run.finish(random)?;
    if mishaps.is_empty() {
        run.rest(random)?;
        run.read_all(random)?;
        seen.count("moves ended", 1);
    }
    for (what, times) in std::mem::take(&mut run.counts) {
        seen.count(what, times);
    }
    cut(&run, random, 1, seen)
}

/// A move that was just begun, or some of it is done. What the target of the others holds is old.
fn beginning(shape: &Shape, random: &mut Random) -> Left {
    let described = Described {
        moved: random.index(shape.count),
        is_aborted: false,
    };
    let windows = |piece| {
        let is_there = described.side(piece);
        std::array::from_fn(|side| shape.image(piece, side == is_there))
    };
    Left {
        images: (0..shape.count).map(windows).collect(),
        model: Model::new(shape.sectors()),
        described,
    }
}
