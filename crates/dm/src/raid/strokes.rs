//! Strokes: what is written of one row, or of the copies of one run of bytes, at a time.
//!
//! ```text
//!   lock ─▸ regions marked ─▸ row: pieces ─▸ what each needs is read ─▸ entered ─▸ data, parity
//!                          ╲─▸ copies ─▸ all are written                              │
//!                                                                                     │
//!      parts are answered ◂── legs that did not do it are recorded as away ◂── all answered
//! ```
//!
//! A piece is a run of bytes of each leg in which the same legs get new data, so that one plan is
//! right for all of it (`update.rs`). What a leg cannot read is made up from the others. Data and
//! parity of a row are written at once: power may be cut between them, which the regions' marks
//! remember, and what is written is durable in the journal before (`journal/`).

use std::collections::BTreeSet;

use block::{Buffer, BufferPool, Completion, Durability, Error, Kind, Range, Request};

use super::array::{Array, Steps};
use super::geometry::{Geometry, Scheme};
use super::jobs::{Gather, Job, Question};
use super::rotation::Row;
use super::rows::{self, Known, legs_of};
use super::update::{Fit, Method, Plan, Situation, add, members, only, plan, roles};
use super::view::LegSet;
use super::writes::{Content, Part};

/// Parts that are written together at most.
const PARTS_MAX: usize = 256;

/// See the module.
#[derive(Debug)]
pub(super) struct Stroke {
    /// The bytes that are kept in sync that nobody else touches.
    pub(super) lock: Range,
    pub(super) parts: Vec<Part>,
    pub(super) phase: Phase,
    pieces: Vec<Piece>,
    /// Pieces that are being read.
    reading: usize,
    gather: Gather,
    error: Option<Error>,
    /// Whether it is written without the journal, which was not on.
    is_past: bool,
    /// Whether the journal has it.
    is_entered: bool,
}

/// How far a stroke is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Locking,
    Marking,
    /// Legs are asked.
    Issued,
    /// All is known, and waits for the journal.
    Entering,
    /// All is known, and that a leg is away is being recorded.
    Telling,
    /// All is written, and a leg that did not do it is being recorded as away.
    Ending,
}

/// A run of bytes of each leg, with one plan.
#[derive(Debug)]
struct Piece {
    span: Range,
    row: Row,
    /// What legs get.
    new: Known,
    plan: Option<Plan>,
    /// Legs that could not be read.
    without: LegSet,
    /// What was read.
    old: Known,
    out: usize,
    failed: bool,
    /// What legs are going to be written, in order.
    ready: Known,
}

/// What the journal is told of a piece.
#[derive(Debug)]
pub(super) struct Entered<'p> {
    /// The bytes of each leg.
    pub(super) run: Range,
    /// The legs that get some.
    pub(super) legs: LegSet,
    /// The legs in whose journals it belongs.
    pub(super) journals: LegSet,
    ready: &'p Known,
}

impl<'p> Entered<'p> {
    /// What legs get, in order.
    pub(super) fn bytes(&self) -> impl Iterator<Item = (usize, &'p [u8])> {
        self.ready.iter().map(|(leg, bytes)| (*leg, bytes.as_ref()))
    }
}

/// Where a part lies in a row.
#[derive(Debug, Clone, Copy)]
struct Column {
    leg: usize,
    /// Bytes of a chunk.
    from: u64,
    to: u64,
    part: usize,
    /// Where the bytes are in the part.
    at: u64,
}

impl Stroke {
    pub(super) fn new(lock: Range, part: Part) -> Self {
        Self {
            lock,
            parts: vec![part],
            phase: Phase::Locking,
            pieces: Vec::new(),
            reading: 0,
            gather: Gather::default(),
            error: None,
            is_entered: false,
            is_past: false,
        }
    }

    fn is_ready(&self) -> bool {
        self.reading == 0 && self.pieces.iter().any(|piece| !piece.ready.is_empty())
    }

