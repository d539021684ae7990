//! Where an origin and its snapshots may be asked without their home; see [`crate::map`].
//!
//! ```text
//!   read of the origin       there, unless something is merged into it
//!   write to the origin      there, where it is free: all snapshots have what is overwritten, and
//!                            nobody reads it from there for one of them
//!   read of a snapshot       the store, if that has it; else the origin, which holds it
//!   write to a snapshot      the store, if that has it
//! ```
//!
//! What a store has stays where it is, and what is free stays free, as long as the snapshots are
//! the same ones: both may be relied on without holding anything. The one thing that must not
//! happen is that a read of a snapshot finds nothing in the store, and meets in the origin what
//! overwrote its chunk. So it holds the chunk and then looks into the store, and the home makes
//! known that the store has it and then looks for holds:
//!
//! ```text
//!   reader   hold += 1 ── fence ── is it kept? is the snapshot valid?  no, yes ─▸ read the origin
//!   home     kept, or not valid ── fence ── is it held?               no ─▸ write, call it free
//! ```
//!
//! With both fences sequentially consistent, one of the two sees the other. A home that finds a
//! hold marks it as awaited: further reads of it go to the home, and the last one to end tells the
//! home. Holds are counted for blocks of 64 KiB, which share 1,024 counters: a home may wait for a
//! read of another block, never the other way round. The end of a read releases what it read to
//! the home that acquires its hold, so the write that follows is behind the read.
//!
//! Costs: what `kept.rs` says for each snapshot, 4 KiB of counters, and a bit for each of the
//! smallest chunks, in parts that are there once something in them was free: 32 MiB for a TiB of
//! chunks of 4 KiB that was written all over.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};

use block::{Operation, Range, Request};

use super::kept::{Kept, Whereabouts};
use super::member::Member;
use super::sparse::Sparse;
use super::state::Shape;
use crate::map::{Ended, Legs, Map, Route};

/// Counters of holds.
const COUNTERS: u64 = 1024;
/// Bytes that have the same counter.
const BLOCK: u64 = 64 << 10;
/// Reads that hold more blocks go to the home.
const BLOCKS_MAX: u64 = 17;
/// In a counter: the home waits for it.
const AWAITED: u32 = 1 << 31;
/// Units of the origin at most.
const UNITS_MAX: u64 = 1 << 28;
/// Words of bits that come at once: 4 KiB.
const PART: usize = 512;

/// What queues know of an origin and its snapshots.
#[derive(Debug)]
pub struct OriginMap {
    /// Whether requests come.
    is_open: AtomicBool,
    /// `None`: something is merged, and the home finds what is asked of the origin.
    origin: Option<Free>,
    /// The leg of the origin.
    leg: usize,
    /// By their places; those that have a face.
    snapshots: Box<[Option<Snapshot>]>,
    /// Reads of snapshots from the origin.
    counters: Box<[AtomicU32]>,
}

#[derive(Debug)]
struct Snapshot {
    /// The leg of the store.
    leg: usize,
    kept: Arc<Kept>,
}

/// Where the origin may be written.
#[derive(Debug)]
struct Free {
    /// Bytes for which there is a bit, a power of two. 0: no snapshot needs anything.
    unit: u64,
    bits: Sparse<AtomicU64, PART>,
}

/// What a request holds that goes to legs without the home.
#[derive(Debug)]
pub enum Hold {
    /// Nothing: it is one to the origin.
    Origin,
    /// Nothing: the store of the snapshot at this place has what it wants.
    Store(usize),
    /// The origin's bytes, which it reads for the snapshot at this place.
    Read(usize, Range),
}

impl Free {
    fn new(size: u64, members: &[Option<Member>]) -> Self {
        // One that is invalid counts as well: the origin may have to wait until its store says so.
        let apart = members
            .iter()
            .flatten()
            .filter(|member| !member.config.merging);
        let least = apart.map(|member| member.geometry.chunk).min();
        let unit = least.map_or(0, |least| {
            least.max(size.div_ceil(UNITS_MAX).next_power_of_two())
        });
        let units = if unit == 0 { 0 } else { size.div_ceil(unit) };
        Self {
            unit,
            bits: Sparse::new(units.div_ceil(64)),
        }
    }

