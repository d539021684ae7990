//! Brings in sync what is not: copies and parity of regions that are in doubt, and what legs lack.
//!
//! A region at a time, in order; of it a few rows, or pieces of copies, at once (`mend.rs`):
//!
//! ```text
//!   in doubt, or a leg lacks it ─▸ open ─▸ all of it mended ─▸ in sync ─▸ … ─▸ flushed ─▸ recorded
//!                                     ╲─▸ a leg was lost, or joined ─▸ once more
//! ```
//!
//! A region is in sync when all of it was mended and no leg was lost meanwhile. What was done is
//! durable only behind a round of flushes (`fence.rs`), so nothing is recorded before one. What is
//! left to do is what the bitmap and the superblocks say: a cut costs doing it again and nothing
//! else. While others ask, one piece is mended at a time, and then nothing for three times as long
//! as that took: they keep most of the disks, and what is mended gets on all the same.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use block::Range;

use super::Notice;
use super::array::{Array, Steps};
use super::assembly::LegState;
use super::doubt::Doubt;
use super::fence::Then;
use super::geometry::Scheme;
use super::mend::Why;
use super::repair::Orders;
use super::update::{members, only};
use super::view::LegSet;
use crate::machine::Step;

/// The timer of this module.
pub(super) const MEND_TIMER: u64 = 2;
/// Bytes of each leg that are under way at once, and pieces.
const BYTES_MAX: u64 = 4 << 20;
const PIECES_MAX: u64 = 64;
/// How long nothing is mended after something could not be.
const PAUSE: Duration = Duration::from_secs(10);
/// While others ask, nothing is mended for so many times as long as the last piece took.
const WAY: u32 = 3;
/// For how long after a request others are taken to ask more.
const OTHERS: Duration = Duration::from_millis(50);
/// After so many regions it is written down how far all is.
const REGIONS_UNTOLD: u64 = 64;
/// Legs that could not be read and wait for being written, at most.
const FIXES_MAX: usize = 64;

/// What is being mended.
#[derive(Debug, Default)]
pub(super) struct Mending {
    /// The regions that have begun.
    open: BTreeMap<u64, Open>,
    in_flight: u64,
    /// When the first of what is under way began.
    begun: Duration,
    /// Where the search goes on.
    cursor: u64,
    /// Nothing is mended before.
    free_at: Duration,
    timer: bool,
    /// Counts what makes half a region worth nothing: a leg that is lost, or joins.
    generation: u64,
    /// Legs that could not be read, and where.
    fixes: VecDeque<(usize, Range)>,
    /// What was ordered to be repaired.
    pub(super) orders: Orders,
    /// When others asked last.
    pub(super) asked: Option<Duration>,
    /// It was told that something could not be mended, and nothing was since.
    is_stuck_told: bool,
    /// Regions that were mended since that was written down.
    untold: u64,
}

/// A region that has begun.
#[derive(Debug)]
struct Open {
    /// From where on nothing has begun.
    next: u64,
    end: u64,
    out: u64,
    generation: u64,
    is_bad: bool,
    /// A row of it was written without its parity.
    is_spoilt: bool,
}

impl Mending {
    /// What was half done is done again.
    pub(super) fn restart(&mut self) {
        self.generation += 1;
    }

    /// A row of a region was written without its parity, which may have been mended already.
    pub(super) fn spoil(&mut self, region: u64) {
        if let Some(open) = self.open.get_mut(&region) {
            open.is_spoilt = true;
        }
    }

    /// It is another array from now on: all is looked for anew.
    pub(super) fn forget(&mut self) {
        assert!(
            self.is_idle() && self.open.values().all(|open| open.out == 0),
            "it is suspended"
        );
        let (generation, timer) = (self.generation + 1, self.timer);
        let mut orders = std::mem::take(&mut self.orders);
        orders.forget();
        *self = Self {
            timer,
            generation,
            orders,
            ..Self::default()
        };
    }

    /// Whether nothing is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.in_flight == 0
    }

    /// A leg could not be read here.
    pub(super) fn fix(&mut self, leg: usize, sync: Range) {
        if self.fixes.len() < FIXES_MAX && !self.fixes.contains(&(leg, sync)) {
            self.fixes.push_back((leg, sync));
        }
    }

    /// A piece begins.
    pub(super) fn begin(&mut self, now: Duration) {
        if self.in_flight == 0 {
            self.begun = now;
        }
        self.in_flight += 1;
    }

    /// A piece has ended.
    pub(super) fn end(&mut self) {
        self.in_flight = self.in_flight.checked_sub(1).expect("it began");
    }

    /// Others ask: they have the disks for a while.
    fn make_way(&mut self, now: Duration) {
        if self.in_flight == 0 {
            let took = now.saturating_sub(self.begun).min(PAUSE / WAY);
            self.free_at = self.free_at.max(now + WAY * took);
        }
    }

    /// Something could not be mended: nothing is for a while.
    pub(super) fn pause(&mut self, now: Duration) {
        self.free_at = now.saturating_add(PAUSE);
    }

    /// What could not be read is elsewhere now.
    pub(super) fn forget_fixes(&mut self) {
        self.fixes.clear();
    }

    /// A timer has come.
    pub(super) fn woken(&mut self) {
        self.timer = false;
    }
}