    /// Whether bytes may be written with those that are here.
    pub(super) fn has_room_for(&self, range: Range) -> bool {
        assert!(self.phase != Phase::Ending, "who gathers has not ended");
        let mut parts = self.parts.iter();
        self.parts.len() < PARTS_MAX && parts.all(|part| part.range.intersection(range).is_none())
    }

    /// Whether bytes follow those that are here, or the other way round: then the data chunks of
    /// each piece follow one another.
    pub(super) fn adjoins(&self, range: Range) -> bool {
        let parts = self.parts.iter().map(|part| part.range);
        let start = parts.clone().map(Range::start).min();
        let end = parts.map(Range::end).max();
        Some(range.end()) == start || Some(range.start()) == end
    }

    fn durability(&self) -> Durability {
        let mut parts = self.parts.iter();
        if parts.any(|part| part.durability == Durability::Fua) {
            Durability::Fua
        } else {
            Durability::Volatile
        }
    }
}

impl Part {
    /// A run of its bytes.
    fn bytes(&self, at: u64, len: u64) -> Buffer {
        match &self.bytes {
            Content::Bytes(bytes) => {
                let mut share = bytes.share();
                let mut run = share.split_off(at as usize);
                run.truncate(len as usize);
                run
            }
            Content::Zeros(_) => Buffer::zeroed(len as usize),
        }
    }
}

impl Array {
    /// Begins what a stroke writes.
    pub(super) fn issue(&mut self, id: usize, steps: &mut Steps) {
        let mut stroke = self.take_stroke(id);
        stroke.phase = Phase::Issued;
        self.gathers_no_more(id, stroke.lock);
        let geometry = self.row_of(stroke.lock.start()).geometry;
        match geometry.scheme() {
            Scheme::Parity(..) => {
                stroke.pieces = pieces(&geometry, &stroke, &self.pool);
                for slot in 0..stroke.pieces.len() {
                    self.begin_piece(id, &mut stroke, slot, steps);
                }
            }
            Scheme::Mirror | Scheme::Copies(_) => {
                self.write_copies(id, &geometry, &mut stroke, steps);
            }
        }
        self.stroke_goes_on(id, stroke, steps);
    }

    /// Parts that come from now on are of another stroke.
    pub(super) fn gathers_no_more(&mut self, id: usize, lock: Range) {
        if self.gathering.get(&lock.start()) == Some(&id) {
            self.gathering.remove(&lock.start());
        }
    }

    /// Keeps a stroke, and does what is next: what is ready is entered, and then written. Where a
    /// leg is away, that is on record before either: entries have nothing for it, and it must not
    /// count again when they are written once more, or when the parity is on it.
    fn stroke_goes_on(&mut self, id: usize, mut stroke: Stroke, steps: &mut Steps) {
        let is_journaled = self.is_journaled();
        let record = self.record.as_mut().expect("it is written");
        if stroke.is_ready() && is_journaled && record.is_loss_unsaid() {
            stroke.phase = Phase::Telling;
            record.wait(id);
            return self.put(id, Job::Write(stroke));
        }
        if stroke.is_ready() && is_journaled && !stroke.is_entered && !stroke.is_past {
            let journal = self.journal.as_mut().expect("it has one");
            // Without an entry, too: a leg does not join in the middle of it.
            stroke.phase = Phase::Entering;
            journal.wait(id);
            return self.put(id, Job::Write(stroke));
        }
        if stroke.is_ready() {
            let passes = !stroke.is_entered && !stroke.is_past;
            if let (true, Some(journal)) = (passes, &mut self.journal) {
                stroke.is_past = true;
                journal.pass();
            }
            self.write_ready(id, &mut stroke, steps);
        }
        if stroke.reading == 0 && stroke.gather.out == 0 {
            self.finished.push_back(id);
        }
        self.put(id, Job::Write(stroke));
    }