    fn is_free(&self, range: Range) -> bool {
        if self.unit == 0 {
            return true;
        }
        let mut units = range.start() / self.unit..range.end().div_ceil(self.unit);
        units.all(|unit| {
            let word = self.bits.get(unit / 64);
            word.is_some_and(|word| word.load(Ordering::Acquire) >> (unit % 64) & 1 == 1)
        })
    }
}

impl OriginMap {
    /// Says nothing before it is opened.
    pub(super) fn new(shape: &Shape, members: &[Option<Member>]) -> Self {
        let merges = members.iter().flatten().any(|member| member.config.merging);
        let snapshot = |member: &Option<Member>| {
            let member = member.as_ref().filter(|member| !member.config.merging)?;
            Some(Snapshot {
                leg: member.config.store,
                kept: Arc::clone(&member.kept),
            })
        };
        Self {
            is_open: AtomicBool::new(false),
            origin: (!merges).then(|| Free::new(shape.size, members)),
            leg: shape.origin,
            snapshots: members.iter().map(snapshot).collect(),
            counters: (0..COUNTERS).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    /// Whether requests may go without the home.
    pub(super) fn open(&self, is_open: bool) {
        if self.is_open.load(Ordering::Relaxed) != is_open {
            self.is_open.store(is_open, Ordering::Release);
        }
    }

    /// What of `range`, and of the units that it touches, could be free.
    pub(super) fn units(&self, range: Range) -> Option<Range> {
        let unit = self.origin.as_ref()?.unit;
        (unit > 0).then(|| {
            let start = range.start() / unit * unit;
            Range::new(start, range.end().next_multiple_of(unit) - start)
        })
    }

    /// All units within `range` are free from now on: all snapshots have them, and nobody holds
    /// them. A unit that is not whole at the end of the origin is within what reaches over it.
    pub(super) fn set_free(&self, range: Range) {
        let Some(free) = self.origin.as_ref().filter(|free| free.unit > 0) else {
            return;
        };
        for unit in range.start().div_ceil(free.unit)..range.end() / free.unit {
            let word = free.bits.make(unit / 64);
            // Only the home writes.
            let bits = word.load(Ordering::Relaxed) | 1 << (unit % 64);
            word.store(bits, Ordering::Release);
        }
    }

    /// Whether somebody reads a part of `range` for a snapshot, or another part with the same
    /// counters. Those counters are awaited from now on, and noted in `awaited`.
    pub(super) fn await_reads(&self, range: Range, awaited: &mut Vec<usize>) -> bool {
        // What was made known of the snapshots is before this; see the module.
        fence(Ordering::SeqCst);
        let mut is_read = false;
        for counter in counters_of(range).take(COUNTERS as usize) {
            let word = &self.counters[counter];
            if word.load(Ordering::Acquire) & !AWAITED == 0 {
                continue;
            }
            if word.fetch_or(AWAITED, Ordering::AcqRel) & !AWAITED == 0 {
                // It ended just now.
                word.fetch_and(!AWAITED, Ordering::AcqRel);
                continue;
            }
            is_read = true;
            if !awaited.contains(&counter) {
                awaited.push(counter);
            }
        }
        is_read
    }

    /// Whether somebody reads a part of `range`, as above.
    pub(super) fn is_read(&self, range: Range) -> bool {
        fence(Ordering::SeqCst);
        let mut counters = counters_of(range).take(COUNTERS as usize);
        counters.any(|counter| self.counters[counter].load(Ordering::Acquire) & !AWAITED > 0)
    }

    /// Looks which of the awaited counters are free now, and forgets these.
    pub(super) fn settle(&self, awaited: &mut Vec<usize>) {
        awaited.retain(|counter| {
            let word = &self.counters[*counter];
            // Reads that find it awaited go elsewhere, so it only falls.
            let is_held = word.load(Ordering::Acquire) & !AWAITED > 0;
            if !is_held {
                word.fetch_and(!AWAITED, Ordering::AcqRel);
            }
            is_held
        });
    }

    /// Holds a range of the origin, unless the home waits for a part of it.
    fn hold(&self, range: Range) -> Result<(), Ended> {
        for (taken, counter) in counters_of(range).enumerate() {
            let add = |count: u32| (count & AWAITED == 0).then_some(count + 1);
            let word = &self.counters[counter];
            let held = word.fetch_update(Ordering::SeqCst, Ordering::Relaxed, add);
            if held.is_err() {
                let taken = counters_of(range).take(taken);
                return Err(self.release_all(taken));
            }
        }
        Ok(())
    }

    fn release_one(&self, counter: usize) -> Ended {
        let before = self.counters[counter].fetch_sub(1, Ordering::AcqRel);
        assert!(before & !AWAITED > 0, "what is held is released once");
        if before == AWAITED | 1 {
            Ended::Awaited
        } else {
            Ended::Quiet
        }
    }

    fn release_all(&self, counters: impl Iterator<Item = usize>) -> Ended {
        counters.fold(Ended::Quiet, |ended, counter| {
            ended.or(self.release_one(counter))
        })
    }

    fn route_origin(&self, request: &Request) -> Result<Route<Hold>, Ended> {
        let may = self
            .origin
            .as_ref()
            .is_some_and(|free| match request.operation {
                Operation::Read => true,
                Operation::Write => free.is_free(request.range),
                _ => false,
            });
        if !may {
            return Err(Ended::Quiet);
        }
        Ok(Route {
            legs: Legs::One(self.leg),
            start: request.range.start(),
            hold: Hold::Origin,
        })
    }

    fn route_snapshot(&self, place: usize, request: &Request) -> Result<Route<Hold>, Ended> {
        let snapshot = self.snapshots.get(place).and_then(Option::as_ref);
        let Some(Snapshot { leg, kept }) = snapshot.filter(|snapshot| snapshot.kept.is_open())
        else {
            return Err(Ended::Quiet);
        };
        let range = request.range;
        match (kept.find(range), request.operation) {
            (Whereabouts::Store(start), Operation::Read | Operation::Write) => Ok(Route {
                legs: Legs::One(*leg),
                start,
                hold: Hold::Store(place),
            }),
            (Whereabouts::Origin, Operation::Read) => self.read_origin(place, kept, range),
            _ => Err(Ended::Quiet),
        }
    }

    /// Lets a snapshot read what its store has not, as far as is known.
    fn read_origin(&self, place: usize, kept: &Kept, range: Range) -> Result<Route<Hold>, Ended> {
        if counters_of(range).count() as u64 > BLOCKS_MAX {
            return Err(Ended::Quiet);
        }
        self.hold(range)?;
        // The hold is before this; see the module.
        fence(Ordering::SeqCst);
        if kept.find(range) != Whereabouts::Origin || !kept.is_open() {
            return Err(self.release_all(counters_of(range)));
        }
        Ok(Route {
            legs: Legs::One(self.leg),
            start: range.start(),
            hold: Hold::Read(place, range),
        })
    }
}

/// The counters of the blocks of a range.
fn counters_of(range: Range) -> impl Iterator<Item = usize> {
    let blocks = range.start() / BLOCK..range.end().div_ceil(BLOCK);
    blocks.map(|block| (block % COUNTERS) as usize)
}

impl Map for OriginMap {
    const ROUTES: bool = true;
    type Memory = ();
    type Hold = Hold;

    fn route(&self, face: usize, request: &Request, (): &mut ()) -> Result<Route<Hold>, Ended> {
        if !self.is_open.load(Ordering::Acquire) {
            return Err(Ended::Quiet);
        }
        match face.checked_sub(1) {
            None => self.route_origin(request),
            Some(place) => self.route_snapshot(place, request),
        }
    }

    /// A snapshot that has become invalid has no answers.
    fn stands(&self, hold: &Hold) -> bool {
        let (Hold::Store(place) | Hold::Read(place, _)) = hold else {
            return true;
        };
        let snapshot = self.snapshots[*place].as_ref();
        snapshot.is_some_and(|snapshot| snapshot.kept.is_valid())
    }

    fn end(&self, hold: Hold) -> Ended {
        match hold {
            Hold::Origin | Hold::Store(_) => Ended::Quiet,
            Hold::Read(_, range) => self.release_all(counters_of(range)),
        }
    }
}
