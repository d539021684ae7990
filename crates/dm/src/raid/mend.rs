//! Mends a row, or a piece of copies: those who hold what they should say what the others get.
//!
//! ```text
//!   lock ─▸ read the legs that are right ─▸ make up what others should hold ─▸ write it ─▸ done
//! ```
//!
//! Where nothing is right but the data, parity is computed of it; of copies the first one that is
//! valid is right. A leg that lacks something gets what the others make up, and so does one that
//! could not be read. What is to be repaired is judged first (`repair.rs`). Each piece has a lock
//! of its own, so that a write waits for one at most.

use block::{Buffer, Completion, Durability, Range, Request};

use super::array::{Array, Steps};
use super::fence::Then;
use super::geometry::{Geometry, Scheme};
use super::jobs::{Gather, Job, Question};
use super::record::Claim;
use super::repair::repaired;
use super::rows::{self, Known, legs_of};
use super::update::{members, only, roles};
use super::view::LegSet;
use crate::locks::Mode;

/// Why a piece is mended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// It is of a region that is not in sync.
    Region(u64),
    /// A leg of it could not be read.
    Unreadable,
    /// This order says that legs may not go together.
    Ordered(u64),
}

/// A row, or a piece of copies, that is being mended.
#[derive(Debug)]
pub(super) struct Mend {
    pub(super) why: Why,
    pub(super) lock: Range,
    /// Legs that could not be read: they get what they should hold, whatever is known of them.
    pub(super) without: LegSet,
    targets: LegSet,
    pub(super) old: Known,
    reading: usize,
    failed: bool,
    gather: Gather,
    pub(super) is_bad: bool,
}

impl Mend {
    /// Whether it is judged what of it is wrong. What cannot be read is made up before that.
    fn is_judged(&self) -> bool {
        matches!(self.why, Why::Ordered(_)) && self.without == 0
    }
}

impl Array {
    /// Begins a piece; legs in `without` get what they should hold, whatever is known of them.
    pub(super) fn begin_mend(
        &mut self,
        why: Why,
        (lock, without): (Range, LegSet),
        steps: &mut Steps,
    ) {
        self.mending.begin(self.now);
        let id = self.jobs.insert(Job::Mend(Mend {
            why,
            lock,
            without,
            targets: 0,
            old: Vec::new(),
            reading: 0,
            failed: false,
            gather: Gather::default(),
            is_bad: false,
        }));
        if self.locks.take(id, lock, Mode::Alone) {
            self.mend_locked(id, steps);
        }
    }

    /// Reads what a piece is mended from, when legs know that the array is written.
    pub(super) fn mend_locked(&mut self, id: usize, steps: &mut Steps) {
        let record = self.record.as_mut().expect("it is written");
        if record.claim != Claim::Held {
            return record.wait(id);
        }
        let mut mend = self.take_mend(id);
        let geometry = self.row_of(mend.lock.start()).geometry;
        let reads = match geometry.scheme() {
            _ if mend.is_judged() => {
                mend.targets = self.writable();
                self.plan_judged(&geometry, &mut mend)
            }
            Scheme::Parity(..) => self.plan_row(&geometry, &mut mend),
            Scheme::Mirror | Scheme::Copies(_) => self.plan_copies(&geometry, &mut mend),
        };
        mend.reading = reads.len();
        for (leg, place) in &reads {
            let (job, leg, slot) = (id, *leg, 0);
            let buffer = self.pool.get(place.len() as usize);
            let request = Request::read(0, place.start(), buffer);
            self.ask(Question { job, leg, slot }, request, steps);
        }
        if reads.is_empty() {
            self.finished.push_back(id);
        }
        self.put(id, Job::Mend(mend));
    }

    /// Legs know that the array is written, or cannot be told.
    pub(super) fn mend_recorded(&mut self, id: usize, is_refused: bool, steps: &mut Steps) {
        if !is_refused {
            return self.mend_locked(id, steps);
        }
        let mut mend = self.take_mend(id);
        mend.is_bad = true;
        self.put(id, Job::Mend(mend));
        self.finished.push_back(id);
    }

    /// The legs that a row is mended from.
    fn plan_row(&self, geometry: &Geometry, mend: &mut Mend) -> Vec<(usize, Range)> {
        let view = self.view.as_ref().expect("it has started");
        let row = geometry.row(mend.lock.start() / geometry.chunk());
        let (data, parity) = roles(row);
        // What a reshape adds has no part in rows that are old.
        let writable = self.writable() & (data | parity);
        let invalid = view.invalid_in(row, mend.lock, mend.without);
        let is_right = view.is_computed(mend.lock) && view.is_in_sync(mend.lock);
        let mut targets = writable & invalid;
        if !is_right && writable == data | parity {
            targets |= parity;
        }
        mend.targets = targets;
        if targets == 0 {
            return Vec::new();
        }
        let from = if invalid & data == 0 {
            data
        } else {
            let lost = invalid.count_ones() as usize;
            let can = lost <= geometry.scheme().redundancy(geometry.legs());
            if !can || !view.is_computed(mend.lock) {
                mend.is_bad = true;
                mend.targets = 0;
                return Vec::new();
            }
            (data | parity) & !invalid
        };
        let place = self.on_leg(mend.lock);
        members(from).map(|leg| (leg, place)).collect()
    }