    /// What the journal is told of a stroke. Where nobody has parity nothing can be made up from
    /// it.
    pub(super) fn entered_by<'s>(&self, stroke: &'s Stroke) -> Vec<Entered<'s>> {
        if self.journal.is_none() {
            return Vec::new();
        }
        let view = self.view.as_ref().expect("it has started");
        let recorded = self.recorded();
        let ready = stroke.pieces.iter().filter(|piece| !piece.ready.is_empty());
        let entered = ready.filter_map(|piece| {
            let legs = legs_of(&piece.ready);
            let journals = legs & roles(piece.row).1 & recorded;
            (journals != 0 && view.is_computed(piece.span)).then_some(Entered {
                run: piece.span,
                legs,
                journals,
                ready: &piece.ready,
            })
        });
        entered.collect()
    }

    /// Entries of a stroke are durable, or cannot be.
    pub(super) fn stroke_entered(&mut self, id: usize, error: Option<&Error>, steps: &mut Steps) {
        let mut stroke = self.take_stroke(id);
        assert_eq!(stroke.phase, Phase::Entering);
        stroke.is_entered = true;
        self.stroke_may_write(id, stroke, error, steps);
    }

    fn stroke_may_write(
        &mut self,
        id: usize,
        mut stroke: Stroke,
        error: Option<&Error>,
        steps: &mut Steps,
    ) {
        stroke.phase = Phase::Issued;
        if let Some(error) = error {
            stroke.error.get_or_insert_with(|| error.clone());
            stroke
                .pieces
                .iter_mut()
                .for_each(|piece| piece.ready.clear());
        }
        self.stroke_goes_on(id, stroke, steps);
    }

    /// The journal cannot take a stroke: nothing is written.
    pub(super) fn stroke_refused(&mut self, id: usize, error: &Error, steps: &mut Steps) {
        let stroke = self.take_stroke(id);
        assert_eq!(stroke.phase, Phase::Entering);
        self.stroke_may_write(id, stroke, Some(error), steps);
    }

    /// Writes what is ready, to the legs that are there still.
    fn write_ready(&mut self, id: usize, stroke: &mut Stroke, steps: &mut Steps) {
        let durability = stroke.durability();
        let writable = self.writable();
        for slot in 0..stroke.pieces.len() {
            let piece = &mut stroke.pieces[slot];
            let place = self.on_leg(piece.span);
            for (leg, buffer) in std::mem::take(&mut piece.ready) {
                if writable & only(leg) == 0 {
                    continue;
                }
                let question = Question { job: id, leg, slot };
                stroke.gather.out += 1;
                let request = Request::write(0, place.start(), durability, buffer);
                self.ask(question, request, steps);
            }
        }
    }

    fn write_copies(
        &mut self,
        id: usize,
        geometry: &Geometry,
        stroke: &mut Stroke,
        steps: &mut Steps,
    ) {
        assert_eq!(stroke.parts.len(), 1, "copies do not gather");
        let (part, durability) = (&stroke.parts[0], stroke.durability());
        let range = part.range;
        let writable = self.writable();
        let mut out = 0;
        for copy in 0..geometry.copies() {
            let spot = geometry.spot(range.start(), copy);
            if writable & only(spot.leg) == 0 {
                continue;
            }
            let place = self.on_leg(Range::new(spot.start, range.len()));
            let request = match &part.bytes {
                Content::Bytes(bytes) => {
                    Request::write(0, place.start(), durability, bytes.share())
                }
                Content::Zeros(operation) => Request {
                    durability,
                    ..Request::bare(0, *operation, place)
                },
            };
            let question = Question {
                job: id,
                leg: spot.leg,
                slot: 0,
            };
            out += 1;
            self.ask(question, request, steps);
        }
        stroke.gather.out = out;
        if out == 0 {
            let what = format!("{}: no leg that holds it is left", self.config.name);
            stroke.error = Some(Error::new(Kind::Io, what));
        }
    }

    /// Plans a piece; reads what it needs.
    fn begin_piece(&mut self, id: usize, stroke: &mut Stroke, slot: usize, steps: &mut Steps) {
        let view = self.view.as_ref().expect("it has started");
        let piece = &mut stroke.pieces[slot];
        let span = piece.span;
        let fit = match (view.is_computed(span), view.is_in_sync(span)) {
            (false, _) => Fit::Never,
            (true, false) => Fit::Unsure,
            (true, true) => Fit::Kept,
        };
        let now = Situation {
            covered: legs_of(&piece.new),
            invalid: view.invalid_in(piece.row, span, piece.without),
            writable: self.writable(),
            fit,
        };
        let geometry = self.row_of(span.start()).geometry;
        let plan = match plan(&geometry, piece.row, now) {
            Ok(plan) => plan,
            Err(why) => {
                let what = format!("{}: {why}{}", self.config.name, self.absent());
                stroke.error.get_or_insert(Error::new(Kind::Io, what));
                return;
            }
        };
        piece.plan = Some(plan);
        let leaves_parity = roles(piece.row).1 & now.writable & !plan.writes != 0;
        // Nor may what no entry tells of be under way when a region is said to be in sync.
        let is_unentered = fit == Fit::Never && self.is_journaled();
        if leaves_parity || is_unentered {
            for region in self.regions.of(stroke.lock) {
                self.mending.spoil(region);
            }
        }
        piece.out = plan.reads.count_ones() as usize;
        if plan.reads == 0 {
            return self.finish_piece(&mut stroke.pieces[slot]);
        }
        stroke.reading += 1;
        let place = self.on_leg(span);
        for leg in members(plan.reads) {
            let question = Question { job: id, leg, slot };
            let buffer = self.pool.get(place.len() as usize);
            self.ask(question, Request::read(0, place.start(), buffer), steps);
        }
    }

    /// A leg answered a stroke.
    pub(super) fn stroke_answered(
        &mut self,
        question: Question,
        answer: Completion,
        steps: &mut Steps,
    ) {
        let Question { job: id, leg, slot } = question;
        let mut stroke = self.take_stroke(id);
        if answer.result.is_err() {
            self.errors[leg] += 1;
        }
        let is_read = stroke.pieces.get(slot).is_some_and(|piece| piece.out > 0);
        if !is_read {
            stroke.gather.note(leg, answer.result);
            return self.stroke_goes_on(id, stroke, steps);
        }
        let piece = &mut stroke.pieces[slot];
        piece.out -= 1;
        if answer.result.is_err() {
            piece.without |= only(leg);
            piece.failed = true;
        } else {
            piece.old.push((leg, answer.buffer));
        }
        if piece.out == 0 {
            stroke.reading -= 1;
            if std::mem::take(&mut piece.failed) {
                piece.old.clear();
                self.begin_piece(id, &mut stroke, slot, steps);
            } else {
                self.finish_piece(&mut stroke.pieces[slot]);
            }
        }
        self.stroke_goes_on(id, stroke, steps);
    }

    /// All that a piece needs is read.
    fn finish_piece(&mut self, piece: &mut Piece) {
        let plan = piece.plan.expect("it was planned");
        // A leg may have failed meanwhile.
        let writes = plan.writes & self.writable();
        let (_, parity) = roles(piece.row);
        let sums = self.sums(piece, plan, writes & parity);
        let new = std::mem::take(&mut piece.new);
        let data = new.into_iter().filter(|(leg, _)| writes & only(*leg) != 0);
        piece.ready = data.chain(sums).collect();
        piece.ready.sort_unstable_by_key(|(leg, _)| *leg);
        piece.old.clear();
    }

    /// The new parity of a piece, for these legs.
    fn sums(&mut self, piece: &mut Piece, plan: Plan, legs: LegSet) -> Known {
        let (row, len) = (piece.row, piece.span.len() as usize);
        match plan.method {
            Method::Plain => Vec::new(),
            Method::Change => {
                let mut sums = Vec::new();
                for leg in members(legs) {
                    let place = piece.old.iter().position(|(other, _)| *other == leg);
                    let place = place.expect("parity was read");
                    let (_, mut bytes) = piece.old.swap_remove(place);
                    for (data, new) in &piece.new {
                        let old = piece.old.iter().find(|(other, _)| other == data);
                        let (_, old) = old.expect("data were read");
                        add(row, *data, old, leg, &mut bytes);
                        add(row, *data, new, leg, &mut bytes);
                    }
                    sums.push((leg, bytes));
                }
                sums
            }
            Method::Sum | Method::Rebuild => {
                let data = roles(row).0;
                rows::complete(&self.pool, row, &mut piece.old, data & !legs_of(&piece.new));
                let data = |leg: usize| -> &[u8] {
                    let mut known = piece.new.iter().chain(&piece.old);
                    let known = known.find(|(other, _)| *other == leg);
                    known.expect("all data are known").1.as_ref()
                };
                rows::sums(&self.pool, row, data, (legs, len))
            }
        }
    }

    /// All legs have answered a stroke: others may touch its bytes, and what did not do it is away.
    pub(super) fn stroke_finished(&mut self, id: usize, steps: &mut Steps) {
        let mut stroke = self.take_stroke(id);
        assert_eq!(stroke.phase, Phase::Issued);
        let gather = std::mem::take(&mut stroke.gather);
        let wrote = gather.good | gather.bad != 0;
        let unread = self
            .is_unread(&stroke, gather.bad)
            .then(|| gather.error.clone());
        if let Some(error) = self.judge(gather).or(unread.flatten()) {
            stroke.error.get_or_insert(error);
        }
        if stroke.error.is_some() && wrote {
            self.doubt(stroke.lock);
        }
        if stroke.is_entered {
            let journal = self.journal.as_mut().expect("it was entered somewhere");
            journal.ended(stroke.error.is_some());
        }
        if std::mem::take(&mut stroke.is_past) {
            let journal = self.journal.as_mut().expect("it went past one");
            journal.passed();
        }
        for region in self.regions.of(stroke.lock) {
            self.regions.release(region, self.now);
        }
        self.turns.extend(self.locks.release(id, stroke.lock));
        stroke.phase = Phase::Ending;
        let record = self.record.as_mut().expect("it is written");
        if record.is_loss_unsaid() && stroke.error.is_none() {
            record.wait(id);
            return self.put(id, Job::Write(stroke));
        }
        self.put(id, Job::Write(stroke));
        self.end_stroke(id, steps);
    }

    /// Whether what these legs did not do could not be read: where parity was never in sync,
    /// nothing makes up for data.
    fn is_unread(&self, stroke: &Stroke, bad: LegSet) -> bool {
        let view = self.view.as_ref().expect("it has started");
        let geometry = self.row_of(stroke.lock.start()).geometry;
        let is_parity = matches!(geometry.scheme(), Scheme::Parity(..));
        if !is_parity || bad == 0 || view.is_computed(stroke.lock) {
            return false;
        }
        let (data, _) = roles(geometry.row(stroke.lock.start() / geometry.chunk()));
        bad & data != 0
    }

    /// What a stroke waited for is recorded, or cannot be.
    pub(super) fn stroke_recorded(&mut self, id: usize, error: Option<Error>, steps: &mut Steps) {
        let mut stroke = self.take_stroke(id);
        if stroke.phase == Phase::Telling {
            return self.stroke_may_write(id, stroke, error.as_ref(), steps);
        }
        let is_marked = stroke.phase == Phase::Marking;
        if let Some(error) = error {
            stroke.error.get_or_insert(error);
        }
        let is_refused = stroke.error.is_some();
        if is_marked && is_refused {
            // Nothing is written.
            stroke.phase = Phase::Issued;
            self.gathers_no_more(id, stroke.lock);
            self.finished.push_back(id);
        }
        self.put(id, Job::Write(stroke));
        match (is_marked, is_refused) {
            (true, true) => {}
            (true, false) => self.issue(id, steps),
            (false, _) => self.end_stroke(id, steps),
        }
    }

    fn end_stroke(&mut self, id: usize, steps: &mut Steps) {
        let Job::Write(stroke) = self.jobs.remove(id) else {
            unreachable!("it is a write");
        };
        for part in stroke.parts {
            self.part_written(part, stroke.error.as_ref(), steps);
        }
    }
}

