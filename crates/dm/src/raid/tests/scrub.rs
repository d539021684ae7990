//! What scrubbing says of arrays that were made naively and then damaged on purpose.

use std::collections::{BTreeMap, BTreeSet};

use block::sim::Random;
use block::{BlockingDevice, Info, Range};

use super::made::{Age, CHUNK, Made, REGION};
use super::{losses, schemes};
use crate::raid::scrub::{
    Blame, Course, Holds, SECTOR, Unchecked, Unit, believed, judge_copies, judge_row, metadata_len,
};
use crate::raid::{ArrayLeg, Parity, Rotation, Scheme};

const SECTOR_LEN: u64 = SECTOR as u64;

/// A sector of a leg that somebody said something about: whom that blames.
type Found = BTreeMap<(usize, u64), Blame>;

/// The way through what was made, without some legs.
fn course(made: &Made, lost: &[usize]) -> Course {
    let (mut config, devices) = (made.config(), made.legs());
    for leg in lost {
        config.legs[*leg] = ArrayLeg::default();
    }
    let read = |leg: &ArrayLeg| {
        let mut meta = BlockingDevice::open(&*devices[leg.meta?]).expect("it opens");
        let len = metadata_len(&config).min(meta.info().size);
        Some(Ok(meta.read(Range::new(0, len)).expect("it is memory")))
    };
    let metadata: Vec<_> = config.legs.iter().map(read).collect();
    let assembly = believed(&config, &metadata).expect("there is an array");
    let infos: Vec<Info> = devices.iter().map(|device| device.info()).collect();
    Course::new(&config, assembly, &infos).expect("it fits")
}

/// What scrubbing says of each sector of each leg that is read, and how many bytes are not
/// compared, by reason.
fn scrubbed(made: &Made, lost: &[usize]) -> (Found, BTreeMap<Unchecked, u64>) {
    let (mut found, mut unchecked) = (Found::new(), BTreeMap::new());
    for unit in course(made, lost) {
        if let Some(why) = unit.unchecked {
            *unchecked.entry(why).or_insert(0) += unit.covers;
            continue;
        }
        let bytes = |member: &crate::raid::scrub::Member| {
            let start = member.start as usize;
            &made.data[member.leg][start..start + unit.len as usize]
        };
        let judged = if let Some(row) = &unit.row {
            let mut legs = vec![None; made.data.len()];
            for member in &unit.members {
                legs[member.leg] = Some(bytes(member));
            }
            judge_row(row, &legs)
        } else {
            let members = unit.members.iter();
            let copies = members.map(|member| (member.leg, bytes(member)));
            judge_copies(&copies.collect::<Vec<_>>())
        };
        for one in judged {
            for sector in one.sectors {
                for member in &unit.members {
                    let at = member.start + sector as u64 * SECTOR_LEN;
                    found.insert((member.leg, at), one.blame.clone());
                }
            }
        }
    }
    (found, unchecked)
}

/// The sectors of all legs that go together with this one.
fn together(made: &Made, leg: usize, at: u64) -> BTreeSet<(usize, u64)> {
    let geometry = *made.config().geometry();
    if matches!(geometry.scheme(), Scheme::Parity(..)) {
        return (0..geometry.legs()).map(|leg| (leg, at)).collect();
    }
    let mut offsets = (0..geometry.size()).step_by(SECTOR);
    let spots = |offset: u64| {
        let all = (0..geometry.copies()).map(move |copy| geometry.spot(offset, copy));
        all.map(|spot| (spot.leg, spot.start))
    };
    let found = offsets.find(|offset| spots(*offset).any(|spot| spot == (leg, at)));
    found.map_or_else(BTreeSet::new, |offset| spots(offset).collect())
}

/// Proves: nothing is said of arrays of any layout that are whole, with and without legs, and all
/// of them is compared while legs are left to compare.
#[test]
fn whole_arrays_are_not_accused() {
    for (scheme, legs) in schemes() {
        let made = Made::new(scheme, legs);
        let redundancy = scheme.redundancy(legs);
        for lost in losses(legs, redundancy.min(2)) {
            let what = format!("{scheme:?} of {legs} without {lost:?}");
            let (found, unchecked) = scrubbed(&made, &lost);
            assert_eq!(found, Found::new(), "{what}");
            let all = made.content.len() as u64;
            let none = unchecked.values().sum::<u64>();
            match lost.len() {
                0 => assert_eq!(none, 0, "{what}"),
                lost if lost == redundancy => {
                    assert!(none > 0, "{what}");
                    assert!(unchecked.keys().all(|why| *why == Unchecked::TooFewLegs));
                    if !matches!(scheme, Scheme::Copies(_)) {
                        assert_eq!(none, all, "{what}");
                    }
                }
                _ => assert_eq!(none, 0, "{what}"),
            }
        }
    }
}

/// Proves: units cover each byte of an array once, and say of each where it is.
#[test]
fn units_cover_each_byte_once() {
    for (scheme, legs) in schemes() {
        let made = Made::new(scheme, legs);
        let geometry = *made.config().geometry();
        let mut seen = vec![0_usize; made.content.len()];
        for Unit { members, len, .. } in course(&made, &[]) {
            for member in members {
                let Holds::Data(at) = member.holds else {
                    continue;
                };
                let copies = (0..geometry.copies()).map(|copy| geometry.spot(at, copy));
                let is_there =
                    |spot: crate::raid::Spot| (spot.leg, spot.start) == (member.leg, member.start);
                assert!(copies.into_iter().any(is_there), "{scheme:?}: byte {at}");
                seen[at as usize..(at + len) as usize]
                    .iter_mut()
                    .for_each(|count| *count += 1);
            }
        }
        let copies = geometry.copies();
        assert!(seen.iter().all(|count| *count == copies), "{scheme:?}");
    }
}

