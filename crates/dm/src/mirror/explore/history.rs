//! One history: what a mirror is made of, what is done to it, what fails, and when the power goes.

use block::Range;
use block::sim::{Image, Random};

use super::cut::cut;
use super::fault::SeededFault;
use super::run::{Left, Mishap, Run};
use super::shape::{SECTORS, Shape};
use super::world::Described;
use crate::explore::{Model, NEVER, SECTOR, Seen, encode};
use crate::mirror::LogPlace;

/// Runs the history of `seed`; what is wrong, if anything.
pub(super) fn run(seed: u64, fault: Option<SeededFault>, seen: &mut Seen) -> Result<(), String> {
    let mut random = Random::new(seed);
    let shape = Shape::chosen(&mut random, fault);
    let left = beginning(&shape, &mut random);
    let mut run = Run::start(shape, left, vec![true; shape.legs], &mut random)?;
    run.settle_start(&mut random)?;
    let steps = 20 + random.index(120);
    let mishaps: Vec<(usize, Mishap)> = (0..random.index(3))
        .map(|_| (random.index(steps), Mishap::chosen(&mut random, shape)))
        .collect();
    let killed_at = random.chance(1, 3).then(|| random.index(steps));
    for step in 0..steps {
        if killed_at == Some(step) {
            run = run.killed(&mut random)?;
            if !run.settle_start(&mut random)? {
                return Ok(());
            }
            seen.count("killed", 1);
        }
        for (_, mishap) in mishaps.iter().filter(|(when, _)| *when == step) {
            run.suffer(*mishap);
        }
        run.act(&mut random)?;
        if random.chance(1, 2) {
            cut(&run, &mut random, 1, seen)?;
        }
    }
    let [reads, writes] = run.world.runs.asked_directly();
    seen.count("reads without the home", reads);
    seen.count("writes without the home", writes);
    seen.count("got another size", run.resized);
    if random.chance(1, 2) {
        run.stop(&mut random, |run, random| {
            if random.chance(1, 8) {
                cut(run, random, 1, seen)?;
            }
            Ok(())
        })?;
        seen.count("stopped", 1);
        if shape.log == LogPlace::Disk(shape.legs) {
            let version = run.world.runs.disks[shape.legs]
                .content()
                .bytes(Range::new(4, 1));
            seen.count("logs given back", u64::from(version == [2]));
        }
    } else {
        run.finish(&mut random)?;
    }
    cut(&run, &mut random, 1, seen)
}

/// The disks of a mirror that was in sync, or is new.
fn beginning(shape: &Shape, random: &mut Random) -> Left {
    let in_sync = random.chance(2, 3);
    let leg = |version| {
        let mut image = Image::new(shape.size());
        for sector in 0..SECTORS {
            let place = shape.place(Range::new(sector * SECTOR, SECTOR));
            image.write(place.start(), &encode(sector as usize, version));
        }
        image
    };
    let mut images = vec![leg(0)];
    for _ in 1..shape.legs {
        images.push(leg(if in_sync { 0 } else { NEVER }));
    }
    images.push(log(shape, in_sync));
    let mut whole = vec![in_sync; shape.legs];
    whole[0] = true;
    Left {
        images,
        model: Model::new(SECTORS),
        whole,
        described: Described {
            order: (0..shape.legs).collect(),
            assumed: in_sync && shape.log == LogPlace::Core,
            sectors: SECTORS,
        },
    }
}

/// A new log, or one as the kernel leaves it; where nobody looks, all is in sync.
fn log(shape: &Shape, in_sync: bool) -> Image {
    let mut log = vec![0; shape.log_len() as usize];
    let is_wide = shape.regions() > SECTORS;
    if in_sync || is_wide {
        log[..4].copy_from_slice(&0x4d69_5272_u32.to_le_bytes());
        log[4] = 2;
        log[8..16].fill(0xff);
        let bits = shape.regions() as usize / 8;
        log[1024..1024 + bits].fill(0xff);
    }
    if !in_sync && is_wide {
        for region in shape.looked_at() {
            log[1024 + region as usize / 8] &= !(1 << (region % 8));
        }
    }
    Image::from_bytes(&log)
}
