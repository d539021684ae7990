//! Repairs what does not go together: an order names places, and each is judged under its lock.
//!
//! ```text
//!   order ─▸ lock ─▸ all legs are read ─▸ judged ─▸ the wrong leg gets what the others say
//!                                        │    ╲─▸ nobody knows who: parity is computed of the
//!                                        │        data, the first copy goes over the others
//!                                        ╰─▸ all of it ─▸ legs flushed ─▸ answered
//! ```
//!
//! Whoever orders it has compared the legs before, maybe without a lock and some time ago: what
//! counts is what is there now (`scrub::judge`). Where nobody can know who is wrong it is done as
//! md does it always. What is whole is not written.
//!
//! No region is marked for it. What is written went together with nothing before, so a cut in the
//! middle leaves no more wrong than there was; and a mark would make parity anew of data that are
//! known to be wrong.
//!
//! Does not: repair where a leg is missing or not believed, or what is not in sync yet, since that
//! is mended by itself. Costs: a piece at a time is read of all legs, under a lock.

use std::collections::{BTreeMap, VecDeque};

use block::{Buffer, BufferPool, Error, Kind, Range};

use super::array::Array;
use super::geometry::{Geometry, Scheme};
use super::mend::Mend;
use super::reads::PIECE;
use super::rows::{self, Known};
use super::scrub::{Blame, Judged, SECTOR, judge_copies, judge_row};
use super::update::{only, roles};

/// Places in an order, at most: what a list of findings is cut into.
const PLACES_MAX: usize = 4096;

/// Pieces in an order, at most: as much as one is remembered.
const PIECES_MAX: u64 = 1 << 20;

/// What was ordered, and is not done.
#[derive(Debug, Default)]
pub(super) struct Orders {
    /// Pieces that have not begun.
    pieces: VecDeque<(u64, Range)>,
    /// For each order its pieces that have not ended, and whether one could not be repaired.
    open: BTreeMap<u64, (usize, bool)>,
    ended: Vec<(u64, block::Result<()>)>,
}

impl Orders {
    fn begin(&mut self, order: u64, pieces: Vec<Range>) {
        if pieces.is_empty() {
            return self.ended.push((order, Ok(())));
        }
        let before = self.open.insert(order, (pieces.len(), false));
        assert!(before.is_none(), "an order is given once");
        self.pieces
            .extend(pieces.into_iter().map(|one| (order, one)));
    }

    fn refuse(&mut self, order: u64, why: &str) {
        let error = Error::new(Kind::Invalid, why.to_owned());
        self.ended.push((order, Err(error)));
    }

    /// Whether nothing was ordered that is not done.
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// The next piece, and of which order.
    pub(super) fn next(&mut self) -> Option<(u64, Range)> {
        self.pieces.pop_front()
    }

    /// In the place of a piece that could not be repaired these are to be.
    fn divide(&mut self, order: u64, pieces: &[Range]) {
        let open = self.open.get_mut(&order).expect("it was ordered");
        open.0 += pieces.len();
        let pieces = pieces.iter().rev();
        pieces.for_each(|piece| self.pieces.push_front((order, *piece)));
    }

    /// A piece of an order has ended, or could not be repaired; whether it was the last one.
    pub(super) fn piece_ended(&mut self, order: u64, is_bad: bool) -> bool {
        let open = self.open.get_mut(&order).expect("it was ordered");
        open.0 = open.0.checked_sub(1).expect("it has begun");
        open.1 |= is_bad;
        open.0 == 0
    }

    /// What was repaired is durable, or a leg could not make it so: the order ends.
    pub(super) fn flushed(&mut self, order: u64, is_whole: bool) {
        let (left, is_bad) = self.open.remove(&order).expect("it was ordered");
        assert_eq!(left, 0, "all its pieces have ended");
        let what = "not all could be repaired: a leg is missing, fails, or is not in sync";
        let result = if is_bad || !is_whole {
            Err(Error::new(Kind::Io, what.to_owned()))
        } else {
            Ok(())
        };
        self.ended.push((order, result));
    }

