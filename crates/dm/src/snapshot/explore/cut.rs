//! The power is cut, and what is left is looked at: without a machine first, as the kernel or a
//! reader without an owner would, and then with one.

use std::hash::{DefaultHasher, Hash, Hasher};

use block::Range;
use block::sim::{Image, Random};

use super::history::Change;
use super::oracle::{Oracle, Taken};
use super::run::{Left, Run};
use super::shape::{SLOTS, Shape};
use crate::explore::Seen;
use crate::snapshot::{Stored, read_store};

/// Cuts the power of a running origin, and looks what is left; the run itself goes on.
pub(super) fn cut(
    run: &Run,
    random: &mut Random,
    depth: u32,
    seen: &mut Seen,
) -> Result<(), String> {
    let mut oracle = run.oracle.clone();
    oracle.cut();
    let disks = run.world.disks.iter();
    let images: Vec<Image> = disks.map(|disk| disk.cut(random)).collect();
    let mut left = leave(run.shape, images, oracle)?;
    seen.cut(fingerprint(&left));
    judge_plain(&mut left)?;
    if left.oracle.taken().any(Taken::is_invalid) {
        seen.count("cuts with an invalid snapshot", 1);
    }
    if left.oracle.merging().is_some() {
        seen.count("cuts within a merge", 1);
    }
    verify(run.shape, left, random, depth, seen)
}

/// The process is killed: what is in flight may have been sent, and caches are kept.
pub(super) fn killed(run: Run, random: &mut Random) -> Result<Run, String> {
    let shape = run.shape;
    let mut oracle = run.oracle;
    oracle.killed();
    let disks = run.world.kill(random);
    let images: Vec<Image> = disks.iter().map(|disk| disk.content().clone()).collect();
    let left = leave(shape, images, oracle)?;
    Run::start_on(shape, disks, left.oracle, &left.stored)
}

/// What is known of disks that hold `images`.
fn leave(shape: Shape, images: Vec<Image>, mut oracle: Oracle) -> Result<Left, String> {
    let mut stored = [const { Stored::Fresh }; SLOTS];
    for slot in 0..SLOTS {
        let Some(taken) = &oracle.snapshots[slot] else {
            continue;
        };
        let sizes = (taken.store_size, taken.size);
        let image = &images[1 + slot];
        match read_store("store", sizes, |range| Ok(image.bytes(range))) {
            Ok(found) => {
                oracle.restart(slot, &found)?;
                stored[slot] = found;
            }
            // It came back after it had vanished.
            Err(_) if taken.store_gone || !taken.is_trusted => oracle.snapshots[slot] = None,
            Err(error) => return Err(format!("the store of snapshot {slot}: {error}")),
        }
    }
    let plain = plain(shape, &images, &stored, &oracle);
    Ok(Left {
        images,
        stored,
        oracle,
        plain,
    })
}

/// What each face shows: what the store lists is there, all else is the origin's.
fn plain(
    shape: Shape,
    images: &[Image],
    stored: &[Stored; SLOTS],
    oracle: &Oracle,
) -> Vec<Option<Vec<u8>>> {
    let origin = images[0].bytes(Range::new(0, shape.origin_max));
    let over = |slot: usize, size: u64| {
        let mut bytes = origin[..size as usize].to_vec();
        if let Stored::Changes(changes) = &stored[slot] {
            for run in &changes.runs {
                let range = run.range.start() as usize..run.range.end() as usize;
                let from = Range::new(run.start, run.range.len());
                bytes[range].copy_from_slice(&images[1 + slot].bytes(from));
            }
        }
        bytes
    };
    let all = oracle.snapshots.iter().enumerate();
    let merging = all
        .clone()
        .find(|(_, taken)| taken.as_ref().is_some_and(|taken| taken.merging));
    let size = oracle.origin_size();
    let mut plain = vec![Some(match merging {
        Some((slot, _)) => over(slot, size),
        None => origin[..size as usize].to_vec(),
    })];
    plain.extend(all.map(|(slot, taken)| {
        let shows = |taken: &&Taken| !taken.merging && taken.is_trusted && !taken.is_invalid();
        let taken = taken.as_ref().filter(shows)?;
        Some(over(slot, taken.size))
    }));
    plain
}

/// Whether what is seen without a machine may be there. It is what will be seen from now on.
fn judge_plain(left: &mut Left) -> Result<(), String> {
    for (face, bytes) in left.plain.iter().enumerate() {
        let Some(bytes) = bytes else { continue };
        let model = left.oracle.model(face);
        let since = model.expected(false);
        let judged = model.judge(Range::new(0, bytes.len() as u64), bytes, &since);
        judged.map_err(|what| format!("without a machine, face {face}: {what}"))?;
    }
    Ok(())
}

/// Starts what a cut left, reads all of it twice, and may write on and cut again.
fn verify(
    shape: Shape,
    left: Left,
    random: &mut Random,
    depth: u32,
    seen: &mut Seen,
) -> Result<(), String> {
    let mut run = Run::start(shape, left, random)?;
    run.settle_start(random)?;
    run.read_all(random)?;
    if random.chance(1, 4) {
        run.rest(random)?;
        seen.count("merges ended after a cut", run.merged);
    }
    run.read_all(random)?;
    if depth > 0 && random.chance(1, 4) {
        for _ in 0..random.index(60) {
            run.act(random)?;
        }
        if random.chance(1, 4) {
            Change::chosen(&run, random).make(&mut run, random, |_, _| Ok(()))?;
        }
        return cut(&run, random, depth - 1, seen);
    }
    Ok(())
}

fn fingerprint(left: &Left) -> u64 {
    let mut hasher = DefaultHasher::new();
    let size = left.oracle.origin_size();
    left.images[0].bytes(Range::new(0, size)).hash(&mut hasher);
    for (slot, taken) in left.oracle.snapshots.iter().enumerate() {
        if let Some(taken) = taken {
            let range = Range::new(0, taken.store_size);
            left.images[1 + slot].bytes(range).hash(&mut hasher);
        }
    }
    left.oracle.hash(&mut hasher);
    hasher.finish()
}