impl Array {
    /// Begins to mend as much as may be.
    pub(super) fn pump_mend(&mut self, steps: &mut Steps) {
        // What is moved is in sync then, and nothing of it where it was.
        if self.record.is_none() || self.window.is_some() {
            return;
        }
        if self.mending.free_at > self.now {
            return self.arm_mend_timer(self.mending.free_at, steps);
        }
        let most = self.pieces_max();
        while self.mending.in_flight < most {
            let Some((why, lock, force)) = self.next_piece() else {
                break;
            };
            self.record.as_mut().expect("it is written").claim();
            self.begin_mend(why, (lock, force), steps);
        }
        self.look_whether_mended(steps);
        self.pump_reshape(steps);
    }

    /// Whether all is in sync that can be, and nothing is being mended.
    pub(super) fn has_mended(&self) -> bool {
        let Mending { open, fixes, .. } = &self.mending;
        let is_idle = self.mending.is_idle() && self.mending.orders.is_empty();
        is_idle && open.is_empty() && fixes.is_empty() && self.next_region().is_none()
    }

    fn arm_mend_timer(&mut self, at: Duration, steps: &mut Steps) {
        if !self.mending.timer {
            self.mending.timer = true;
            let key = MEND_TIMER;
            steps.push(Step::Timer { at, key });
        }
    }

    /// Whether others ask, or did just now.
    fn others_ask(&self) -> bool {
        let asked = self.mending.asked;
        let is_asked = !self.writings.is_empty() || !self.readings.is_empty();
        is_asked || asked.is_some_and(|asked| self.now < asked + OTHERS)
    }

    fn pieces_max(&self) -> u64 {
        if self.others_ask() {
            return 1;
        }
        (BYTES_MAX / self.locks.bucket()).clamp(1, PIECES_MAX)
    }

    /// A piece is over.
    pub(super) fn piece_over(&mut self) {
        self.mending.end();
        if self.others_ask() {
            self.mending.make_way(self.now);
        }
    }

    /// What is mended next: why, which bytes, and which legs whatever is known of them.
    fn next_piece(&mut self) -> Option<(Why, Range, LegSet)> {
        while let Some((leg, sync)) = self.mending.fixes.pop_front() {
            if self.writable() & only(leg) != 0 {
                return Some((Why::Unreadable, sync, only(leg)));
            }
        }
        if let Some((order, piece)) = self.mending.orders.next() {
            return Some((Why::Ordered(order), piece, 0));
        }
        let begun = self.mending.open.iter();
        let mut begun = begun.filter(|(_, open)| open.next < open.end && !open.is_bad);
        let region = match begun.next() {
            Some((region, _)) => *region,
            None => self.begin_region()?,
        };
        let open = self.mending.open.get_mut(&region).expect("it has begun");
        if open.next >= open.end {
            // Nothing of it is in use.
            open.out += 1;
            self.piece_mended(region, false);
            return self.next_piece();
        }
        let start = open.next;
        let Some(bucket) = self.piece_at(start) else {
            // Nobody has it.
            let behind = self.behind_gap(start);
            let open = self.mending.open.get_mut(&region).expect("it has begun");
            open.next = behind.min(open.end);
            if open.next == open.end && open.out == 0 {
                open.out += 1;
                self.piece_mended(region, false);
            }
            return self.next_piece();
        };
        let open = self.mending.open.get_mut(&region).expect("it has begun");
        let end = ((start / bucket + 1) * bucket).min(open.end);
        open.next = end;
        open.out += 1;
        Some((Why::Region(region), Range::new(start, end - start), 0))
    }

    /// The next region that is not in sync begins.
    fn begin_region(&mut self) -> Option<u64> {
        let region = self.next_region()?;
        let size = self.regions.marked().region();
        let open = Open {
            next: region * size,
            end: ((region + 1) * size).min(self.sync_limit()),
            out: 0,
            generation: self.mending.generation,
            is_bad: false,
            is_spoilt: false,
        };
        self.mending.cursor = region + 1;
        let before = self.mending.open.insert(region, open);
        assert!(before.is_none(), "a region begins once");
        Some(region)
    }

    /// Bytes that are kept in sync and can be: rows are whole.
    pub(super) fn sync_limit(&self) -> u64 {
        let geometry = self.config.geometry();
        match geometry.scheme() {
            Scheme::Parity(..) => geometry.leg_size() / geometry.chunk() * geometry.chunk(),
            Scheme::Mirror | Scheme::Copies(_) => geometry.sync_size(),
        }
    }

