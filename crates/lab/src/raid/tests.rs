//! The counts are those of the books, and no other way takes fewer reads.

mod alignment;

use block::Range;
use dm::raid::{Geometry, Parity, Rotation, Scheme};

use super::{Ask, Cost, Shape, cost, row_bytes};

const KIB: u64 = 1 << 10;
const CHUNK: u64 = 64 * KIB;
const FIVE: Scheme = Scheme::Parity(Parity::One, Rotation::LeftSymmetric);
const SIX: Scheme = Scheme::Parity(Parity::Two, Rotation::ZeroRestart);

/// Reads and writes of a request of `len` bytes, on average.
fn of(scheme: Scheme, legs: usize, ask: Ask, len: u64, losses: usize) -> (f64, f64) {
    let shape = Shape {
        scheme,
        legs,
        chunk: CHUNK,
    };
    let mean = shape.mean(losses, ask, len).expect("it survives that");
    (mean.reads, mean.writes)
}

fn is_near(one: (f64, f64), other: (f64, f64)) -> bool {
    (one.0 - other.0).abs() < 1e-9 && (one.1 - other.1).abs() < 1e-9
}

/// What is written in every book: 4 requests for a small write of RAID 5, 6 of RAID 6, one for each
/// copy; a whole row without a read; a lost image costs as many reads as hold data.
#[test]
fn counts_are_those_of_the_books() {
    let small = 4 * KIB;
    for (scheme, legs, expected) in [
        (FIVE, 5, (2.0, 2.0)),
        (FIVE, 4, (2.0, 2.0)),
        // The only other chunk is read instead of the old data and parity.
        (FIVE, 3, (1.0, 2.0)),
        (SIX, 8, (3.0, 3.0)),
        (SIX, 6, (3.0, 3.0)),
        (SIX, 5, (2.0, 3.0)),
        (Scheme::Mirror, 2, (0.0, 2.0)),
        (Scheme::Mirror, 3, (0.0, 3.0)),
        (Scheme::near_copies(2), 4, (0.0, 2.0)),
        (Scheme::near_copies(3), 5, (0.0, 3.0)),
    ] {
        let found = of(scheme, legs, Ask::Write, small, 0);
        assert!(is_near(found, expected), "{scheme:?} {legs}: {found:?}");
        assert!(is_near(of(scheme, legs, Ask::Read, small, 0), (1.0, 0.0)));
    }
    let row = |scheme, legs: usize, parity: usize| {
        let len = CHUNK * (legs - parity) as u64;
        of(scheme, legs, Ask::Write, len, 0)
    };
    assert!(is_near(row(FIVE, 5, 1), (0.0, 5.0)));
    assert!(is_near(row(SIX, 6, 2), (0.0, 6.0)));
    // A fifth of the reads is of what is lost, and takes the four others.
    assert!(is_near(of(FIVE, 5, Ask::Read, small, 1), (1.6, 0.0)));
    assert!(is_near(of(FIVE, 3, Ask::Read, small, 1), (4.0 / 3.0, 0.0)));
    assert!(is_near(of(SIX, 6, Ask::Read, small, 2), (2.0, 0.0)));
    assert!(is_near(
        of(Scheme::Mirror, 2, Ask::Write, small, 1),
        (0.0, 1.0)
    ));
    // Half of the chunks have lost one of their two copies.
    assert!(is_near(
        of(Scheme::near_copies(2), 4, Ask::Write, small, 1),
        (0.0, 1.5)
    ));
    let five = Shape {
        scheme: FIVE,
        legs: 5,
        chunk: CHUNK,
    };
    assert!(five.mean(2, Ask::Read, small).is_none());
    // Of the rows of RAID 4 the parity is always on the first leg, which is not read.
    let four = Shape {
        scheme: Scheme::Parity(Parity::One, Rotation::First),
        ..five
    };
    let without = |leg| four.mean_without(&[leg], Ask::Read, small);
    assert_eq!(without(0).map(|mean| mean.reads), Some(1.0));
    assert_eq!(without(1).map(|mean| mean.reads), Some((3.0 + 4.0) / 4.0));
    assert_eq!(five.mean_without(&[1, 2], Ask::Write, small), None);
}

