//! Devices that agree, and devices that do not.

use block::Range;
use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

use super::{Array, Layout, Readiness, Verdict, judge};
use crate::Kind;
use crate::raid::md::superblock1::tests::sample;
use crate::raid::md::{Claim, Guard, Place, Reshape, Role, Shape};
use crate::raid::superblock::Position;

const DEVICE: u64 = 16 << 20;

/// The claims of all legs of an array that is well.
fn claims(level: i32, layout: u32, count: u32) -> Vec<Claim> {
    let claim = |number: u32| {
        let mut claim = sample(Place::SecondBlock, DEVICE).claim();
        claim.shape.level = level;
        claim.shape.layout = Some(layout);
        claim.device_count = count;
        claim.number = number;
        claim.roles = (0..count).map(Role::Leg).collect();
        claim
    };
    (0..count).map(claim).collect()
}

fn verdicts(claims: &[Claim]) -> Vec<Verdict> {
    judge(claims).unwrap().verdicts
}

fn readiness(claims: &[Claim]) -> Readiness {
    judge(claims).unwrap().readiness
}

fn without(claims: &[Claim], missing: &[usize]) -> Vec<Claim> {
    let all = claims.iter().enumerate();
    let left = all.filter(|(index, _)| !missing.contains(index));
    left.map(|(_, claim)| claim.clone()).collect()
}

/// All legs of each level make a whole array.
#[test]
fn whole_arrays_are_whole() {
    for (level, layout, count) in [
        (1, 0, 3),
        (4, 0, 3),
        (5, 2, 4),
        (6, 2, 5),
        (10, 0x102, 4),
        (0, 2, 3),
        (-1, 0, 2),
    ] {
        let array = judge(&claims(level, layout, count)).unwrap();
        assert_eq!(array.readiness, Readiness::Whole, "level {level}");
        let wanted: Vec<Verdict> = (0..count as usize).map(Verdict::Leg).collect();
        assert_eq!(array.verdicts, wanted);
        let kind = match array.layout {
            Layout::Redundant(_) => 1,
            Layout::Striped(_) => 0,
            Layout::Linear(_) => -1,
            Layout::Unknown => -2,
        };
        assert_eq!(kind, level.min(1));
    }
    for (level, layout) in [(2, 0), (-4, 0), (5, 8), (6, 7), (10, 0)] {
        assert!(judge(&claims(level, layout, 4)).is_err(), "level {level}");
    }
}

/// As many legs may be missing as the level can do without; of near copies, not two neighbours.
#[test]
fn legs_may_be_missing() {
    let with =
        |level, layout, missing: &[usize]| readiness(&without(&claims(level, layout, 4), missing));
    assert_eq!(with(1, 0, &[0, 1, 2]), Readiness::Degraded);
    assert_eq!(with(5, 2, &[3]), Readiness::Degraded);
    assert_eq!(with(5, 2, &[0, 3]), Readiness::NotEnough);
    assert_eq!(with(6, 2, &[0, 3]), Readiness::Degraded);
    assert_eq!(with(6, 2, &[0, 1, 3]), Readiness::NotEnough);
    assert_eq!(with(10, 0x102, &[0, 3]), Readiness::Degraded);
    assert_eq!(with(10, 0x102, &[0, 1]), Readiness::NotEnough);
    assert_eq!(with(10, 0x201, &[0, 2]), Readiness::Degraded, "far copies");
    assert_eq!(with(10, 0x201, &[0, 1]), Readiness::NotEnough);
    assert_eq!(with(0, 2, &[1]), Readiness::NotEnough);
    let array = judge(&without(&claims(-1, 0, 4), &[1])).unwrap();
    assert_eq!(
        (array.layout, array.readiness),
        (Layout::Unknown, Readiness::NotEnough)
    );
}

