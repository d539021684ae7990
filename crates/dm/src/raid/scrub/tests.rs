//! Wrong legs are found where they can be, in rows and copies made naively, and nowhere else.

use block::sim::Random;

use super::{Blame, Judged, SECTOR, Unknown, judge_copies, judge_row};
use crate::raid::{Parity, Rotation, Row};

const SECTORS: usize = 6;
const LEN: usize = SECTORS * SECTOR;

/// `byte` doubled `power` times in the field of 256 elements with the polynomial 0x11d.
fn times_power_of_2(byte: u8, power: usize) -> u8 {
    (0..power).fold(byte, |byte, _| {
        (byte << 1) ^ if byte >> 7 == 1 { 0x1d } else { 0 }
    })
}

fn noise(random: &mut Random, len: usize) -> Vec<u8> {
    (0..len).map(|_| random.number() as u8).collect()
}

/// A row that goes together, its sums added byte by byte.
fn made(row: &Row, legs: usize, random: &mut Random) -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = (0..legs).map(|_| noise(random, LEN)).collect();
    let sum = |power: &dyn Fn(usize) -> usize| -> Vec<u8> {
        let of = |at: usize, leg: usize| times_power_of_2(all[leg][at], power(leg));
        let data = || (0..row.data_count()).map(|index| row.leg(index));
        let byte = |at: usize| data().fold(0, |sum, leg| sum ^ of(at, leg));
        (0..LEN).map(byte).collect()
    };
    let p = sum(&|_| 0);
    let q = row.q.map(|q| (q, sum(&|leg| row.power(leg))));
    all[row.p] = p;
    if let Some((leg, q)) = q {
        all[leg] = q;
    }
    all
}

fn judged(row: &Row, legs: &[Vec<u8>], lost: Option<usize>) -> Vec<Judged> {
    let read = legs.iter().enumerate();
    let read: Vec<Option<&[u8]>> = read
        .map(|(leg, bytes)| (Some(leg) != lost).then_some(&bytes[..]))
        .collect();
    judge_row(row, &read)
}

/// All layouts of rows, with some row of each.
fn rows() -> Vec<(Row, usize, Parity)> {
    let mut rows = Vec::new();
    for rotation in Rotation::all() {
        for parity in [Parity::One, Parity::Two] {
            for legs in [4, 5, 9, 64] {
                if rotation.suits(parity) {
                    let number = legs as u64 * 3 + u64::from(rotation.md());
                    rows.push((rotation.row(number, legs, parity), legs, parity));
                }
            }
        }
    }
    rows
}

/// One to so many bytes of a sector are changed, each to another value.
fn corrupt(sector: &mut [u8], random: &mut Random, bytes_max: usize) {
    let count = 1 + random.index(bytes_max);
    for _ in 0..count {
        let at = random.index(SECTOR);
        sector[at] ^= 1 + random.below(255) as u8;
    }
    // Two changes of one byte may have undone each other.
    sector[random.index(SECTOR)] ^= 0x80;
}

fn unknown(sectors: std::ops::Range<usize>, why: Unknown) -> Judged {
    Judged {
        sectors,
        blame: Blame::Unknown(why),
    }
}

/// Proves: one wrong leg of any layout with two sums is named, with its sector, be it data, P or Q;
/// with one sum the sector is, and nobody is blamed.
#[test]
fn one_wrong_leg_is_named_where_two_sums_say_so() {
    let mut random = Random::new(21);
    for (row, legs, parity) in rows() {
        let whole = made(&row, legs, &mut random);
        assert_eq!(judged(&row, &whole, None), [], "{row:?} goes together");
        for leg in 0..legs {
            let mut bad = whole.clone();
            let sector = random.index(SECTORS);
            corrupt(&mut bad[leg][sector * SECTOR..][..SECTOR], &mut random, 40);
            if bad == whole {
                continue;
            }
            let expected = match parity {
                Parity::One => unknown(sector..sector + 1, Unknown::OneSum),
                Parity::Two => Judged {
                    sectors: sector..sector + 1,
                    blame: Blame::Legs(vec![leg]),
                },
            };
            assert_eq!(judged(&row, &bad, None), [expected], "{row:?}, leg {leg}");
        }
    }
}

/// Proves: without one leg of a row with two sums it is still seen that another one is wrong,
/// whichever they are, and not said which.
#[test]
fn without_a_leg_nobody_is_blamed() {
    let mut random = Random::new(22);
    for (row, legs, parity) in rows() {
        if parity == Parity::One || legs > 9 {
            continue;
        }
        let whole = made(&row, legs, &mut random);
        for lost in 0..legs {
            assert_eq!(judged(&row, &whole, Some(lost)), [], "{row:?}, {lost} lost");
            for leg in (0..legs).filter(|leg| *leg != lost) {
                let mut bad = whole.clone();
                corrupt(&mut bad[leg][SECTOR..2 * SECTOR], &mut random, 40);
                let found = judged(&row, &bad, Some(lost));
                assert_eq!(found, [unknown(1..2, Unknown::OneSum)], "{row:?}, {leg}");
            }
        }
    }
}