    /// The leg from which copies are mended.
    fn plan_copies(&self, geometry: &Geometry, mend: &mut Mend) -> Vec<(usize, Range)> {
        let view = self.view.as_ref().expect("it has started");
        let (lock, writable) = (mend.lock, self.writable());
        let is_right = view.is_in_sync(lock);
        let mut source = None;
        for copy in 0..geometry.copies() {
            let spot = geometry.spot(lock.start(), copy);
            let leg = only(spot.leg);
            let is_asked = mend.without & leg == 0;
            let is_valid = view.is_copy_valid(spot, lock);
            if is_valid && is_asked && source.is_none() {
                source = Some(spot);
            } else if writable & leg != 0 && !(is_valid && is_asked && is_right) {
                mend.targets |= leg;
            }
        }
        match source {
            _ if mend.targets == 0 => Vec::new(),
            Some(spot) => {
                let place = self.on_leg(Range::new(spot.start, lock.len()));
                vec![(spot.leg, place)]
            }
            None => {
                mend.is_bad = true;
                mend.targets = 0;
                Vec::new()
            }
        }
    }

    /// A leg answered a piece.
    pub(super) fn mend_answered(
        &mut self,
        question: Question,
        answer: Completion,
        steps: &mut Steps,
    ) {
        let Question { job: id, leg, .. } = question;
        let mut mend = self.take_mend(id);
        if answer.result.is_err() {
            self.errors[leg] += 1;
        }
        if mend.reading == 0 {
            mend.gather.note(leg, answer.result);
            if mend.gather.out == 0 {
                self.finished.push_back(id);
            }
            return self.put(id, Job::Mend(mend));
        }
        mend.reading -= 1;
        if answer.result.is_err() {
            mend.without |= only(leg);
            mend.failed = true;
        } else {
            mend.old.push((leg, answer.buffer));
        }
        if mend.reading > 0 {
            return self.put(id, Job::Mend(mend));
        }
        if std::mem::take(&mut mend.failed) {
            mend.old.clear();
            mend.targets = 0;
            self.put(id, Job::Mend(mend));
            return self.mend_locked(id, steps);
        }
        self.write_mended(id, &mut mend, steps);
        if mend.gather.out == 0 {
            self.finished.push_back(id);
        }
        self.put(id, Job::Mend(mend));
    }

    /// All that a piece needs is read: what others should hold is written.
    fn write_mended(&mut self, id: usize, mend: &mut Mend, steps: &mut Steps) {
        let geometry = self.row_of(mend.lock.start()).geometry;
        let targets = mend.targets & self.writable();
        let written = match geometry.scheme() {
            _ if mend.is_judged() => repaired(&self.pool, &geometry, mend),
            Scheme::Parity(..) => self.mended_row(&geometry, mend, targets),
            Scheme::Mirror | Scheme::Copies(_) => {
                let (_, bytes) = mend.old.first().expect("it was read");
                let copies = (0..geometry.copies()).map(|copy| {
                    let spot = geometry.spot(mend.lock.start(), copy);
                    (
                        spot.leg,
                        Range::new(spot.start, mend.lock.len()),
                        bytes.share(),
                    )
                });
                let copies = copies.filter(|(leg, ..)| targets & only(*leg) != 0);
                copies.collect()
            }
        };
        mend.gather.out = written.len();
        for (leg, place, bytes) in written {
            let (job, slot) = (id, 0);
            let start = self.on_leg(place).start();
            let request = Request::write(0, start, Durability::Volatile, bytes);
            self.ask(Question { job, leg, slot }, request, steps);
        }
    }

    /// What legs of a row should hold.
    fn mended_row(
        &mut self,
        geometry: &Geometry,
        mend: &mut Mend,
        targets: LegSet,
    ) -> Vec<(usize, Range, Buffer)> {
        let row = geometry.row(mend.lock.start() / geometry.chunk());
        let (data, parity) = roles(row);
        let read = legs_of(&mend.old);
        rows::complete(&self.pool, row, &mut mend.old, data);
        let mut made = Known::new();
        if targets & parity != 0 {
            let all = |leg: usize| -> &[u8] {
                let known = mend.old.iter().find(|(other, _)| *other == leg);
                known.expect("all data are known").1.as_ref()
            };
            let len = mend.lock.len() as usize;
            made = rows::sums(&self.pool, row, all, (targets, len));
        }
        let is_wanted = |(leg, _): &(usize, Buffer)| targets & data & !read & only(*leg) != 0;
        made.extend(mend.old.drain(..).filter(is_wanted));
        let placed = made.into_iter();
        placed.map(|(leg, bytes)| (leg, mend.lock, bytes)).collect()
    }

    /// A piece has ended.
    pub(super) fn mend_finished(&mut self, id: usize, steps: &mut Steps) {
        let Job::Mend(mut mend) = self.jobs.remove(id) else {
            unreachable!("it mends");
        };
        self.piece_over();
        let gather = std::mem::take(&mut mend.gather);
        let is_refused = gather.bad != 0;
        mend.is_bad |= is_refused;
        if self.judge(gather).is_some() {
            // What was being written of parity may be anything now.
            self.doubt(mend.lock);
        }
        self.turns.extend(self.locks.release(id, mend.lock));
        match mend.why {
            Why::Region(region) => self.piece_mended(region, mend.is_bad),
            Why::Unreadable if mend.is_bad => self.mending.pause(self.now),
            Why::Unreadable => {}
            Why::Ordered(order) => {
                let is_divided = mend.is_bad && !is_refused && self.repair_in_pieces(order, &mend);
                let is_bad = mend.is_bad && !is_divided;
                if self.mending.orders.piece_ended(order, is_bad) {
                    self.begin_fence(Then::Repaired(order), steps);
                }
            }
        }
    }
}
