//! What legs of a row hold, computed from what others hold.
//!
//! Those who know a plan (`view.rs`, `update.rs`, `mend.rs`) have read what it needs; here it is
//! counted. Of what was read only the run of bytes matters, which is the same of each leg.

use block::{Buffer, BufferPool, parity};

use super::rotation::Row;
use super::update::{members, only, roles, sum};
use super::view::{LegSet, Rebuild, Source, rebuild};

/// A run of bytes of some legs of a row.
pub(super) type Known = Vec<(usize, Buffer)>;

/// The legs of which something is known.
pub(super) fn legs_of(known: &Known) -> LegSet {
    known.iter().fold(0, |set, (leg, _)| set | only(*leg))
}

/// Adds what these data legs hold, of which nothing was read: `read` is all that can be.
///
/// # Panics
///
/// What was read does not suffice.
pub(super) fn complete(pool: &BufferPool, row: Row, read: &mut Known, needed: LegSet) {
    let (data, parity) = roles(row);
    assert_eq!(needed & !data, 0, "parity is summed");
    let there = legs_of(read);
    let lost: Vec<usize> = members((data | parity) & !there).collect();
    for leg in members(needed & !there) {
        let Source::Others(rebuild) = rebuild(row, (leg, 0), &lost) else {
            unreachable!("the plan counted legs");
        };
        let of = |source: &usize| {
            let known = read.iter().find(|(other, _)| other == source);
            known.expect("all that is there was read").1.share()
        };
        let bytes: Vec<Buffer> = rebuild.sources.iter().map(of).collect();
        let mut made = pool.get(bytes.first().map_or(0, |bytes| bytes.len()));
        make_up(&rebuild, &mut made, &bytes);
        drop(bytes);
        read.push((leg, made));
    }
}

/// The sums of a row, for those of its parity legs that are `wanted`, of `len` bytes of all its
/// data.
pub(super) fn sums<'b>(
    pool: &BufferPool,
    row: Row,
    data: impl Fn(usize) -> &'b [u8],
    (wanted, len): (LegSet, usize),
) -> Known {
    let (mut p, mut q) = (pool.get(len), Buffer::empty());
    if row.q.is_some() {
        q = pool.get(len);
    }
    sum(row, data, &mut p, &mut q);
    let both = [Some((row.p, p)), row.q.map(|leg| (leg, q))];
    let is_wanted = |(leg, _): &(usize, Buffer)| wanted & only(*leg) != 0;
    both.into_iter().flatten().filter(is_wanted).collect()
}

/// The bytes of a leg from those of others of its row.
pub(super) fn make_up(rebuild: &Rebuild, target: &mut [u8], bytes: &[Buffer]) {
    let Rebuild {
        row,
        leg,
        other,
        sources,
        ..
    } = rebuild;
    assert_eq!(sources.len(), bytes.len(), "each source was read");
    let sources = || sources.iter().copied().zip(bytes);
    let has = |leg: usize| sources().any(|(source, _)| source == leg);
    // What is missing from P is what is missing.
    let add_to_p = |sum: &mut [u8]| {
        sum.fill(0);
        let counted = sources().filter(|(source, _)| row.q != Some(*source));
        counted.for_each(|(_, bytes)| parity::xor_into(sum, bytes));
    };
    // What is missing from Q is its product with a power of 2.
    let add_to_q = |sum: &mut [u8]| {
        sum.fill(0);
        for (source, bytes) in sources().filter(|(source, _)| *source != row.p) {
            if row.q == Some(source) {
                parity::xor_into(sum, bytes);
            } else {
                parity::add_power(sum, bytes, row.power(source) as u8);
            }
        }
    };
    match other {
        None if has(row.p) => add_to_p(target),
        None => {
            add_to_q(target);
            parity::recover_with_q(target, row.power(*leg) as u8);
        }
        Some(other) => {
            let mut q = vec![0; target.len()];
            add_to_q(&mut q);
            add_to_p(target);
            let (x, y) = (row.power(*leg) as u8, row.power(*other) as u8);
            parity::recover_two(target, &mut q, x, y);
        }
    }
}
