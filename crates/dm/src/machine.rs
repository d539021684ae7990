//! The shape of a device with state of its own: a machine that is told events and answers steps.
//!
//! A machine does no I/O, has no thread and reads no clock. Whoever runs it (`home.rs` on a thread
//! with real devices; a test or the lab in virtual time) tells it one [`Event`] after the other
//! and carries out the [`Steps`] that it asks for, in order. Nothing is carried out while the
//! machine runs, so it is never entered twice.
//!
//! ```text
//!   Start ──▸ Started       its state is loaded from its legs, or cannot be
//!   Request ─▸ Done         once per request to a face, now or later
//!   Sub ─────▸ Answer       once per request to a leg
//!   Timer ───▸ Timer        once, not before its time
//!   Suspend ─▸ Suspended    all requests and all I/O of its own have ended
//!   Reload                  after Suspended only: it is made of something else from now on
//!   Resume                  after Suspended only
//!   (Suspended ─▸ Start)    of its successor, instead of Reload and Resume
//!   Control ─▸ Obeyed       an order of whoever looks after it
//!              Notice       is told to whoever looks after it, who may answer with an order
//!   Stop ────▸ Stopped      its state is on its legs; the last step
//!   Returned ─▸ Done        a request that went to legs without it, and was not done
//!   Freed                   requests that went without it do not hold any more what it waits for
//! ```
//!
//! A request that must wait is kept by the machine, which owns it until [`Step::Done`]; so waiting
//! needs no step. Requests reach the machine only between `Started` and `Suspend`, and between
//! `Resume` and the next `Suspend` or `Stop`; those in flight are answered before `Suspended` and
//! `Stopped`. The list of events is closed: a machine that seems to need another one is two.
//!
//! One state may have many devices: an origin and its snapshots, a pool and its volumes. Each is a
//! face of the machine, known by its number. Which faces there are, and what they say about
//! themselves, follows from what the machine is made of, and changes with it ([`Event::Reload`]):
//! a number means the same face as long as that is there.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use block::{Completion, Info, Request, Result};

use sealed::Sealed;

use crate::map::{Map, Returned};

/// A device's state and how it changes. Sealed: what runs machines changes with them.
pub trait Machine: Sealed + Send + Sized + 'static {
    /// What whoever looks after it may order.
    type Control: Debug + Send;
    /// What it tells of itself when it is asked.
    type Status: Debug + Send;
    /// What it tells by itself.
    type Notice: Debug + Send;
    /// What it is made of.
    type Config: Debug + Send;
    /// Where requests go without it.
    type Map: Map;

    /// Its faces by their numbers, on legs that say `legs` of themselves; before it has started,
    /// those that it will have if nothing is amiss.
    fn faces(&self, legs: &[Info]) -> Vec<Option<Face>>;

    /// The faces that it has after a [`Event::Reload`] with `config`, on legs that say `legs`, or
    /// that its successor has. Changes nothing.
    ///
    /// # Errors
    ///
    /// It cannot become this while it runs; the reason and the remedy.
    fn foresee(&self, config: &Self::Config, legs: &[Info]) -> crate::Result<Vec<Option<Face>>>;

    /// Another one that takes its place where it becomes what `config` says by a start: once it is
    /// suspended nothing more is told to this one, and the other one begins with [`Event::Start`].
    /// `None`: it does so by [`Event::Reload`]. Asked only where [`Machine::foresee`] allowed it.
    ///
    /// # Errors
    ///
    /// The other one cannot be on legs that say `legs`.
    fn successor(&self, config: &Self::Config, legs: &[Info]) -> crate::Result<Option<Self>> {
        let _ = (config, legs);
        Ok(None)
    }

    /// How it is. Changes nothing.
    fn status(&self) -> Self::Status;

    /// Where requests to its present legs may go without it. Asked after the start and after each
    /// [`Event::Reload`].
    fn map(&self) -> Arc<Self::Map>;

    /// Takes an event at `now`, the time since some moment before the start, and asks for steps.
    fn event(&mut self, event: EventOf<Self>, now: Duration, steps: &mut Steps<Self::Notice>);
}

