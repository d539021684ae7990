//! Which sectors of a row, or of a byte's copies, do not go together, and who is wrong.
//!
//! With P and Q, one wrong leg is found by what they are off by: data that are off by `d` make P
//! off by `d` and Q by `2^power * d`, P and Q themselves only make themselves off. That holds for
//! each byte of a sector by itself, so all bytes that are off have to name the same leg, and one
//! that the row has. Otherwise several are wrong, and nothing says which.
//!
//! What can be mistaken: two legs that are wrong in single bytes look like a third one that is
//! wrong there, once in `255 / legs` tries for one byte; with each byte more it is as unlikely
//! again. And most copies may be wrong in the same way. No sum can tell either from the truth.

use block::parity;

use crate::raid::rotation::Row;

/// Bytes that are judged together.
pub const SECTOR: usize = 512;

/// Sectors that follow one another and do not go together, of which the same is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// Which sectors of what was judged.
    pub sectors: std::ops::Range<usize>,
    /// Who is wrong.
    pub blame: Blame,
}

/// Who is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blame {
    /// These legs, in order: all others go together.
    Legs(Vec<usize>),
    /// Nobody can know.
    Unknown(Unknown),
}

/// Why nobody can know who is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unknown {
    /// There is one sum, which may be wrong as any of its data.
    OneSum,
    /// There are two copies.
    TwoCopies,
    /// Copies differ, and none is there more often than all others together.
    NoMajority,
    /// More than one leg of the row is wrong.
    SeveralLegs,
}

/// By what the sums of a row are off: all zeros where they are right. One that was not read, or was
/// needed to make up data, is not there.
#[derive(Debug, Default)]
struct Off {
    p: Option<Vec<u8>>,
    q: Option<Vec<u8>>,
}

/// What of a row does not go together. `legs` has, in the order of the array, the bytes of each leg
/// at the same place, as many of each and whole sectors; `None`: it was not read.
///
/// # Panics
///
/// Nothing is left to be compared: as many legs are not there as the row has sums.
pub fn judge_row(row: &Row, legs: &[Option<&[u8]>]) -> Vec<Judged> {
    let len = legs.iter().flatten().map(|leg| leg.len()).next();
    let len = len.expect("some leg was read");
    assert!(len.is_multiple_of(SECTOR), "whole sectors are judged");
    assert!(
        legs.iter().flatten().all(|leg| leg.len() == len),
        "as much of each leg is judged"
    );
    let off = off(row, legs, len);
    let is_right = |sum: &Option<Vec<u8>>| sum.as_ref().is_none_or(|sum| is_zero(sum));
    if is_right(&off.p) && is_right(&off.q) {
        return Vec::new();
    }
    let of = |sum: &Option<Vec<u8>>, at: usize| -> Option<[u8; SECTOR]> {
        sum.as_ref()?[at..].first_chunk().copied()
    };
    let mut judged = Vec::new();
    for sector in 0..len / SECTOR {
        let at = sector * SECTOR;
        let blame = match (of(&off.p, at), of(&off.q, at)) {
            (Some(p), Some(q)) => blame(row, &p, &q),
            (Some(sum), None) | (None, Some(sum)) => {
                (!is_zero(&sum)).then_some(Blame::Unknown(Unknown::OneSum))
            }
            (None, None) => unreachable!("some sum is compared"),
        };
        if let Some(blame) = blame {
            add(&mut judged, sector, blame);
        }
    }
    judged
}

