//! Tests: which superblocks are of what an array was.

use super::{may_become, place_before};
use crate::raid::{Extended, FailedDevices, Geometry, Position, Scheme, Superblock};

const CHUNK: u64 = 4096;

/// What a leg of such an array says.
fn superblock(level: u32, layout: u32, legs: u32) -> Superblock {
    let stripe_sectors = if level == 1 { 0 } else { (CHUNK / 512) as u32 };
    Superblock {
        device_count: legs,
        array_position: 0,
        events: 3,
        failed: FailedDevices::default(),
        disk_recovery_offset: Position::End,
        array_resync_offset: Position::End,
        level,
        layout,
        stripe_sectors,
        extended: Some(Extended::at_rest((level, layout), stripe_sectors)),
    }
}

fn geometry(level: u32, layout: u32, legs: usize) -> Geometry {
    let scheme = Scheme::from_md(level, layout).expect("it is known");
    Geometry::new(scheme, legs, CHUNK, 16 * CHUNK).expect("it can be")
}

/// All kinds of arrays that LVM2 makes: level, layout, the fewest legs.
fn kinds() -> Vec<(u32, u32, usize)> {
    let mut all = vec![(0, 0, 2), (1, 0, 2), (10, 0x102, 2)];
    all.extend((0..6).map(|layout| (5, layout, 2)));
    all.extend([5, 8, 9, 10, 16, 17, 18, 19].map(|layout| (6, layout, 4)));
    all
}

/// The pairs that become each other are these and no others, of all kinds and numbers of legs.
#[test]
fn what_becomes_what() {
    let mut found = Vec::new();
    for (level, layout, fewest) in kinds() {
        for legs in fewest..7 {
            let one = superblock(level, layout, legs as u32);
            for (to, other, fewest) in kinds().into_iter().filter(|kind| kind.0 != 0) {
                for count in fewest..9 {
                    let now = geometry(to, other, count);
                    if may_become(&one, &now) {
                        let delta = count as i64 - legs as i64;
                        found.push((level, layout, to, other, legs, delta));
                    }
                }
            }
        }
    }
    let expected = |(level, layout, to, other, legs, delta): &(u32, u32, u32, u32, usize, i64)| {
        let is_same = (*layout == 5 && *other == 5)
            || (*level == 5 && layout + 16 == *other && *layout < 4)
            || (*to == 5 && other + 16 == *layout && *other < 4);
        match (level, to) {
            (1, 5) | (5, 1) => *legs == 2 && *delta == 0,
            (5, 6) => is_same && *delta == 1,
            (6, 5) => is_same && *delta == -1,
            (0, 5) => *other == 5 && *delta == 1,
            (0, 6) => *other == 5 && *delta == 2,
            (0, 10) => *delta == *legs as i64,
            _ => false,
        }
    };
    assert!(found.iter().all(expected), "{found:?}");
    // Six layouts of two legs and back, five of RAID 5 with Q behind and back, stripes.
    let of = |from: u32, to: u32| {
        found
            .iter()
            .filter(|one| (one.0, one.2) == (from, to))
            .count()
    };
    assert_eq!((of(1, 5), of(5, 1)), (6, 6));
    assert_eq!((of(5, 6), of(6, 5)), (5 * 4, 5 * 3));
    assert_eq!((of(0, 5), of(0, 6), of(0, 10)), (5, 5, 3));
}

/// Other chunks, a reshape, and what older kernels wrote are of another array.
#[test]
fn what_does_not_agree_is_of_another_array() {
    let now = geometry(6, 18, 5);
    let one = superblock(5, 2, 4);
    assert!(may_become(&one, &now));
    let mut other = one.clone();
    other.stripe_sectors *= 2;
    assert!(!may_become(&other, &now), "its chunks are longer");
    let mut other = one.clone();
    other.extended = None;
    assert!(!may_become(&other, &now), "the kernel does not take it");
    let mut other = one;
    other.extended.as_mut().expect("it has it").is_reshaping = true;
    assert!(!may_become(&other, &now), "it is reshaped");
}

/// Stripes that get copies move apart; all others keep their places.
#[test]
fn stripes_with_copies_have_other_places() {
    let (one, now) = (superblock(0, 0, 3), geometry(10, 0x102, 6));
    let places: Vec<_> = (0..6)
        .map(|place| place_before(&one, &now, place))
        .collect();
    assert_eq!(places, [Some(0), None, Some(1), None, Some(2), None]);
    let (one, now) = (superblock(5, 2, 4), geometry(6, 18, 5));
    let places: Vec<_> = (0..5)
        .map(|place| place_before(&one, &now, place))
        .collect();
    assert_eq!(places, [0, 1, 2, 3, 4].map(Some));
}
