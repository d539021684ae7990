//! One history: what is done to an origin and its snapshots, what fails, and when the power goes.

use block::sim::{Disk, Random};

use super::cut::{cut, killed};
use super::fault::SeededFault;
use super::mishap::Mishap;
use super::oracle::{Oracle, Taken};
use super::run::{Left, Run};
use super::shape::{SLOTS, Shape, Subject};
use crate::explore::{SECTOR, Seen};
use crate::machine::Event;
use crate::snapshot::{Overflow, Stored};

/// Runs the history of `seed`; what is wrong, if anything.
pub(super) fn run(
    seed: u64,
    subject: Subject,
    fault: Option<SeededFault>,
    seen: &mut Seen,
) -> Result<(), String> {
    let mut random = Random::new(seed);
    let random = &mut random;
    let shape = Shape::chosen(random, subject, fault);
    let mut run = Run::start(shape, beginning(&shape, random), random)?;
    run.settle_start(random)?;
    let steps = 30 + random.index(150);
    // Now and then a store fails again and again.
    let is_ill = random.chance(1, 6);
    let (count, pause) = if is_ill {
        (8 + random.index(24), 8)
    } else {
        (random.index(5).saturating_sub(2), 20)
    };
    let mishaps: Vec<(usize, Mishap)> = (0..count)
        .map(|_| (random.index(steps), Mishap::chosen(random, is_ill)))
        .collect();
    let is_killed = random.chance(1, 2);
    for step in 0..steps {
        let fails = run.world.failed.contains(&true) || run.world.disks.iter().any(Disk::is_gone);
        if is_killed && !fails && random.chance(1, 20) {
            run = killed(run, random)?;
            run.settle_start(random)?;
            seen.count("processes killed", 1);
        }
        for (_, mishap) in mishaps.iter().filter(|(when, _)| *when == step) {
            run.suffer(*mishap);
            seen.count("mishaps", 1);
        }
        if step == 0 || random.chance(1, pause) {
            let change = Change::chosen(&run, random);
            seen.count(change.name(), 1);
            change.make(&mut run, random, |run, random| cut(run, random, 1, seen))?;
        }
        if subject == Subject::Merges && random.chance(1, 30) {
            run.order([0, 512, 1 << 20][random.index(3)]);
        }
        run.act(random)?;
        if random.chance(1, 2) {
            cut(&run, random, 1, seen)?;
        }
    }
    if random.chance(1, 2) {
        run.stop(random)?;
        seen.count("stopped", 1);
    } else {
        run.finish(random)?;
    }
    let [reads, writes] = run.world.asked_directly();
    seen.count("reads without the home", reads);
    seen.count("writes without the home", writes);
    seen.count("merged", run.merged);
    seen.count("invalidated", run.invalidated);
    cut(&run, random, 1, seen)
}

/// An origin without snapshots.
fn beginning(shape: &Shape, random: &mut Random) -> Left {
    let mut images = vec![shape.origin()];
    images.extend((0..SLOTS).map(|slot| shape.store(slot, random)));
    Left {
        images,
        stored: [const { Stored::Fresh }; SLOTS],
        oracle: Oracle::new(shape.origin_size(random)),
        plain: Vec::new(),
    }
}

/// What an origin becomes while it is suspended.
#[derive(Debug, Clone, Copy)]
pub(super) enum Change {
    Nothing,
    Take(usize),
    Remove(usize),
    /// Another one is taken in its place.
    Exchange(usize),
    Merge(usize),
    GrowOrigin,
    GrowStore(usize),
}

impl Change {
    pub(super) fn chosen(run: &Run, random: &mut Random) -> Self {
        let slot = random.index(SLOTS);
        let merges = run.oracle.merging().is_some();
        match &run.oracle.snapshots[slot] {
            None if merges => Self::Nothing,
            None => Self::Take(slot),
            Some(taken) if taken.merging && !taken.merged => Self::GrowOrigin,
            Some(taken) if taken.merged => Self::Remove(slot),
            Some(taken) if taken.is_invalid() && random.chance(2, 3) => Self::Remove(slot),
            Some(taken) => match (run.shape.subject, random.below(6)) {
                (Subject::Snapshots, 0) => Self::Remove(slot),
                (Subject::Snapshots, 1) => Self::Exchange(slot),
                (Subject::Merges, 0..=2) if !merges && taken.can_merge() => Self::Merge(slot),
                (_, 3) => Self::GrowStore(slot),
                (_, 4) => Self::GrowOrigin,
                _ => Self::Nothing,
            },
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Nothing => "suspended",
            Self::Take(_) => "taken",
            Self::Remove(_) => "removed",
            Self::Exchange(_) => "exchanged",
            Self::Merge(_) => "merges begun",
            Self::GrowOrigin => "origins grown",
            Self::GrowStore(_) => "stores grown",
        }
    }

    /// Suspends, changes and resumes; `between` may look at each moment.
    pub(super) fn make(
        self,
        run: &mut Run,
        random: &mut Random,
        mut between: impl FnMut(&Run, &mut Random) -> Result<(), String>,
    ) -> Result<(), String> {
        run.suspend(random)?;
        if random.chance(1, 4) {
            between(run, random)?;
        }
        let shape = run.shape;
        match self {
            Self::Nothing => {}
            Self::Take(slot) | Self::Exchange(slot) => {
                run.oracle.snapshots[slot] = None;
                let store_size = shape.store_size(slot, random);
                let overflow = [Overflow::FailWrite, Overflow::Invalidate][random.index(2)];
                let image = shape.store(slot, random);
                let disk = shape.disk(image, random);
                run.world.put(1 + slot, disk, store_size);
                run.oracle
                    .take(slot, shape.chunks[slot], store_size, overflow);
            }
            Self::Remove(slot) => run.oracle.snapshots[slot] = None,
            Self::Merge(slot) => {
                // What was in flight may have made it invalid.
                let taken = run.oracle.snapshots[slot].as_ref();
                if taken.is_some_and(Taken::can_merge) {
                    run.oracle.merge(slot);
                }
            }
            Self::GrowOrigin => {
                let size = run.oracle.origin_size();
                let more = (1 + random.below(8)) * SECTOR;
                let size = (size + more).min(shape.origin_max);
                run.oracle.origin.grow(size / SECTOR);
                run.world.resize(0, size);
            }
            Self::GrowStore(slot) => {
                let taken = run.oracle.snapshots[slot].as_mut().expect("it is there");
                taken.store_size = shape.larger_store(slot, taken.store_size, random);
                run.world.resize(1 + slot, taken.store_size);
            }
        }
        if !matches!(self, Self::Nothing) {
            run.reload()?;
        }
        if random.chance(1, 4) {
            between(run, random)?;
        }
        run.world.tell(Event::Resume);
        run.look()
    }
}
