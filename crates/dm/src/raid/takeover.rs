//! An array whose superblocks are of what it was before its description changed: a takeover.
//!
//! Some levels become others without a byte of data moving: what one calls a mirror of two legs is
//! to the other data and their sum, and a second parity is one leg more. The description changes at
//! once, with its commit; superblocks say it with the next record, whoever writes that. In between,
//! and behind a power cut there, a leg may say the older one. Such a leg is of this array, and what
//! it says of itself holds.
//!
//! | superblocks say | described is | legs |
//! |---|---|---|
//! | level 1 | level 5, any layout | two, and two |
//! | level 5, any layout | level 1 | two, and two |
//! | level 5 | level 6 with the same layout and Q on the last leg | one more, to be rebuilt |
//! | level 6 with Q on the last leg | level 5 with the same layout | one less |
//! | level 0 | levels 5 and 6 with parity on the last legs | one or two more, to be rebuilt |
//! | level 0 | level 10, near copies | as often as there are copies, and data legs take turns |
//!
//! No others: what the kernel refuses is of another array. It takes more of them than LVM2 makes
//! (`rs_check_takeover` in `drivers/md/dm-raid.c`); those are refused as well, and so is anything
//! in a superblock that says nothing of a reshape, which kernels before 4.8 wrote.

use super::geometry::{Copies, Geometry, Scheme};
use super::rotation::{Parity, Rotation};
use super::superblock::{Extended, Superblock};

/// md's level without redundancy.
const STRIPES: u32 = 0;
/// Legs of which a mirror and a sum of one are the same.
const PAIR: usize = 2;
const SECTOR: u64 = 512;

/// Whether a superblock says what an array was that is described as `now`.
pub(super) fn may_become(superblock: &Superblock, now: &Geometry) -> bool {
    let is_still = |one: &Extended| !one.is_reshaping;
    if !superblock.extended.as_ref().is_some_and(is_still) {
        return false;
    }
    let (legs, count) = (now.legs(), superblock.device_count as usize);
    let (level, layout) = (superblock.level, superblock.layout);
    let is_as_long = u64::from(superblock.stripe_sectors) * SECTOR == now.chunk();
    if level == STRIPES {
        return is_as_long && count > 1 && stripes_become(count, now);
    }
    match (Scheme::from_md(level, layout), now.scheme()) {
        (Some(Scheme::Mirror), Scheme::Parity(Parity::One, _))
        | (Some(Scheme::Parity(Parity::One, _)), Scheme::Mirror) => count == PAIR && legs == PAIR,
        (Some(Scheme::Parity(Parity::One, one)), Scheme::Parity(Parity::Two, two)) => {
            is_as_long && count + 1 == legs && one.with_q_behind() == Some(two)
        }
        (Some(Scheme::Parity(Parity::Two, two)), Scheme::Parity(Parity::One, one)) => {
            is_as_long && count == legs + 1 && one.with_q_behind() == Some(two)
        }
        _ => false,
    }
}

/// Whether `count` stripes without redundancy are the data of this array.
fn stripes_become(count: usize, now: &Geometry) -> bool {
    match now.scheme() {
        Scheme::Parity(parity, Rotation::Last) => count + parity.count() == now.legs(),
        Scheme::Copies(copies) => is_near(copies) && count * copies.near == now.legs(),
        Scheme::Parity(..) | Scheme::Mirror => false,
    }
}

fn is_near(copies: Copies) -> bool {
    copies == near_copies(copies.near)
}

fn near_copies(near: usize) -> Copies {
    match Scheme::near_copies(near) {
        Scheme::Copies(copies) => copies,
        Scheme::Mirror | Scheme::Parity(..) => unreachable!("it has copies"),
    }
}

/// The place that the leg in this place had when its superblock was written; `None`: none.
pub(super) fn place_before(superblock: &Superblock, now: &Geometry, place: usize) -> Option<usize> {
    match now.scheme() {
        Scheme::Copies(copies) if superblock.level == STRIPES => {
            let is_first = place.is_multiple_of(copies.near);
            is_first.then_some(place / copies.near)
        }
        _ => Some(place),
    }
}

#[cfg(test)]
mod tests;
