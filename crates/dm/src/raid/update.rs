//! How some data of a row are changed, and the parity with them.
//!
//! A part of a row is the same run of bytes of each leg, of which some data legs get new bytes, all
//! of them in that run. Three ways lead to the new parity, and the one that reads least is taken:
//!
//! ```text
//!   sum       read the data that stay     P = new + new + old       (a whole row reads nothing)
//!   change    read what goes, and parity  P = old P + old + new
//!   rebuild   read all that is there      as sum; data of a leg that is not there are made up
//! ```
//!
//! A sum is right whatever parity was; a change keeps what was wrong. So where parity may be wrong
//! and all data are there, a sum is made. Parity that was never brought in sync says nothing of
//! data that are not there: then only data on legs that are there can be written.
//!
//! Pure: nothing here asks a leg for anything.

use block::parity;

use super::geometry::{Geometry, LEGS_MAX};
use super::rotation::Row;
use super::view::LegSet;

/// Whether parity fits the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    /// It does.
    Kept,
    /// A write may have been cut short.
    Unsure,
    /// It was never computed.
    Never,
}

/// What is known of the legs of a row where it is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Situation {
    /// Data legs that get new bytes.
    pub(super) covered: LegSet,
    /// Legs that do not hold what they should.
    pub(super) invalid: LegSet,
    /// Legs that can be written.
    pub(super) writable: LegSet,
    pub(super) fit: Fit,
}

/// How the new parity comes about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Sum,
    Change,
    Rebuild,
    /// Parity is not touched.
    Plain,
}

/// What is read, and then written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) method: Method,
    pub(super) reads: LegSet,
    pub(super) writes: LegSet,
}

/// A set of one leg.
pub(super) fn only(leg: usize) -> LegSet {
    1 << leg
}

/// The set of the first so many legs, one at least.
pub(super) fn all_legs(count: usize) -> LegSet {
    assert!((1..=LEGS_MAX).contains(&count), "an array has some");
    LegSet::MAX >> (LEGS_MAX - count)
}

/// The members of a set, in order.
pub(super) fn members(set: LegSet) -> impl Iterator<Item = usize> {
    (0..u64::BITS as usize).filter(move |leg| set >> leg & 1 == 1)
}

/// The legs of a row that hold data, and those that hold parity.
pub(super) fn roles(row: Row) -> (LegSet, LegSet) {
    let data = (0..row.data_count()).fold(0, |set, index| set | only(row.leg(index)));
    let parity = only(row.p) | row.q.map_or(0, only);
    assert_eq!(data & parity, 0, "a leg has one role in a row");
    (data, parity)
}

/// How a part of a row is written; why it cannot be, if so.
pub(super) fn plan(geometry: &Geometry, row: Row, now: Situation) -> Result<Plan, &'static str> {
    let (data, parity) = roles(row);
    let Situation {
        covered,
        invalid,
        writable,
        fit,
    } = now;
    assert!(covered != 0 && covered & !data == 0, "data are written");
    let invalid = invalid & (data | parity);
    let redundancy = geometry.scheme().redundancy(geometry.legs());
    let rest = data & !covered;
    let sum = Plan {
        method: Method::Sum,
        reads: rest,
        writes: (covered | parity) & writable,
    };
    let can_sum = rest & invalid == 0;
    if fit == Fit::Never {
        if covered & invalid != 0 {
            return Err("a leg is missing, and parity was never in sync here");
        }
        let plain = Plan {
            method: Method::Plain,
            reads: 0,
            writes: covered,
        };
        return Ok(if can_sum { sum } else { plain });
    }
    if invalid.count_ones() as usize > redundancy {
        return Err("too many of its legs are missing");
    }
    if can_sum && (invalid == 0 && fit == Fit::Unsure || rest == 0) {
        return Ok(sum);
    }
    let mut plans = Vec::new();
    if can_sum {
        plans.push(sum);
    }
    // Parity that is being filled may be right here already, and must stay so.
    if (covered | parity & writable) & invalid == 0 {
        let kept = parity & !invalid;
        plans.push(Plan {
            method: if kept == 0 {
                Method::Plain
            } else {
                Method::Change
            },
            reads: if kept == 0 { 0 } else { covered | kept },
            writes: covered | kept,
        });
    }
    plans.push(Plan {
        method: Method::Rebuild,
        reads: (data | parity) & !invalid,
        writes: (covered | parity) & writable,
    });
    let best = plans.into_iter().min_by_key(|plan| plan.reads.count_ones());
    Ok(best.expect("there is always one way"))
}

/// Computes the parity of a row from all its data, of which `data` has those of each leg.
pub(super) fn sum<'b>(row: Row, data: impl Fn(usize) -> &'b [u8], p: &mut [u8], q: &mut [u8]) {
    let legs = (0..row.data_count()).map(|index| row.leg(index));
    if row.q.is_none() {
        assert!(q.is_empty(), "it has one parity");
        let data: Vec<&[u8]> = legs.map(data).collect();
        return parity::sum(p, &data);
    }
    let mut data: Vec<(u8, &[u8])> = legs.map(|leg| (row.power(leg) as u8, data(leg))).collect();
    data.sort_unstable_by_key(|(power, _)| std::cmp::Reverse(*power));
    parity::sums(p, q, &data);
}

/// Adds the bytes that a data leg had, or gets, to parity; what is added twice is gone.
pub(super) fn add(row: Row, leg: usize, bytes: &[u8], parity_leg: usize, target: &mut [u8]) {
    if parity_leg == row.p {
        parity::xor_into(target, bytes);
    } else {
        assert_eq!(row.q, Some(parity_leg), "it is one of the two");
        parity::add_power(target, bytes, row.power(leg) as u8);
    }
}
