//! The power is cut, and what is left is started again.

use std::hash::{DefaultHasher, Hash, Hasher};

use block::Range;
use block::sim::{Disk, Random};

use super::fault::SeededFault;
use super::run::{Left, Run};
use super::shape::{Described, SIDES, SOURCE, Shape, TARGET};
use crate::explore::Seen;

/// Cuts the power of a running volume, and looks what is left; the run itself goes on.
pub(super) fn cut(
    run: &Run,
    random: &mut Random,
    depth: u32,
    seen: &mut Seen,
) -> Result<(), String> {
    let mut model = run.model.clone();
    model.cut();
    model.is_monotone = true;
    let images = (0..run.shape.count)
        .map(|piece| [SOURCE, TARGET].map(|side| run.disk(piece, side).cut(random)));
    let left = Left {
        images: images.collect(),
        model,
        described: described(run, random),
    };
    seen.cut(fingerprint(&left));
    if run.pending.is_some() {
        seen.count("cuts while it is written down", 1);
    }
    verify(run.shape, left, random, depth, seen)
}

/// The process is killed: what is in flight may have been sent, and caches are kept.
pub(super) fn killed(mut run: Run, random: &mut Random) -> Result<Run, String> {
    let described = described(&run, random);
    run.model.killed();
    let mut disks = run.world.map(|world| world.kill(random).into_iter());
    let mut all: Vec<[Disk; SIDES]> = Vec::new();
    for pair in run.windows {
        all.push(pair.map(|window| match (window, &mut disks) {
            (Some(window), _) => window.kill(random),
            (None, Some(disks)) => disks.next().expect("there are two"),
            (None, None) => unreachable!("the windows are somewhere"),
        }));
    }
    let start = (run.model, described);
    let mut next = Run::start_on(run.shape, all, start, run.target_gone)?;
    next.counts = run.counts;
    Ok(next)
}

/// What the metadata say.
fn described(run: &Run, random: &mut Random) -> Described {
    let mut described = match run.pending {
        Some(pending) if random.chance(1, 2) => pending,
        _ => run.described,
    };
    let is_believed = run.shape.fault == Some(SeededFault::TargetBelieved) && run.is_copied;
    if is_believed && described == run.described && run.world.is_some() {
        described.moved += 1;
    }
    described
}

/// Starts what a cut left, reads all of it twice, and may write on and cut again.
fn verify(
    shape: Shape,
    left: Left,
    random: &mut Random,
    depth: u32,
    seen: &mut Seen,
) -> Result<(), String> {
    let target_gone = !shape.one_disk && random.chance(1, 8);
    let mut run = Run::start(shape, left, target_gone, random)?;
    run.read_all(random)?;
    if target_gone {
        seen.count("cuts without a target", 1);
    } else if random.chance(1, 4) {
        run.rest(random)?;
        seen.count("moves ended after a cut", 1);
    }
    run.read_all(random)?;
    if depth > 0 && random.chance(1, 4) {
        for _ in 0..random.index(60) {
            run.act(random)?;
        }
        return cut(&run, random, depth - 1, seen);
    }
    Ok(())
}

fn fingerprint(left: &Left) -> u64 {
    let mut hasher = DefaultHasher::new();
    for image in left.images.iter().flatten() {
        image.bytes(Range::new(0, image.size())).hash(&mut hasher);
    }
    left.described.hash(&mut hasher);
    left.model.hash(&mut hasher);
    hasher.finish()
}