/// Proves: two wrong legs are seen as several, not as a third one that would explain some of their
/// bytes; next to each other, each sector has its own verdict.
#[test]
fn several_wrong_legs_are_not_mistaken_for_one() {
    let mut random = Random::new(23);
    for (row, legs, parity) in rows() {
        if parity == Parity::One {
            continue;
        }
        let whole = made(&row, legs, &mut random);
        for _ in 0..20 {
            let (x, y) = (random.index(legs), random.index(legs));
            if x == y {
                continue;
            }
            let mut bad = whole.clone();
            for (leg, sectors) in [(x, 2..4), (y, 3..5)] {
                let bytes = noise(&mut random, 2 * SECTOR);
                bad[leg][sectors.start * SECTOR..sectors.end * SECTOR].copy_from_slice(&bytes);
            }
            let named = |sector: usize, leg: usize| Judged {
                sectors: sector..sector + 1,
                blame: Blame::Legs(vec![leg]),
            };
            let expected = [
                named(2, x),
                unknown(3..4, Unknown::SeveralLegs),
                named(4, y),
            ];
            assert_eq!(judged(&row, &bad, None), expected, "{row:?}, {x} and {y}");
        }
    }
}

/// Proves: of three copies and more those are named that are not as most are; of two, and where no
/// majority is, nobody is.
#[test]
fn copies_are_judged_by_most_of_them() {
    let mut random = Random::new(24);
    for count in 2..=7 {
        for _ in 0..60 {
            let whole = noise(&mut random, LEN);
            let mut copies = vec![whole.clone(); count];
            let sector = random.index(SECTORS);
            // Some of them are wrong, two of these perhaps in the same way.
            let wrong: Vec<usize> = (0..count).filter(|_| random.chance(2, 5)).collect();
            for (number, leg) in wrong.iter().enumerate() {
                let other = wrong[random.index(number + 1)];
                let bytes = if random.chance(1, 3) && other != *leg {
                    copies[other][sector * SECTOR..][..SECTOR].to_vec()
                } else {
                    noise(&mut random, SECTOR)
                };
                copies[*leg][sector * SECTOR..][..SECTOR].copy_from_slice(&bytes);
            }
            let of = |leg: usize| &copies[leg][sector * SECTOR..][..SECTOR];
            let alike = |leg: usize| (0..count).filter(|other| of(*other) == of(leg)).count();
            let most = (0..count).find(|leg| 2 * alike(*leg) > count);
            let is_equal = (0..count).all(|leg| of(leg) == of(0));
            let blame = match most {
                _ if is_equal => None,
                _ if count == 2 => Some(Blame::Unknown(Unknown::TwoCopies)),
                None => Some(Blame::Unknown(Unknown::NoMajority)),
                Some(most) => {
                    let others = (0..count).filter(|leg| of(*leg) != of(most));
                    Some(Blame::Legs(others.collect()))
                }
            };
            let borrowed: Vec<(usize, &[u8])> = copies
                .iter()
                .enumerate()
                .map(|(leg, bytes)| (leg, &bytes[..]))
                .collect();
            let sectors = sector..sector + 1;
            let expected: Vec<Judged> = blame
                .map(|blame| Judged { sectors, blame })
                .into_iter()
                .collect();
            assert_eq!(
                judge_copies(&borrowed),
                expected,
                "{wrong:?} of {count} are wrong"
            );
        }
    }
}

/// Proves: sectors that follow one another with the same verdict are one finding.
#[test]
fn sectors_with_one_verdict_are_one_finding() {
    let (a, mut b) = (vec![1; LEN], vec![1; LEN]);
    b[SECTOR..4 * SECTOR].fill(2);
    b[5 * SECTOR] = 3;
    let expected = [
        unknown(1..4, Unknown::TwoCopies),
        unknown(5..6, Unknown::TwoCopies),
    ];
    assert_eq!(judge_copies(&[(0, &a[..]), (1, &b[..])]), expected);
}

/// Proves: with as many legs lost as there are sums a row is not judged at all.
#[test]
#[should_panic(expected = "too few legs")]
fn rows_without_anything_to_compare_are_refused() {
    let row = Rotation::LeftSymmetric.row(0, 4, Parity::One);
    let whole = made(&row, 4, &mut Random::new(25));
    judged(&row, &whole, Some(2));
}