    /// It is another array from now on: places mean something else.
    pub(super) fn forget(&mut self) {
        self.pieces.clear();
        for order in std::mem::take(&mut self.open).into_keys() {
            self.refuse(order, "the array was changed meanwhile; compare it again");
        }
    }

    /// The orders that have ended since the last time, and how.
    pub(super) fn obeyed(&mut self) -> Vec<(u64, block::Result<()>)> {
        std::mem::take(&mut self.ended)
    }
}

impl Array {
    /// These places are to be repaired.
    pub(super) fn order_repair(&mut self, order: u64, places: &[Range]) {
        let limit = self.sync_limit();
        let is_reshaped = self.reshape().is_some();
        let orders = &mut self.mending.orders;
        if self.record.is_none() {
            return orders.refuse(order, "it is only read");
        }
        if is_reshaped {
            return orders.refuse(order, "it is being reshaped");
        }
        let bucket = self.locks.bucket();
        let count: u64 = places.iter().map(|place| place.len() / bucket + 2).sum();
        let is_much = places.len() > PLACES_MAX || count > PIECES_MAX;
        if is_much || places.iter().any(|place| place.end() > limit) {
            return orders.refuse(order, "too many places at once, or behind its end");
        }
        let mut pieces: Vec<Range> = Vec::new();
        for place in places.iter().filter(|place| !place.is_empty()) {
            let mut start = place.start() - place.start() % bucket;
            while start < place.end() {
                let piece = Range::new(start, bucket.min(limit - start));
                if pieces.last() != Some(&piece) {
                    pieces.push(piece);
                }
                start += bucket;
            }
        }
        assert!(pieces.len() as u64 <= PIECES_MAX, "an order is bounded");
        orders.begin(order, pieces);
    }

    /// A piece of copies of which no leg can be read as a whole may be repaired in smaller ones;
    /// whether that is tried.
    pub(super) fn repair_in_pieces(&mut self, order: u64, mend: &Mend) -> bool {
        let geometry = self.row_of(mend.lock.start()).geometry;
        let is_copies = !matches!(geometry.scheme(), Scheme::Parity(..));
        if !is_copies || mend.without == 0 || mend.lock.len() <= PIECE {
            return false;
        }
        let (mut pieces, mut start) = (Vec::new(), mend.lock.start());
        while start < mend.lock.end() {
            let len = (PIECE - start % PIECE).min(mend.lock.end() - start);
            pieces.push(Range::new(start, len));
            start += len;
        }
        assert!(pieces.len() > 1, "it goes on with less");
        self.mending.orders.divide(order, &pieces);
        true
    }

    /// All legs are read, where all are there and are to go together.
    pub(super) fn plan_judged(&self, geometry: &Geometry, mend: &mut Mend) -> Vec<(usize, Range)> {
        let view = self.view.as_ref().expect("it has started");
        let lock = mend.lock;
        let is_whole = self.whole_legs() == self.all();
        let is_parity = matches!(geometry.scheme(), Scheme::Parity(..));
        let goes_together = view.is_in_sync(lock) && (!is_parity || view.is_computed(lock));
        let lacks = |leg: &super::Doubt| leg.overlaps(lock);
        if !is_whole || !goes_together || view.assembly().missed.iter().any(lacks) {
            mend.is_bad = true;
            return Vec::new();
        }
        if is_parity {
            let place = self.on_leg(lock);
            return (0..geometry.legs()).map(|leg| (leg, place)).collect();
        }
        let spots = (0..geometry.copies()).map(|copy| geometry.spot(lock.start(), copy));
        let place = |spot: super::Spot| {
            let place = Range::new(spot.start, lock.len());
            (spot.leg, self.on_leg(place))
        };
        spots.map(place).collect()
    }
}