/// Power went while superblocks were written: one event is no difference, two are.
#[test]
fn old_legs_are_stale() {
    let mut claims = claims(5, 2, 4);
    claims[1].events -= 1;
    claims[2].events -= 2;
    let array = judge(&claims).unwrap();
    assert_eq!(array.verdicts[1..3], [Verdict::Leg(1), Verdict::Stale]);
    assert_eq!((array.freshest, array.readiness), (0, Readiness::Degraded));
}

/// With one event less the freshest one says what a leg is: it may have failed meanwhile.
#[test]
fn the_freshest_knows_better() {
    let mut claims = claims(1, 0, 2);
    claims[1].events -= 1;
    claims[0].roles[1] = Role::Faulty;
    assert_eq!(verdicts(&claims), [Verdict::Leg(0), Verdict::Faulty]);
    claims[0].roles[1] = Role::Spare;
    assert_eq!(verdicts(&claims), [Verdict::Leg(0), Verdict::Spare]);
    claims[0].roles.truncate(1);
    assert_eq!(verdicts(&claims), [Verdict::Leg(0), Verdict::Disagrees]);
}

/// Two halves that ran alone are not put together, whichever has more events.
#[test]
fn split_histories_stay_apart() {
    let mut claims = claims(1, 0, 2);
    claims[0].roles[1] = Role::Faulty;
    claims[1].roles[0] = Role::Faulty;
    let error = judge(&claims).expect_err("nothing says which half counts");
    assert!(error.to_string().contains("without one another"), "{error}");
    claims[1].events += 1;
    assert_eq!(verdicts(&claims), [Verdict::Disagrees, Verdict::Leg(1)]);
}

/// A leg got the next superblock alone, since power went; the others went on without it, and have
/// as many events by now. It is not believed, wherever it stands: nothing that was written since is
/// on it.
#[test]
fn a_leg_that_was_left_behind_is_stale() {
    for (level, layout, count) in [(1, 0, 2), (1, 0, 3), (5, 2, 4), (10, 0x102, 4)] {
        for left in 0..count as usize {
            for gone in [Role::Faulty, Role::Spare] {
                let mut claims = claims(level, layout, count);
                for (leg, claim) in claims.iter_mut().enumerate() {
                    if leg != left {
                        claim.roles[left] = gone;
                    }
                }
                let wanted = |leg| {
                    if leg == left {
                        Verdict::Stale
                    } else {
                        Verdict::Leg(leg)
                    }
                };
                let wanted: Vec<Verdict> = (0..count as usize).map(wanted).collect();
                assert_eq!(verdicts(&claims), wanted, "level {level}, leg {left}");
                assert_eq!(readiness(&claims), Readiness::Degraded);
                // One of them was cut short before it heard of that, and knows the same as the leg.
                let last = (left + 1) % count as usize;
                if count > 2 {
                    claims[last].roles[left] = Role::Leg(left as u32);
                    claims[last].events -= 1;
                    assert_eq!(verdicts(&claims), wanted, "level {level}, leg {left}");
                }
            }
        }
    }
}

/// What is rebuilt is a leg that does not count, and a replacement is not the leg yet.
#[test]
fn rebuilt_legs_do_not_count() {
    let mut claims = claims(5, 2, 4);
    claims[2].recovery = Some(Position::Sector(128));
    let array = judge(&claims).unwrap();
    assert_eq!(array.readiness, Readiness::Degraded);
    assert_eq!(array.legs[2].unwrap().valid, Position::Sector(128));
    claims[2].recovery = Some(Position::End);
    assert_eq!(readiness(&claims), Readiness::Whole);
    let mut extra = claims[1].clone();
    (extra.number, extra.is_replacement) = (4, true);
    for claim in claims.iter_mut().chain([&mut extra]) {
        claim.roles.push(Role::Leg(1));
    }
    claims.push(extra);
    let array = judge(&claims).unwrap();
    assert_eq!(array.verdicts[4], Verdict::Replacement(1));
    assert_eq!(array.legs[1].unwrap().claim, 1);
}