/// What of copies of the same bytes differs. `copies` are legs with what they hold, at least two
/// and as many bytes of each, whole sectors.
///
/// # Panics
///
/// There are fewer.
pub fn judge_copies(copies: &[(usize, &[u8])]) -> Vec<Judged> {
    assert!(copies.len() > 1, "copies are compared with others");
    let first = copies[0].1;
    assert!(
        first.len().is_multiple_of(SECTOR),
        "whole sectors are judged"
    );
    assert!(
        copies.iter().all(|(_, copy)| copy.len() == first.len()),
        "as much of each copy is judged"
    );
    if copies.iter().all(|(_, copy)| *copy == first) {
        return Vec::new();
    }
    let mut judged = Vec::new();
    for sector in 0..first.len() / SECTOR {
        let of = |copy: &(usize, &[u8])| -> [u8; SECTOR] {
            let bytes = &copy.1[sector * SECTOR..];
            *bytes.first_chunk().expect("it is a whole sector")
        };
        let all: Vec<[u8; SECTOR]> = copies.iter().map(of).collect();
        if all.iter().all(|copy| *copy == all[0]) {
            continue;
        }
        let like = |copy: &[u8; SECTOR]| all.iter().filter(|other| *other == copy).count();
        let most = all.iter().find(|copy| 2 * like(copy) > all.len());
        let blame = match most {
            _ if all.len() == 2 => Blame::Unknown(Unknown::TwoCopies),
            None => Blame::Unknown(Unknown::NoMajority),
            Some(most) => {
                let wrong = copies.iter().zip(&all).filter(|(_, copy)| *copy != most);
                let mut wrong: Vec<usize> = wrong.map(|((leg, _), _)| *leg).collect();
                wrong.sort_unstable();
                assert!(2 * wrong.len() < all.len(), "most are right");
                Blame::Legs(wrong)
            }
        };
        add(&mut judged, sector, blame);
    }
    judged
}

/// By what the sums that can be compared are off.
fn off(row: &Row, legs: &[Option<&[u8]>], len: usize) -> Off {
    let data = (0..row.data_count()).map(|index| row.leg(index));
    let lost: Vec<usize> = data.clone().filter(|leg| legs[*leg].is_none()).collect();
    let there: Vec<usize> = data.filter(|leg| legs[*leg].is_some()).collect();
    let (p, q) = (legs[row.p], row.q.and_then(|q| legs[q]));
    let sum = |with: Option<&[u8]>| {
        let mut sum = with.map_or_else(|| vec![0; len], <[u8]>::to_vec);
        for leg in &there {
            parity::xor_into(&mut sum, legs[*leg].expect("it is there"));
        }
        sum
    };
    let weighted = |with: &[u8], made_up: Option<(usize, &[u8])>| {
        let known = there
            .iter()
            .map(|leg| (*leg, legs[*leg].expect("it is there")));
        let mut all: Vec<(u8, &[u8])> = known
            .chain(made_up)
            .map(|(leg, bytes)| (row.power(leg) as u8, bytes))
            .collect();
        all.sort_unstable_by_key(|(power, _)| std::cmp::Reverse(*power));
        let (mut plain, mut sum) = (vec![0; len], vec![0; len]);
        parity::sums(&mut plain, &mut sum, &all);
        parity::xor_into(&mut sum, with);
        sum
    };
    match (lost.as_slice(), p, q) {
        ([], p, q) if p.is_some() || q.is_some() => Off {
            p: p.map(|p| sum(Some(p))),
            q: q.map(|q| weighted(q, None)),
        },
        // P says what is missing, and Q whether that goes together with the others.
        ([leg], Some(p), Some(q)) => Off {
            p: None,
            q: Some(weighted(q, Some((*leg, &sum(Some(p)))))),
        },
        _ => panic!("too few legs were read to compare anything"),
    }
}

/// Who is wrong in a sector where the sums are off by so much; `None`: nobody.
fn blame(row: &Row, p: &[u8; SECTOR], q: &[u8; SECTOR]) -> Option<Blame> {
    let several = Some(Blame::Unknown(Unknown::SeveralLegs));
    let mut wrong = None;
    for (p, q) in p.iter().zip(q) {
        let leg = match (p, q) {
            (0, 0) => continue,
            (_, 0) => Some(row.p),
            (0, _) => row.q,
            (p, q) => {
                let power = parity::wrong_power(*p, *q);
                let mut data = (0..row.data_count()).map(|index| row.leg(index));
                data.find(|leg| power == Some(row.power(*leg) as u8))
            }
        };
        match (leg, wrong) {
            (None, _) => return several,
            (Some(leg), Some(other)) if leg != other => return several,
            _ => wrong = leg,
        }
    }
    wrong.map(|leg| Blame::Legs(vec![leg]))
}

/// One more sector, behind those that are known.
fn add(judged: &mut Vec<Judged>, sector: usize, blame: Blame) {
    match judged.last_mut() {
        Some(last) if last.sectors.end == sector && last.blame == blame => last.sectors.end += 1,
        last => {
            assert!(
                last.is_none_or(|last| last.sectors.end <= sector),
                "sectors are judged in order"
            );
            judged.push(Judged {
                sectors: sector..sector + 1,
                blame,
            });
        }
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}