/// Who may be a machine: the targets of this crate.
pub(crate) mod sealed {
    /// Implemented beside each [`super::Machine`].
    pub trait Sealed {}
}

/// One of the devices that a machine is.
#[derive(Debug, Clone)]
pub struct Face {
    /// What it says about itself.
    pub info: Info,
    /// The leg whose extents are its own, byte by byte; `None`: all is data.
    pub extents_of_leg: Option<usize>,
}

/// What happens to a machine that takes orders `C`, is made of what `F` says, and whose map gives
/// holds `H`.
#[derive(Debug)]
pub enum Event<C, F, H = Infallible> {
    /// First of all: load what there is to load.
    Start,
    /// Somebody asks a face that is there, within its size.
    Request {
        /// Its number.
        face: usize,
        /// The tag is unique among all faces while the request is in flight.
        request: Request,
    },
    /// A leg answered a [`Step::Sub`].
    Answer {
        /// The leg.
        leg: usize,
        /// Its answer, with the tag that the machine chose.
        answer: Completion,
    },
    /// The time that [`Step::Timer`] asked for has come.
    Timer(u64),
    /// End what is in flight and begin nothing.
    Suspend,
    /// It is made of this from now on, which [`Machine::foresee`] allowed, and its legs are others
    /// with the same numbers. It keeps what it knows. What follows for its legs waits for
    /// [`Event::Resume`]: nothing is asked of them before.
    Reload(F),
    /// Go on.
    Resume,
    /// An order of whoever looks after the device.
    Control {
        /// Which order; [`Step::Obeyed`] carries it.
        id: u64,
        /// What is ordered.
        control: C,
    },
    /// A request came back that had gone to legs without the machine. It is answered like any
    /// other, under its tag, and holds what it held until the machine ends that. Comes only where
    /// a request may come.
    Returned {
        /// The face that was asked.
        face: usize,
        /// What became of it.
        returned: Returned<H>,
    },
    /// Holds have ended that the machine may be waiting for.
    Freed,
    /// End everything; nothing comes after this but answers and timers.
    Stop,
}

/// What happens to a machine `M`.
pub type EventOf<M> =
    Event<<M as Machine>::Control, <M as Machine>::Config, <<M as Machine>::Map as Map>::Hold>;

/// What a machine that tells notices `N` asks for.
#[derive(Debug)]
pub enum Step<N> {
    /// The answer to [`Event::Start`]; requests may come, or the machine cannot be used.
    Started(Result<()>),
    /// The answer to the request with this tag.
    Done(Completion),
    /// Ask a leg. The machine chooses the tag, which need only be unique on that leg.
    Sub {
        /// The leg.
        leg: usize,
        /// What it is asked.
        request: Request,
    },
    /// Tell [`Event::Timer`] with `key` at time `at`, or soon after. Cannot be taken back.
    Timer {
        /// When, on the clock of [`Machine::event`].
        at: Duration,
        /// Tells timers apart.
        key: u64,
    },
    /// The answer to [`Event::Suspend`].
    Suspended,
    /// The answer to [`Event::Control`].
    Obeyed {
        /// Which order.
        id: u64,
        /// What became of it.
        result: Result<()>,
    },
    /// Is told to whoever looks after the device. What the machine waits for after it comes as an
    /// [`Event::Control`].
    Notice(N),
    /// The answer to [`Event::Stop`].
    Stopped,
}

/// Steps that wait to be carried out, in order.
#[derive(Debug)]
pub struct Steps<N> {
    steps: VecDeque<Step<N>>,
}

impl<N> Default for Steps<N> {
    fn default() -> Self {
        let steps = VecDeque::new();
        Self { steps }
    }
}

impl<N> Steps<N> {
    /// Asks for a step.
    pub fn push(&mut self, step: Step<N>) {
        self.steps.push_back(step);
    }

    /// The next step to carry out.
    pub fn pop(&mut self) -> Option<Step<N>> {
        self.steps.pop_front()
    }
}