/// Spares and failed devices are what they say, whatever their events.
#[test]
fn spares_need_no_events() {
    let mut claims = claims(1, 0, 2);
    for role in [Role::Spare, Role::Faulty] {
        let mut extra = claims[0].clone();
        (extra.number, extra.events) = (2, 3);
        extra.roles.push(role);
        claims.push(extra);
    }
    assert_eq!(verdicts(&claims)[2..], [Verdict::Spare, Verdict::Faulty]);
    let error = judge(&claims[2..]).expect_err("none of them knows");
    assert!(error.to_string().contains("none of 2 devices"), "{error}");
}

/// One device seen twice is refused; an older copy of it is left out.
#[test]
fn doubles_are_seen() {
    let mut claims = claims(1, 0, 2);
    claims.push(claims[0].clone());
    let error = judge(&claims).expect_err("which one?");
    assert_eq!(error.kind(), Kind::Damaged);
    assert!(
        error.to_string().contains("leave out all but one"),
        "{error}"
    );
    claims[0].events -= 1;
    let wanted = [Verdict::Superseded, Verdict::Leg(1), Verdict::Leg(0)];
    assert_eq!(verdicts(&claims), wanted);
    // Two old copies do not matter beside a newer one, wherever it is.
    claims.push(claims[0].clone());
    for _ in 0..claims.len() {
        claims.rotate_left(1);
        let superseded = verdicts(&claims);
        let count = superseded
            .iter()
            .filter(|verdict| **verdict == Verdict::Superseded);
        assert_eq!(count.count(), 2);
    }
}

/// Devices of another array, shape or format are no part of this one.
#[test]
fn foreign_devices_stay_out() {
    type Edit = fn(&mut Claim);
    let edits: [Edit; 4] = [
        |claim| claim.uuid[0] ^= 1,
        |claim| claim.shape.chunk *= 2,
        |claim| claim.shape.level = 6,
        |claim| claim.place = Place::End,
    ];
    for edit in edits {
        let mut claims = claims(5, 2, 4);
        edit(&mut claims[3]);
        assert_eq!(verdicts(&claims)[3], Verdict::Foreign);
    }
}

/// Parity that may be wrong cannot stand for a missing leg, whatever says what was written: it is
/// not replayed.
#[test]
fn dirty_parity_is_told_apart() {
    let dirty = |level: i32, guard: Guard| {
        let mut claims = without(&claims(level, 2, 4), &[0]);
        for claim in &mut claims {
            (claim.resync, claim.guard) = (Position::Sector(0), guard);
        }
        claims
    };
    assert_eq!(readiness(&dirty(5, Guard::None)), Readiness::DirtyDegraded);
    assert_eq!(readiness(&dirty(1, Guard::None)), Readiness::Degraded);
    let log = Range::new(8192, 1 << 20);
    for guard in [Guard::PartialParity(log), Guard::Journal] {
        assert_eq!(readiness(&dirty(5, guard)), Readiness::DirtyDegraded);
    }
    let mut claims = dirty(5, Guard::Journal);
    let mut journal = claims[0].clone();
    journal.number = 4;
    for claim in claims.iter_mut().chain([&mut journal]) {
        claim.roles.push(Role::Journal);
    }
    journal.data = Range::new(4096, 5120);
    claims.push(journal);
    let array = judge(&claims).unwrap();
    assert_eq!(
        (array.journal, array.readiness),
        (Some(3), Readiness::DirtyDegraded)
    );
    claims[3].roles.clear();
    assert_eq!(judge(&claims).unwrap().journal, None);
}

