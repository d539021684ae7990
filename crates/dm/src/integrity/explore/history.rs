//! One history: a device from its start to its end, cut at many moments.

use std::hash::{DefaultHasher, Hash, Hasher};

use block::sim::{Disk, Image, Random};
use block::{Access, Range};

use super::fault::SeededFault;
use super::run::Run;
use super::shape::Shape;
use crate::explore::{Model, Seen};
use crate::machine::Machine;

/// Steps of a history at most.
const STEPS: u64 = 120;

/// Runs the history of a seed.
pub(super) fn run(seed: u64, fault: Option<SeededFault>, seen: &mut Seen) -> Result<(), String> {
    let mut random = Random::new(seed);
    let random = &mut random;
    let shape = Shape::chosen(fault, random);
    let model = Model::new(shape.sectors);
    let disks = disks(shape.images(), random);
    let mut run = Run::start(&shape, disks, model, Access::ReadWrite, random)?;
    let may_fail = random.chance(1, 4);
    for _ in 0..random.below(STEPS) {
        run.act(random)?;
        if random.chance(1, 2) {
            cut(&run, random, 2, seen)?;
        }
        let is_running = run.world.started.is_some() && !run.has_failed();
        match random.below(60) {
            0 if is_running => run.suspend(random)?,
            1 if is_running => {
                run.stop(random)?;
                seen.count("stops", 1);
                // A flush may have failed: what was not flushed is nobody's promise any more.
                if run.has_failed() {
                    break;
                }
                run = again(run.world.disks, run.model, &shape, random)?;
            }
            2 if !run.has_failed() => {
                seen.count("kills", 1);
                let mut model = run.model;
                model.killed();
                let disks = run.world.kill(random);
                run = again(disks, model, &shape, random)?;
            }
            3 if may_fail && is_running => run.arrange(random),
            _ => {}
        }
    }
    if run.has_failed() {
        seen.count("histories with a failure", 1);
        return cut(&run, random, 2, seen);
    }
    end(run, random)
}

fn disks(images: Vec<Image>, random: &mut Random) -> Vec<Disk> {
    let images = images.into_iter();
    images.map(|image| Shape::disk(image, random)).collect()
}

fn again(
    disks: Vec<Disk>,
    model: Model,
    shape: &Shape,
    random: &mut Random,
) -> Result<Run, String> {
    Run::start(shape, disks, model, Access::ReadWrite, random)
}

/// Left alone it computes all checksums; stopped, each block has one.
fn end(mut run: Run, random: &mut Random) -> Result<(), String> {
    if run.world.started.is_none() {
        run.settle_start(random)?;
    }
    run.rest(random)?;
    if run.has_failed() {
        return Ok(());
    }
    run.read_all(random)?;
    run.stop(random)?;
    if run.has_failed() {
        return Ok(());
    }
    let (shape, model) = (run.shape, run.model);
    let images = run.world.disks.iter().map(Disk::durable).collect();
    let disks = disks(images, random);
    let mut left = Run::start(&shape, disks, model, Access::ReadOnly, random)?;
    let status = left.world.machine.status();
    if status.unchecked > 0 || status.journaled > 0 {
        return Err(format!(
            "after a clean stop there is something to do: {status:?}"
        ));
    }
    left.read_all(random)
}

/// Cuts the power, and looks what is left; the run itself goes on.
fn cut(run: &Run, random: &mut Random, depth: u32, seen: &mut Seen) -> Result<(), String> {
    let mut model = run.model.clone();
    model.cut();
    let images: Vec<Image> = run
        .world
        .disks
        .iter()
        .map(|disk| disk.cut(random))
        .collect();
    seen.cut(fingerprint(&images, &model));
    let shape = &run.shape;
    let copies = disks(images.clone(), random);
    let mut reader = Run::start(shape, copies, model, Access::ReadOnly, random)?;
    reader.read_all(random)?;
    let status = reader.world.machine.status();
    seen.count(
        "cuts with a journal that holds something",
        u64::from(status.journaled > 0),
    );
    seen.count(
        "cuts with blocks without a checksum",
        u64::from(status.unchecked > 0),
    );
    let mut left = again(disks(images, random), reader.model, shape, random)?;
    if depth > 0 && random.chance(1, 4) {
        for _ in 0..random.below(40) {
            left.act(random)?;
        }
        return cut(&left, random, depth - 1, seen);
    }
    if random.chance(1, 8) {
        return end(left, random);
    }
    if left.world.started.is_none() {
        left.settle_start(random)?;
    }
    left.read_all(random)
}

fn fingerprint(images: &[Image], model: &Model) -> u64 {
    let mut hasher = DefaultHasher::new();
    for image in images {
        image.bytes(Range::new(0, image.size())).hash(&mut hasher);
    }
    model.hash(&mut hasher);
    hasher.finish()
}