/// Proves: corruptions of single sectors anywhere in arrays of any layout are found there, whoever
/// is wrong is named with two sums or three copies, and nobody else is accused of anything.
#[test]
fn planted_corruptions_are_found_and_no_others() {
    let mut random = Random::new(31);
    let mut planted_all = 0;
    for (scheme, legs) in schemes() {
        let mut made = Made::new(scheme, legs);
        let sectors = made.data[0].len() / SECTOR;
        let mut expected = Found::new();
        for _ in 0..24 {
            let (leg, at) = (random.index(legs), random.index(sectors) * SECTOR);
            let others = together(&made, leg, at as u64);
            // What is behind the end of the array, or damaged already.
            if others.is_empty() || others.iter().any(|place| expected.contains_key(place)) {
                continue;
            }
            made.data[leg][at + random.index(SECTOR)] ^= 1 + random.below(255) as u8;
            let copies = made.config().geometry().copies();
            let is_known = matches!(scheme, Scheme::Parity(Parity::Two, _)) || copies > 2;
            let blamed: Vec<usize> = is_known.then_some(leg).into_iter().collect();
            for place in others {
                expected.insert(place, Blame::Legs(blamed.clone()));
            }
            planted_all += 1;
        }
        let (found, unchecked) = scrubbed(&made, &[]);
        assert_eq!(unchecked, BTreeMap::new());
        let found: Found = found
            .into_iter()
            .map(|(place, blame)| match blame {
                Blame::Unknown(_) => (place, Blame::Legs(Vec::new())),
                blame @ Blame::Legs(_) => (place, blame),
            })
            .collect();
        assert_eq!(found, expected, "{scheme:?} of {legs}");
    }
    assert!(planted_all > 500, "{planted_all} corruptions");
}

/// Proves: legs that are not believed, and what they hold, are nobody's mismatch: the others are
/// compared without them as long as that means something.
#[test]
fn legs_that_are_not_believed_are_left_out() {
    for age in [Age::Older, Age::CalledFailed] {
        for (scheme, legs) in schemes() {
            let mut made = Made::new(scheme, legs);
            made.outdate(1, age);
            let (found, unchecked) = scrubbed(&made, &[]);
            assert_eq!(found, Found::new(), "{scheme:?}, {age:?}");
            let is_compared = scheme.redundancy(legs) > 1;
            assert_eq!(unchecked.is_empty(), is_compared, "{scheme:?}, {age:?}");
        }
    }
}

/// Proves: what was being written, was never in sync, or is being rebuilt differs without being
/// called a mismatch, and exactly that much is not compared.
#[test]
fn what_may_differ_is_not_compared() {
    let parity = Scheme::Parity(Parity::Two, Rotation::ZeroRestart);
    for (scheme, legs) in [
        (Scheme::Mirror, 3),
        (parity, 5),
        (Scheme::near_copies(2), 4),
    ] {
        let rows = match scheme {
            Scheme::Parity(..) => 3,
            _ => 1,
        };
        let mut made = Made::new(scheme, legs);
        made.dirty(2..4);
        let end = (4 * REGION) as usize;
        made.data[0][end / 2..end - SECTOR].fill(0xaa);
        let (found, unchecked) = scrubbed(&made, &[]);
        let compared = match scheme {
            // A region is one of the array there, and its legs have half of each.
            Scheme::Copies(_) => !found.is_empty(),
            _ => found.is_empty(),
        };
        assert!(compared, "{scheme:?}");
        let expected = BTreeMap::from([(Unchecked::Dirty, 2 * REGION * rows)]);
        assert_eq!(unchecked, expected, "{scheme:?}");

        let mut made = Made::new(scheme, legs);
        made.synced_until(3 * CHUNK);
        let all = made.content.len() as u64;
        let (found, unchecked) = scrubbed(&made, &[]);
        assert_eq!(found, Found::new(), "{scheme:?}");
        let left = BTreeMap::from([(Unchecked::NeverSynced, all - 3 * CHUNK * rows)]);
        assert_eq!(unchecked, left, "{scheme:?}");

        let mut made = Made::new(scheme, legs);
        made.rebuilt_until(1, 5 * CHUNK);
        let (found, _) = scrubbed(&made, &[]);
        assert_eq!(found, Found::new(), "{scheme:?}");
        made.data[1][4 * CHUNK as usize] ^= 1;
        let (found, _) = scrubbed(&made, &[]);
        assert!(
            found.contains_key(&(1, 4 * CHUNK)),
            "{scheme:?}: it is compared as far as it was rebuilt"
        );
    }
}

/// Proves: where superblocks say that data begin somewhere else, they are compared there.
#[test]
fn data_are_compared_where_they_begin() {
    let scheme = Scheme::Parity(Parity::One, Rotation::LeftSymmetric);
    let mut made = Made::new(scheme, 3);
    for leg in &mut made.data {
        leg.splice(0..0, vec![0x11; 8 * SECTOR]);
    }
    made.begin_at(8);
    assert_eq!(scrubbed(&made, &[]).0, Found::new());
    let at = (8 * SECTOR_LEN + CHUNK) as usize;
    made.data[2][at] ^= 4;
    let (found, _) = scrubbed(&made, &[]);
    let places: Vec<(usize, u64)> = found.into_keys().collect();
    assert_eq!(places, [(0, at as u64), (1, at as u64), (2, at as u64)]);
}