    /// Bytes of a row, or of a piece of copies, that are locked together; `None`: nobody has what
    /// is there.
    fn piece_at(&self, sync: u64) -> Option<u64> {
        let view = self.view.as_ref().expect("it has started");
        let side = view.side(sync)?;
        Some(match side.geometry.scheme() {
            Scheme::Parity(..) => side.geometry.chunk(),
            Scheme::Mirror | Scheme::Copies(_) => self.locks.bucket(),
        })
    }

    /// The same of what somebody has.
    pub(super) fn piece_len(&self, sync: u64) -> u64 {
        self.piece_at(sync).expect("somebody has it")
    }

    /// Where somebody has something again.
    fn behind_gap(&self, sync: u64) -> u64 {
        let reshape = self.reshape().expect("else all is somebody's");
        let behind = reshape.new_edge().max(reshape.old_edge());
        assert!(behind > sync, "it is in front of that");
        behind
    }

    /// Whether what may not go together can be made to. Without all data no parity can be computed,
    /// and one copy is like itself.
    pub(super) fn mends_doubt(&self) -> bool {
        let is_parity = matches!(self.config.geometry().scheme(), Scheme::Parity(..));
        let writable = self.writable();
        (!is_parity || self.all() & !writable == 0) && writable.count_ones() > 1
    }

    /// A region that is not in sync and can be, and has not begun.
    fn next_region(&self) -> Option<u64> {
        let view = self.view.as_ref().expect("it has started");
        if !view.is_doubtful() {
            return None;
        }
        let assembly = view.assembly();
        let all = self.all();
        let absent = all & !self.writable();
        let filled = self.writable() & !self.whole_legs();
        let fills = self.survives(absent | filled);
        let mut doubts = Vec::new();
        if self.mends_doubt() {
            doubts.extend([&assembly.dirty, view.raw()]);
        }
        if fills {
            let written = members(self.writable());
            doubts.extend(written.map(|leg| &assembly.missed[leg]));
        }
        let from = |start: u64| {
            let next = |doubt: &&Doubt| {
                let mut region = doubt.next(start)?;
                while self.mending.open.contains_key(&region) {
                    region = doubt.next(region + 1)?;
                }
                Some(region)
            };
            doubts.iter().filter_map(next).min()
        };
        let count = self.regions.marked().regions();
        let cursor = if self.mending.cursor < count {
            self.mending.cursor
        } else {
            0
        };
        from(cursor).or_else(|| if cursor > 0 { from(0) } else { None })
    }

    pub(super) fn piece_mended(&mut self, region: u64, is_bad: bool) {
        let open = self.mending.open.get_mut(&region).expect("it has begun");
        open.out -= 1;
        open.is_bad |= is_bad;
        if open.out > 0 || (open.next < open.end && !open.is_bad) {
            return;
        }
        let open = self.mending.open.remove(&region).expect("it has begun");
        if open.is_bad {
            self.mending.pause(self.now);
            if !std::mem::replace(&mut self.mending.is_stuck_told, true) {
                self.notices.push(Notice::Stuck(region));
            }
            return;
        }
        if open.generation != self.mending.generation || open.is_spoilt {
            return;
        }
        self.mending.untold += 1;
        self.mending.is_stuck_told = false;
        let (all, is_parity) = (
            self.all(),
            matches!(self.config.geometry().scheme(), Scheme::Parity(..)),
        );
        let writable = self.writable();
        let now = self.now;
        let view = self.view_mut();
        if !is_parity || writable == all {
            view.raw_mut().remove(region);
            view.assembly_mut().dirty.remove(region);
        }
        for leg in members(writable) {
            view.assembly_mut().missed[leg].remove(region);
        }
        self.regions.touch(region, now);
        self.map_changed = true;
    }

    /// Where nothing is left to mend, that is written down, and filled legs join.
    fn look_whether_mended(&mut self, steps: &mut Steps) {
        let view = self.view.as_ref().expect("it has started");
        let assembly = view.assembly();
        let is_filled = |leg: &usize| {
            assembly.legs[*leg] == LegState::Filling && assembly.missed[*leg] == Doubt::Nowhere
        };
        let filled: Vec<usize> = (0..assembly.legs.len()).filter(is_filled).collect();
        let is_claimed = self.is_claimed();
        if !filled.is_empty() && !is_claimed {
            // It lacked nothing.
            return self.record.as_mut().expect("it is written").claim();
        }
        if !filled.is_empty() && !self.is_joining {
            self.is_joining = true;
            return match &mut self.journal {
                // What its journal says is old by then.
                Some(journal) => journal.join(filled),
                None => self.begin_fence(Then::Join(filled), steps),
            };
        }
        let is_due = self.mending.untold >= REGIONS_UNTOLD
            || self.durable.synced.is_some() && self.progress().synced.is_none();
        if is_claimed && is_due {
            self.note_progress(steps);
        }
    }

    /// Writes down how far all is, when that is durable.
    pub(super) fn note_progress(&mut self, steps: &mut Steps) {
        let progress = self.progress();
        if self.is_noting || progress == self.durable {
            return;
        }
        self.is_noting = true;
        self.mending.untold = 0;
        self.begin_fence(Then::Progress(progress), steps);
    }
}
