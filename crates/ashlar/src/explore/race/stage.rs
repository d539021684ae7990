//! The scheduler: one of two threads goes on at a time, and a script says when they change.
//!
//! A thread reports each step before it makes it, and stops there if it is the other one's turn.
//! Who waits for a lock hands over at once. Two who wait, with nothing done in between, wait for
//! each other: the first to find out is told that its lock will never be free.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use block::{Completion, Device, Driver, Info, Queue, Request};

use crate::lock::Turns;

/// Who begins, and before which steps, counted over both, the other one goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Script {
    pub(super) first: usize,
    pub(super) changes: VecDeque<u64>,
}

/// What two threads share.
#[derive(Debug)]
pub(super) struct Stage {
    state: Mutex<State>,
    turned: Condvar,
}

#[derive(Debug)]
struct State {
    script: Script,
    turn: usize,
    steps: u64,
    has_ended: [bool; 2],
    /// Waits for a lock, and the other one has done nothing since.
    waits: [bool; 2],
    is_stuck: bool,
}

/// What a thread is about to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// A request to a disk.
    Request,
    /// A lock is tried.
    Lock,
    /// A lock is not free.
    Wait,
}

/// One of the threads; it has ended when this goes.
#[derive(Debug, Clone)]
pub(super) struct Actor {
    stage: Arc<Stage>,
    number: usize,
}

impl Stage {
    pub(super) fn new(script: Script) -> Arc<Self> {
        let state = State {
            turn: script.first,
            script,
            steps: 0,
            has_ended: [false; 2],
            waits: [false; 2],
            is_stuck: false,
        };
        Arc::new(Self {
            state: Mutex::new(state),
            turned: Condvar::new(),
        })
    }

    /// How many steps there were, and whether both waited for each other.
    pub(super) fn result(&self) -> (u64, bool) {
        let state = self.lock();
        (state.steps, state.is_stuck)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_for_turn(&self, mut state: MutexGuard<'_, State>, number: usize) {
        while state.turn != number {
            let next = self.turned.wait(state);
            state = next.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Actor {
    /// The thread with this number, which waits for its first turn, does `work`, and ends.
    pub(super) fn play<R>(stage: &Arc<Stage>, number: usize, work: impl FnOnce(&Self) -> R) -> R {
        /// Also where the work panics: the other one would wait for ever.
        struct Ending<'a>(&'a Actor);
        impl Drop for Ending<'_> {
            fn drop(&mut self) {
                let Actor { stage, number } = self.0;
                let mut state = stage.lock();
                state.has_ended[*number] = true;
                state.turn = 1 - number;
                stage.turned.notify_all();
            }
        }
        let actor = Self {
            stage: Arc::clone(stage),
            number,
        };
        stage.wait_for_turn(stage.lock(), number);
        let ending = Ending(&actor);
        let result = work(&actor);
        drop(ending);
        result
    }

    pub(super) fn number(&self) -> usize {
        self.number
    }

    /// Reports a step, and returns when it may be made; `false` if it never may.
    fn step(&self, step: Step) -> bool {
        let (me, other) = (self.number, 1 - self.number);
        let mut state = self.stage.lock();
        state.steps += 1;
        let mut changes = false;
        while state
            .script
            .changes
            .front()
            .is_some_and(|at| *at <= state.steps)
        {
            state.script.changes.pop_front();
            changes = true;
        }
        match step {
            // It may have let go of what the other one waits for.
            Step::Request => state.waits[other] = false,
            Step::Lock => {}
            Step::Wait if state.has_ended[other] || state.waits[other] => {
                state.is_stuck = true;
                return false;
            }
            Step::Wait => {
                state.waits[me] = true;
                changes = true;
            }
        }
        if changes && !state.has_ended[other] {
            state.turn = other;
            self.stage.turned.notify_all();
            self.stage.wait_for_turn(state, me);
        }
        true
    }

    /// `device`, each request to which is a step.
    pub(super) fn paced(&self, device: &Arc<dyn Device>) -> Arc<dyn Device> {
        Arc::new(Paced {
            device: Arc::clone(device),
            actor: self.clone(),
        })
    }
}

impl Turns for Actor {
    fn tries(&self) {
        self.step(Step::Lock);
    }

    fn waits(&self) -> bool {
        self.step(Step::Wait)
    }
}

struct Paced {
    device: Arc<dyn Device>,
    actor: Actor,
}

impl Device for Paced {
    fn info(&self) -> Info {
        self.device.info()
    }

    fn open_queue(&self, driver: &Driver) -> block::Result<Box<dyn Queue>> {
        Ok(Box::new(PacedQueue {
            queue: self.device.open_queue(driver)?,
            actor: self.actor.clone(),
        }))
    }
}

struct PacedQueue {
    queue: Box<dyn Queue>,
    actor: Actor,
}

impl Queue for PacedQueue {
    fn submit(&mut self, request: Request) {
        self.actor.step(Step::Request);
        self.queue.submit(request);
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        self.queue.poll(done);
    }

    fn in_flight(&self) -> usize {
        self.queue.in_flight()
    }
}