/// What legs are to hold of a piece of which all were read, those that hold something else.
pub(super) fn repaired(
    pool: &BufferPool,
    geometry: &Geometry,
    mend: &Mend,
) -> Vec<(usize, Range, Buffer)> {
    let (lock, old) = (mend.lock, &mend.old);
    let of = |leg: usize| -> &Buffer {
        let known = old.iter().find(|(one, _)| *one == leg);
        &known.expect("all were read").1
    };
    let mut new = Repaired::default();
    if let Scheme::Parity(..) = geometry.scheme() {
        let row = geometry.row(lock.start() / geometry.chunk());
        let legs: Vec<Option<&[u8]>> = (0..geometry.legs()).map(|leg| Some(&**of(leg))).collect();
        for judged in judge_row(&row, &legs) {
            for (leg, bytes) in right_row(pool, row, &judged, old) {
                new.put(of(leg), (leg, judged.sectors.start), &bytes);
            }
        }
        let placed = new.0.into_iter();
        return placed.map(|(leg, bytes)| (leg, lock, bytes)).collect();
    }
    let spots = (0..geometry.copies()).map(|copy| geometry.spot(lock.start(), copy));
    let spots: Vec<super::Spot> = spots.collect();
    let copies: Vec<(usize, &[u8])> = spots
        .iter()
        .map(|spot| (spot.leg, &**of(spot.leg)))
        .collect();
    for judged in judge_copies(&copies) {
        let wrong = match &judged.blame {
            Blame::Legs(wrong) => wrong.clone(),
            Blame::Unknown(_) => copies[1..].iter().map(|(leg, _)| *leg).collect(),
        };
        let right = copies.iter().find(|(leg, _)| !wrong.contains(leg));
        let bytes = &right.expect("one is right").1[in_bytes(&judged.sectors)];
        for leg in wrong {
            new.put(of(leg), (leg, judged.sectors.start), bytes);
        }
    }
    let placed = new.0.into_iter().map(|(leg, bytes)| {
        let spot = spots.iter().find(|spot| spot.leg == leg);
        let start = spot.expect("it has a copy").start;
        (leg, Range::new(start, lock.len()), bytes)
    });
    placed.collect()
}

/// Whole pieces of legs that are written.
#[derive(Debug, Default)]
struct Repaired(BTreeMap<usize, Buffer>);

impl Repaired {
    /// From this sector on a leg, which holds `old`, is to hold these bytes.
    fn put(&mut self, old: &Buffer, (leg, sector): (usize, usize), bytes: &[u8]) {
        let new = self.0.entry(leg);
        let new = new.or_insert_with(|| Buffer::copy_of(old));
        let from = sector * SECTOR;
        new[from..from + bytes.len()].copy_from_slice(bytes);
    }
}

/// What the wrong legs of a row should hold in these sectors, from what all hold of the row.
fn right_row(
    pool: &BufferPool,
    row: super::Row,
    judged: &Judged,
    old: &Known,
) -> Vec<(usize, Buffer)> {
    let place = in_bytes(&judged.sectors);
    let (data, parity) = roles(row);
    let wrong = match &judged.blame {
        Blame::Legs(wrong) => wrong.iter().fold(0, |set, leg| set | only(*leg)),
        Blame::Unknown(_) => parity,
    };
    let rest = old.iter().filter(|(leg, _)| wrong & only(*leg) == 0);
    let mut known: Known = rest
        .map(|(leg, bytes)| (*leg, Buffer::copy_of(&bytes[place.clone()])))
        .collect();
    rows::complete(pool, row, &mut known, wrong & data);
    let of = |leg: usize| -> &[u8] {
        let one = known.iter().find(|(other, _)| *other == leg);
        &one.expect("all data are known").1
    };
    let mut made = Known::new();
    if wrong & parity != 0 {
        made = rows::sums(pool, row, of, (wrong & parity, place.len()));
    }
    let is_wrong = |(leg, _): &(usize, Buffer)| wrong & data & only(*leg) != 0;
    made.extend(known.into_iter().filter(is_wrong));
    assert!(!made.is_empty(), "something is wrong");
    made
}

fn in_bytes(sectors: &std::ops::Range<usize>) -> std::ops::Range<usize> {
    sectors.start * SECTOR..sectors.end * SECTOR
}
