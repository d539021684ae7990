//! The power is cut, and what is left is looked at.

use std::hash::{DefaultHasher, Hash, Hasher};

use block::Range;
use block::sim::{Disk, Image, Random};

use super::kernel;
use super::run::{Left, Run};
use super::shape::{SECTORS, Shape};
use crate::explore::{Model, SECTOR, Seen};
use crate::mirror::log_image::LogImage;
use crate::mirror::{LogPlace, Sync};

/// Cuts the power of a running mirror, and looks what is left; the run itself goes on.
pub(super) fn cut(
    run: &Run,
    random: &mut Random,
    depth: u32,
    seen: &mut Seen,
) -> Result<(), String> {
    let shape = run.shape;
    let mut model = run.model.clone();
    model.cut();
    let disks = run.world.runs.disks.iter();
    let images: Vec<Image> = disks.map(|disk| disk.cut(random)).collect();
    // What is being written when the power goes may be there.
    let described = match &run.world.wanted {
        Some(wanted) if random.chance(1, 2) => wanted.clone(),
        _ => run.world.described.clone(),
    };
    if described.assumed {
        // Nothing is copied after a cut: the legs differ in what was being written.
        model.forget_reads();
        model.is_sticky = false;
    }
    let lost = &run.lost()[..shape.legs];
    let mut whole = run.whole.clone();
    if shape.log != LogPlace::Core {
        believe_record(shape, &images, &mut whole, lost);
    }
    if whole.contains(&true) {
        let is_outdated = lost.contains(&true);
        seen.count(
            "cuts for the kernel with an outdated leg",
            u64::from(is_outdated),
        );
        kernel::judge(&shape, &images, &described, &model)?;
    }
    let gone = run.world.runs.disks[..shape.legs].iter().map(Disk::is_gone);
    let mut there: Vec<bool> = gone.map(|gone| !gone).collect();
    if random.chance(1, 2) {
        there.fill(true);
    }
    let outdated_returns = lost.iter().zip(&there).any(|(lost, there)| *lost && *there);
    if random.chance(1, 2) {
        there[random.index(shape.legs)] = false;
    }
    if !there.contains(&true) {
        return Ok(());
    }
    let mut legs = there.iter().zip(&run.there);
    if legs.any(|(there, before)| !*there && *before) {
        model.forget_reads();
    }
    seen.cut(fingerprint(&shape, &images, &there, &model));
    let is_legless = there.contains(&false);
    seen.count(
        "cuts with an outdated leg back",
        u64::from(outdated_returns),
    );
    seen.count("cuts without a leg", u64::from(is_legless));
    seen.count("cuts after the log failed", u64::from(run.log_failed()));
    let left = Left {
        images,
        model,
        whole,
        described,
    };
    verify(shape, left, there, random, depth, seen)
}

/// Legs that the log's record calls whole must be.
fn believe_record(shape: Shape, images: &[Image], whole: &mut [bool], lost: &[bool]) {
    let log = images[shape.legs].bytes(Range::new(0, shape.log_len()));
    let image = LogImage::load(log, shape.regions(), SECTOR as u32, Sync::AsLogged);
    let Ok(image) = image else { return };
    for id in image.recorded_images() {
        let leg = Shape::disk_of(id);
        whole[leg] |= !lost[leg];
    }
}

/// Starts what a cut left, reads all of it twice while it is copied, and may cut once more.
fn verify(
    shape: Shape,
    left: Left,
    there: Vec<bool>,
    random: &mut Random,
    depth: u32,
    seen: &mut Seen,
) -> Result<(), String> {
    let mut left = left;
    let forgets = shape.log == LogPlace::Core && !left.described.assumed;
    let first = left.described.order[0];
    let core_lost = forgets && !there[first];
    if forgets {
        // Nothing is known of the others.
        let is_first = |(leg, whole): (usize, &mut bool)| *whole &= leg == first;
        left.whole.iter_mut().enumerate().for_each(is_first);
    }
    let mut run = Run::start(shape, left, there, random)?;
    if !run.settle_start(random)? {
        return Ok(());
    }
    if core_lost {
        return Ok(());
    }
    for _ in 0..2 {
        run.read_all(random)?;
    }
    if depth > 0 && random.chance(1, 4) {
        for _ in 0..random.index(60) {
            run.act(random)?;
        }
        return cut(&run, random, depth - 1, seen);
    }
    Ok(())
}

fn fingerprint(shape: &Shape, images: &[Image], there: &[bool], model: &Model) -> u64 {
    let mut hasher = DefaultHasher::new();
    let half = SECTORS / 2 * SECTOR;
    for (index, image) in images.iter().enumerate() {
        let parts = match there.get(index) {
            Some(false) => continue,
            Some(true) => [
                shape.place(Range::new(0, half)),
                shape.place(Range::new(half, half)),
            ],
            None => [Range::new(0, shape.log_len()), Range::EMPTY],
        };
        for part in parts {
            image.bytes(part).hash(&mut hasher);
        }
    }
    there.hash(&mut hasher);
    model.hash(&mut hasher);
    hasher.finish()
}
