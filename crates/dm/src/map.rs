//! What any thread may ask of a machine, without the machine: where a request goes directly.
//!
//! The machine owns the state and changes it on one thread. Beside it stands its map, which says of
//! each request whether anything has to change for it. If not, whoever asks gives it to the legs
//! himself, with queues of his own; the machine never hears of it.
//!
//! ```text
//!   route ─▸ none              the machine is asked, as ever
//!         ╲▸ legs, hold ─▸ legs are asked ─▸ all did it, and it stands ─▸ end ─▸ answer
//!                                        ╲▸ else: Event::Returned, with the hold ─▸ the machine
//! ```
//!
//! A hold is what the machine can see of a request that it has not heard of: as long as it is there
//! the machine does nothing that the request forbids. Where it waits for that, ending the hold says
//! so ([`Ended::Awaited`]), and it is told [`Event::Freed`](crate::machine::Event::Freed).
//!
//! A map changes before the step that follows from the change is carried out, so who has seen the
//! step's effect sees the change. All that is in a map is atomic; nobody waits in it. One map is
//! for one set of legs: after a reload there is another one, and no request of the old one is left
//! (`gate.rs`).

use std::convert::Infallible;
use std::fmt::Debug;

use block::{Error, Request};

/// Where requests may go; see the module.
pub trait Map: Send + Sync + 'static {
    /// Whether it ever says that one may.
    const ROUTES: bool;
    /// What a queue remembers from one request to the next.
    type Memory: Default;
    /// What a request holds.
    type Hold: Debug + Send;

    /// Where a proper request to a face may go; if to the machine, whether that waits for what was
    /// held while this was found out.
    fn route(
        &self,
        face: usize,
        request: &Request,
        memory: &mut Self::Memory,
    ) -> Result<Route<Self::Hold>, Ended>;

    /// Whether what the legs did, all of them, may be answered.
    fn stands(&self, hold: &Self::Hold) -> bool;

    /// A request has ended.
    fn end(&self, hold: Self::Hold) -> Ended;
}

/// Where a request goes.
#[derive(Debug)]
pub struct Route<H> {
    /// Who is asked.
    pub legs: Legs,
    /// The byte at which the request begins on them.
    pub start: u64,
    /// What it holds meanwhile.
    pub hold: H,
}

/// Legs, by their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Legs {
    /// This one.
    One(usize),
    /// All of these: a bit each.
    All(u64),
}

impl Legs {
    /// The legs, in order.
    pub(crate) fn iter(self) -> impl Iterator<Item = usize> {
        let (one, mut bits) = match self {
            Self::One(leg) => (Some(leg), 0),
            Self::All(bits) => (None, bits),
        };
        let rest = std::iter::from_fn(move || {
            let leg = bits.trailing_zeros() as usize;
            bits &= bits.wrapping_sub(1);
            (leg < u64::BITS as usize).then_some(leg)
        });
        one.into_iter().chain(rest)
    }
}

/// Whether somebody waits for what was held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Ended {
    /// Nobody does.
    Quiet,
    /// The machine may: it has to look.
    Awaited,
}

impl Ended {
    /// Whether the machine waits for one of the two.
    pub(crate) fn or(self, other: Self) -> Self {
        match self {
            Self::Awaited => self,
            Self::Quiet => other,
        }
    }
}

/// A request that went to legs and was not done by all of them, or does not stand.
#[derive(Debug)]
pub struct Returned<H> {
    /// It, with its buffer.
    pub request: Request,
    /// What it holds still.
    pub hold: H,
    /// Who was asked.
    pub legs: Legs,
    /// Which of many legs did it: a bit each.
    pub good: u64,
    /// The first error; `None`: of the others it is not known whether they did it.
    pub error: Option<Error>,
}

/// The map of a machine that sees each request.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoMap;

impl Map for NoMap {
    const ROUTES: bool = false;
    type Memory = ();
    type Hold = Infallible;

    fn route(&self, _: usize, _: &Request, (): &mut ()) -> Result<Route<Infallible>, Ended> {
        Err(Ended::Quiet)
    }

    fn stands(&self, hold: &Infallible) -> bool {
        match *hold {}
    }

    fn end(&self, hold: Infallible) -> Ended {
        match hold {}
    }
}