/// Bytes are counted, too: of what is not aligned, each row is a plan of its own.
#[test]
fn bytes_are_counted() {
    let geometry = Geometry::new(FIVE, 4, CHUNK, 40 * CHUNK).expect("an array");
    assert_eq!(row_bytes(&geometry), 3 * CHUNK);
    let write = |start, len| cost(&geometry, &[], Ask::Write, Range::new(start, len));
    let whole = Cost {
        writes: 4,
        written_bytes: 4 * CHUNK,
        ..Cost::default()
    };
    assert_eq!(write(0, 3 * CHUNK), Some(whole));
    // One chunk later: two chunks of a row and one of the next one.
    let shifted = write(CHUNK, 3 * CHUNK).expect("all is there");
    assert_eq!((shifted.reads, shifted.writes), (1 + 2, 3 + 2));
    assert_eq!(shifted.read_bytes, 3 * CHUNK);
    // From the middle of a chunk to the middle of the next one the parity of both halves is needed.
    let across = write(CHUNK / 2, CHUNK).expect("all is there");
    assert_eq!((across.reads, across.writes), (3, 3));
    assert_eq!(across.written_bytes, CHUNK / 2 * 2 + CHUNK);
    let read = cost(&geometry, &[0], Ask::Read, Range::new(0, 3 * CHUNK));
    assert_eq!(read.map(|read| read.reads), Some(3 + 2));
}

/// A prime: sums of chunks are counted by it here, and not by md's field.
const PRIME: i64 = 257;

/// Whether `wanted` is made up of `known`: rows of numbers, by elimination.
fn is_made_up(known: &[Vec<i64>], wanted: &[i64]) -> bool {
    let mut known = known.to_vec();
    let mut wanted = wanted.to_vec();
    for column in 0..wanted.len() {
        let Some(at) = known.iter().position(|row| row[column] != 0) else {
            continue;
        };
        let pivot = known.swap_remove(at);
        let inverse = (1..PRIME).find(|one| one * pivot[column] % PRIME == 1);
        let inverse = inverse.expect("it is a prime");
        for row in known.iter_mut().chain([&mut wanted]) {
            let times = row[column] * inverse % PRIME;
            for (own, other) in row.iter_mut().zip(&pivot) {
                *own = (*own - times * other).rem_euclid(PRIME);
            }
        }
    }
    wanted.iter().all(|one| *one == 0)
}

/// The fewest reads from which all parity of a row can be told when some chunks get new data, by
/// trying all sets of legs. The first numbers are data legs, then P and Q.
fn fewest(data: usize, parity: usize, written: &[usize], lost: &[usize]) -> Option<u64> {
    let sums: Vec<Vec<i64>> = [
        vec![1; data],
        (0..data).map(|index| 1 << index).collect::<Vec<i64>>(),
    ]
    .into_iter()
    .take(parity)
    .collect();
    let of_leg = |leg: usize| match leg.checked_sub(data) {
        Some(sum) => sums[sum].clone(),
        None => (0..data).map(|index| i64::from(index == leg)).collect(),
    };
    let there: Vec<usize> = (0..data + parity)
        .filter(|leg| !lost.contains(leg))
        .collect();
    let kept: Vec<Vec<i64>> = there
        .iter()
        .filter(|leg| **leg >= data)
        .map(|leg| {
            let mut sum = of_leg(*leg);
            for leg in written {
                sum[*leg] = 0;
            }
            sum
        })
        .collect();
    let sets = 0_u32..1 << there.len();
    let suffices = |set: &u32| {
        let read = there
            .iter()
            .enumerate()
            .filter(|(bit, _)| set >> bit & 1 == 1);
        let known: Vec<Vec<i64>> = read.map(|(_, leg)| of_leg(*leg)).collect();
        kept.iter().all(|wanted| is_made_up(&known, wanted))
    };
    sets.filter(suffices)
        .map(|set| u64::from(set.count_ones()))
        .min()
}

/// Of every set of chunks, whatever is lost, no other way takes fewer reads.
#[test]
fn no_other_way_takes_fewer_reads() {
    let mut count = 0;
    for (scheme, legs, parity) in [(FIVE, 4, 1), (FIVE, 5, 1), (SIX, 5, 2), (SIX, 6, 2)] {
        let geometry = Geometry::new(scheme, legs, CHUNK, CHUNK).expect("a row");
        let row = geometry.row(0);
        let data = legs - parity;
        let place = |leg: usize| match leg.checked_sub(data) {
            None => row.leg(leg),
            Some(0) => row.p,
            Some(_) => row.q.expect("it has two"),
        };
        let losses = (0_u32..1 << legs).filter(|set| set.count_ones() <= parity as u32);
        for losses in losses {
            let lost: Vec<usize> = (0..legs).filter(|leg| losses >> leg & 1 == 1).collect();
            let there: Vec<usize> = lost.iter().map(|leg| place(*leg)).collect();
            for first in 0..data {
                for last in first..data {
                    let written: Vec<usize> = (first..=last).collect();
                    let range = Range::new(first as u64 * CHUNK, written.len() as u64 * CHUNK);
                    let found = cost(&geometry, &there, Ask::Write, range).expect("it survives");
                    let fewest = fewest(data, parity, &written, &lost).expect("all suffice");
                    assert_eq!(
                        found.reads, fewest,
                        "{scheme:?} of {legs} without {lost:?}, {written:?} is written"
                    );
                    count += 1;
                }
            }
        }
    }
    assert!(count > 300, "{count} were tried");
}