/// Cuts a row where other legs get new data. What parts that follow one another write to a leg
/// becomes one run.
fn pieces(geometry: &Geometry, stroke: &Stroke, pool: &BufferPool) -> Vec<Piece> {
    let row = geometry.row(stroke.lock.start() / geometry.chunk());
    let columns = columns(geometry, stroke);
    let ends = columns.iter().flat_map(|column| [column.from, column.to]);
    let ends: Vec<u64> = ends.collect::<BTreeSet<_>>().into_iter().collect();
    let mut runs: Vec<(LegSet, u64, u64)> = Vec::new();
    for end in ends.windows(2) {
        let (from, to) = (end[0], end[1]);
        let here = columns.iter();
        let here = here.filter(|column| column.from <= from && to <= column.to);
        let legs = here.fold(0, |legs, column| legs | only(column.leg));
        match runs.last_mut() {
            Some((before, _, until)) if *before == legs && *until == from => *until = to,
            _ if legs != 0 => runs.push((legs, from, to)),
            _ => {}
        }
    }
    let bytes = |leg: usize, from: u64, to: u64| {
        let here = columns
            .iter()
            .filter(|column| column.leg == leg && column.from < to && from < column.to);
        let mut here = here.map(|column| {
            let (from, to) = (column.from.max(from), column.to.min(to));
            let at = column.at + (from - column.from);
            (from, stroke.parts[column.part].bytes(at, to - from))
        });
        let (_, first) = here.next().expect("something is written");
        let len = (to - from) as usize;
        if first.len() == len {
            return first;
        }
        let mut all = pool.get(len);
        for (start, run) in here.chain([(from, first)]) {
            let at = (start - from) as usize;
            all[at..at + run.len()].copy_from_slice(&run);
        }
        all
    };
    let piece = |(legs, from, to)| Piece {
        span: Range::new(stroke.lock.start() + from, to - from),
        row,
        new: members(legs)
            .map(|leg| (leg, bytes(leg, from, to)))
            .collect(),
        plan: None,
        without: 0,
        old: Vec::new(),
        out: 0,
        failed: false,
        ready: Vec::new(),
    };
    runs.into_iter().map(piece).collect()
}

/// Where the parts of a stroke lie in their row, in the order of their bytes.
fn columns(geometry: &Geometry, stroke: &Stroke) -> Vec<Column> {
    let chunk = geometry.chunk();
    let mut columns = Vec::new();
    for (part, one) in stroke.parts.iter().enumerate() {
        let mut at = 0;
        while at < one.range.len() {
            let start = one.range.start() + at;
            let spot = geometry.spot(start, 0);
            let len = (chunk - start % chunk).min(one.range.len() - at);
            let from = spot.start - stroke.lock.start();
            columns.push(Column {
                leg: spot.leg,
                from,
                to: from + len,
                part,
                at,
            });
            at += len;
        }
    }
    columns.sort_unstable_by_key(|column| column.from);
    columns
}

#[cfg(any(test, feature = "explore"))]
impl Array {
    /// Forgets strokes that went past the journal: a mistake.
    pub(super) fn forget_past(&mut self) {
        let Some(journal) = &mut self.journal else {
            return;
        };
        for job in self.jobs.iter_mut() {
            if let Job::Write(stroke) = job
                && stroke.gather.out > 0
                && std::mem::take(&mut stroke.is_past)
            {
                journal.passed();
            }
        }
    }
}

#[cfg(test)]
mod tests;
