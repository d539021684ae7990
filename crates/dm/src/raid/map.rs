//! Where an array may be read without its home: what is read from one leg.
//!
//! Of an array that nobody writes the map is what is believed, which does not change. Of one that
//! is written it says this, which the home changes before it does what follows from it:
//!
//! ```text
//!   legs     a bit per leg: it may be read
//!   plain    a bit per region: all legs that may be read are right there (of copies: and alike)
//! ```
//!
//! A read that reaches over several chunks, or whose leg is missing, goes home; so does one that
//! its leg did not answer, which is made up there from the others. A read needs no lock: it sees
//! what a leg holds, before a write that is in flight or behind it.
//!
//! Costs: a bit per region.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use block::{Operation, Range, Request};

use super::array::Array;
use super::assembly::LegState;
use super::bitmap::Dirty;
use super::config::LegReads;
use super::geometry::{Geometry, Scheme, Spot};
use super::update::only;
use super::view::{Source, TURN, View};
use crate::map::{Ended, Legs, Map, Route};

/// What queues know of an array.
#[derive(Debug)]
pub struct ArrayMap(Known);

#[derive(Debug)]
enum Known {
    Nothing,
    /// Which does not change, and which device holds the data of each leg.
    Still(Arc<View>, Vec<Option<usize>>),
    Live(Live),
}

/// See the module.
#[derive(Debug)]
struct Live {
    geometry: Geometry,
    data_start: u64,
    devices: Vec<Option<usize>>,
    reads: Vec<LegReads>,
    region: u64,
    legs: AtomicU64,
    plain: Box<[AtomicU64]>,
}

/// A read holds nothing.
#[derive(Debug)]
pub struct Hold;

impl ArrayMap {
    /// Before anything is known.
    pub(super) fn nothing() -> Self {
        Self(Known::Nothing)
    }

    /// Of an array that nobody writes.
    pub(super) fn still(view: Arc<View>, devices: Vec<Option<usize>>) -> Self {
        Self(Known::Still(view, devices))
    }

    /// Of one that is written; nothing of it may be read yet.
    pub(super) fn live(
        geometry: Geometry,
        data_start: u64,
        (devices, reads): (Vec<Option<usize>>, Vec<LegReads>),
        shape: &Dirty,
    ) -> Self {
        let words = shape.regions().div_ceil(64);
        Self(Known::Live(Live {
            geometry,
            data_start,
            devices,
            reads,
            region: shape.region(),
            legs: AtomicU64::new(0),
            plain: (0..words).map(|_| AtomicU64::new(0)).collect(),
        }))
    }
}

impl Live {
    fn is_plain(&self, sync: Range) -> bool {
        let mut regions = sync.start() / self.region..sync.end().div_ceil(self.region);
        regions.all(|region| {
            let word = &self.plain[(region / 64) as usize];
            word.load(Ordering::Acquire) >> (region % 64) & 1 == 1
        })
    }

    /// The place of a run of bytes that is read from one leg.
    fn place(&self, range: Range) -> Option<Spot> {
        if range.end() > self.geometry.size() || self.geometry.run(range.start()) < range.len() {
            return None;
        }
        let legs = self.legs.load(Ordering::Acquire);
        let may = |spot: &Spot| legs & only(spot.leg) != 0;
        if let Scheme::Parity(..) = self.geometry.scheme() {
            let spot = self.geometry.spot(range.start(), 0);
            let sync = Range::new(spot.start, range.len());
            return Some(spot).filter(|spot| may(spot) && self.is_plain(sync));
        }
        if !self.is_plain(range) {
            return None;
        }
        let count = self.geometry.copies();
        let first = (range.start() / TURN) as usize % count;
        let spots =
            (0..count).map(|turn| self.geometry.spot(range.start(), (first + turn) % count));
        spots
            .filter(may)
            .min_by_key(|spot| self.reads[spot.leg] == LegReads::Last)
    }
}

impl Map for ArrayMap {
    const ROUTES: bool = true;
    type Memory = ();
    type Hold = Hold;

    fn route(&self, _face: usize, request: &Request, (): &mut ()) -> Result<Route<Hold>, Ended> {
        if request.operation != Operation::Read {
            return Err(Ended::Quiet);
        }
        let (leg, start, devices) = match &self.0 {
            Known::Nothing => return Err(Ended::Quiet),
            Known::Still(view, devices) => match view.source(request.range, 0) {
                (Source::Leg { leg, start }, len) if len == request.range.len() => {
                    (leg, start, devices)
                }
                _ => return Err(Ended::Quiet),
            },
            Known::Live(live) => match live.place(request.range) {
                Some(spot) => (spot.leg, live.data_start + spot.start, &live.devices),
                None => return Err(Ended::Quiet),
            },
        };
        let device = devices[leg].expect("a leg that is valid is there");
        Ok(Route {
            legs: Legs::One(device),
            start,
            hold: Hold,
        })
    }

    fn stands(&self, Hold: &Hold) -> bool {
        true
    }

    fn end(&self, Hold: Hold) -> Ended {
        Ended::Quiet
    }
}

impl Array {
    /// Says what may be read without the home.
    pub(super) fn publish(&self) {
        let (Known::Live(live), Some(view)) = (&self.map.0, &self.view) else {
            return;
        };
        let assembly = view.assembly();
        let shape = self.regions.marked();
        let mut doubt = match self.config.geometry().scheme() {
            Scheme::Parity(..) => shape.emptied(),
            Scheme::Mirror | Scheme::Copies(_) => {
                let mut doubt = assembly.dirty.regions(shape);
                let is_alike = doubt.merge(&view.raw().regions(shape));
                assert!(is_alike, "they are of one shape");
                doubt
            }
        };
        let legs = assembly.legs.iter().zip(&assembly.missed).enumerate();
        let mut readable = 0;
        for (leg, (state, missed)) in legs {
            if matches!(state, LegState::Valid { .. }) {
                readable |= only(leg);
                let is_alike = doubt.merge(&missed.regions(shape));
                assert!(is_alike, "they are of one shape");
            }
        }
        for (word, doubt) in live.plain.iter().zip(doubt.words()) {
            if word.load(Ordering::Relaxed) != !doubt {
                word.store(!doubt, Ordering::Release);
            }
        }
        // While it is reshaped who reads waits for what is moved.
        let readable = if assembly.reshape.is_some() {
            0
        } else {
            readable
        };
        live.legs.store(readable, Ordering::Release);
    }
}