/// While it is reshaped an array has two layouts, and needs enough legs for both.
#[test]
fn reshaped_arrays_have_two_layouts() {
    let reshaped = |count: u32, delta: i32| {
        let mut claims = claims(5, 2, count.max(count.saturating_add_signed(-delta)));
        for claim in &mut claims {
            claim.device_count = count;
            claim.new_data_start = claim.data.start() / 2;
            claim.reshape = Some(Reshape {
                position: Position::Sector(1024),
                backwards: delta < 0,
                shape: claim.shape,
                delta,
            });
        }
        claims
    };
    let layouts = |array: &Array| match &array.layout {
        Layout::Redundant(before) => (before.legs(), array.reshaping.unwrap().after.legs()),
        _ => panic!("it has parity"),
    };
    let mut in_place = reshaped(5, 1);
    for claim in &mut in_place {
        claim.new_data_start = claim.data.start();
    }
    let error = judge(&in_place).expect_err("only mdadm has its backup file");
    assert!(error.to_string().contains("backup file"), "{error}");
    let grown = judge(&reshaped(5, 1)).unwrap();
    assert_eq!(
        (layouts(&grown), grown.readiness),
        ((4, 5), Readiness::Whole)
    );
    let shrunk = judge(&reshaped(4, -1)).unwrap();
    assert_eq!((layouts(&shrunk), shrunk.legs.len()), ((5, 4), 5));
    let claims = without(&reshaped(4, -1), &[4]);
    assert_eq!(readiness(&claims), Readiness::Degraded);
    let claims = without(&reshaped(4, -1), &[3, 4]);
    assert_eq!(readiness(&claims), Readiness::NotEnough);
}

/// What is not served is refused with its reason.
#[test]
fn refusals_have_reasons() {
    let refused = |claims: &[Claim], word: &str| {
        let error = judge(claims).expect_err(word);
        assert!(error.to_string().contains(word), "{error}");
    };
    refused(&[], "none of 0 devices");
    let mut shared = claims(1, 0, 2);
    shared[0].is_clustered = true;
    refused(&shared, "several machines");
    refused(&claims(1, 0, 65), "65 legs");
    let mut small = claims(5, 2, 4);
    small[1].data = Range::new(1 << 20, 4 << 20);
    refused(&small, "a leg has 4194304 bytes");
    let mut zones = claims(0, 0, 2);
    zones[1].data = Range::new(1 << 20, 4 << 20);
    refused(&zones, "nobody wrote down");
    let mut stripes = claims(0, 2, 2);
    let shape = Shape {
        level: 5,
        ..stripes[0].shape
    };
    stripes[0].reshape = Some(Reshape {
        position: Position::End,
        backwards: false,
        shape,
        delta: 1,
    });
    refused(&stripes, "without redundancy");
}

proptest! {
    /// Whatever devices say, each has one verdict, and a leg that is believed is one device's.
    #[test]
    fn any_claims_are_judged(
        numbers in proptest::collection::vec((0_u32..6, 0_u64..4, any::<bool>(), 0_u32..6), 1..8),
        level in proptest::sample::select(vec![-1, 0, 1, 5, 6, 10]),
    ) {
        let mut claims: Vec<Claim> = numbers
            .iter()
            .map(|(number, events, is_replacement, failed)| {
                let mut claim = claims(level, 2, 4).remove(0);
                (claim.number, claim.events) = (*number, *events);
                claim.is_replacement = *is_replacement;
                claim.roles = (0..4).map(Role::Leg).chain([Role::Spare, Role::Faulty]).collect();
                claim.roles[*failed as usize] = Role::Faulty;
                claim
            })
            .collect();
        if let Ok(array) = judge(&claims) {
            prop_assert_eq!(array.verdicts.len(), claims.len());
            let best = claims[array.freshest].events;
            for (position, leg) in array.legs.iter().enumerate() {
                let Some(leg) = leg else { continue };
                prop_assert_eq!(array.verdicts[leg.claim], Verdict::Leg(position));
                prop_assert!(claims[leg.claim].events + 1 >= best);
            }
            let is_leg = |verdict: &&Verdict| matches!(verdict, Verdict::Leg(_));
            let believed = array.verdicts.iter().filter(is_leg).count();
            prop_assert_eq!(believed, array.legs.iter().flatten().count());
            // The order in which devices are seen does not matter to what is served.
            claims.reverse();
            let other = judge(&claims).map(|other| other.readiness);
            let is_tied = claims.iter().filter(|claim| claim.events == best).count() > 1;
            prop_assert!(is_tied || other.is_ok_and(|other| other == array.readiness));
        }
    }
}
