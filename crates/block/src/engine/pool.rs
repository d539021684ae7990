//! The thread-pool engine: threads that make blocking calls.
//!
//! A pool belongs to one driver. Its threads start when there is more to do than idle threads,
//! up to [`THREADS_MAX`], and end with the pool. Jobs are given, and answers taken, in batches
//! under one lock; the driver's eventfd is written only while its thread sleeps, once per sleep.
//!
//! Costs: two wakeups per call (5 to 25 µs each), except for the only call of a thread that waits
//! for nothing else: the engine makes that one without the pool.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use super::{Done, Job};

/// Threads of one pool at most: enough to keep a disk busy at the usual queue depth of 32
/// without flooding a small machine.
const THREADS_MAX: usize = 16;

/// Threads that make calls for one driver.
#[derive(Debug)]
pub(crate) struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// Jobs whose answers have not been reaped.
    flying: usize,
    /// Swapped with the shared list of answers, so that neither is allocated again.
    taken: Vec<(u32, Done)>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    work: Condvar,
    wake: Arc<OwnedFd>,
}

#[derive(Debug, Default)]
struct State {
    jobs: VecDeque<Job>,
    finished: Vec<(u32, Done)>,
    idle: usize,
    driver_sleeps: bool,
    closing: bool,
}

impl Pool {
    /// A pool without threads yet; `wake` is the eventfd that its driver sleeps on.
    pub(crate) fn new(wake: Arc<OwnedFd>) -> Self {
        Self {
            shared: Arc::new(Shared {
                state: Mutex::default(),
                work: Condvar::new(),
                wake,
            }),
            threads: Vec::new(),
            flying: 0,
            taken: Vec::new(),
        }
    }

    /// Whether it has nothing to do and nothing to tell.
    pub(crate) fn is_quiet(&self) -> bool {
        self.flying == 0
    }

    /// Takes all `jobs`.
    pub(crate) fn give(&mut self, jobs: &mut VecDeque<Job>) {
        if jobs.is_empty() {
            return;
        }
        let (idle, waiting) = {
            let mut state = self.shared.lock();
            self.flying += jobs.len();
            state.jobs.append(jobs);
            // Room for all answers, so that no thread allocates while it holds the lock.
            let missing = self.flying.saturating_sub(state.finished.len());
            state.finished.reserve(missing);
            (state.idle, state.jobs.len())
        };
        for _ in 0..idle.min(waiting) {
            self.shared.work.notify_one();
        }
        assert!(self.threads.len() <= THREADS_MAX, "threads have a limit");
        debug_assert!(idle <= self.threads.len(), "idle threads are threads");
        let room = THREADS_MAX - self.threads.len();
        for _ in 0..waiting.saturating_sub(idle).min(room) {
            let shared = Arc::clone(&self.shared);
            match Builder::new()
                .name("ashlar-io".into())
                .spawn(move || shared.work_until_closed())
            {
                Ok(thread) => self.threads.push(thread),
                // Fewer threads do the same work later; without any, it is done here.
                Err(_) if self.threads.is_empty() => self.shared.work_until_empty(),
                Err(_) => break,
            }
        }
    }

    /// Hands each answer that is there to `take`, with the number of its queue.
    pub(crate) fn reap(&mut self, mut take: impl FnMut(u32, Done)) {
        {
            let mut state = self.shared.lock();
            if state.finished.is_empty() {
                return;
            }
            debug_assert!(self.taken.is_empty(), "what was taken was handed on");
            std::mem::swap(&mut state.finished, &mut self.taken);
        }
        assert!(self.taken.len() <= self.flying, "a job is finished once");
        self.flying -= self.taken.len();
        for (queue, done) in self.taken.drain(..) {
            take(queue, done);
        }
    }

    /// Announces that the driver is about to sleep: the next answer writes its eventfd. Returns
    /// whether it may; it may not if answers are there already.
    pub(crate) fn may_sleep(&self) -> bool {
        let mut state = self.shared.lock();
        state.driver_sleeps = state.finished.is_empty();
        state.driver_sleeps
    }

    /// The driver is awake again.
    pub(crate) fn awake(&self) {
        self.shared.lock().driver_sleeps = false;
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.lock().closing = true;
        self.shared.work.notify_all();
        for thread in self.threads.drain(..) {
            // A thread that panicked has been reported by the panic itself.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work_until_closed(&self) {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                drop(state);
                self.work_on(&job);
                state = self.lock();
            } else if state.closing {
                return;
            } else {
                state.idle += 1;
                state = self
                    .work
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                debug_assert!(state.idle > 0, "an idle thread is counted");
                state.idle -= 1;
            }
        }
    }

    fn work_until_empty(&self) {
        loop {
            let Some(job) = self.lock().jobs.pop_front() else {
                return;
            };
            self.work_on(&job);
        }
    }

    fn work_on(&self, job: &Job) {
        let done = Done {
            slot: job.slot,
            result: job.call.run(),
        };
        let asleep = {
            let mut state = self.lock();
            state.finished.push((job.queue, done));
            std::mem::take(&mut state.driver_sleeps)
        };
        if asleep {
            // A full counter (EAGAIN) already wakes.
            let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
        }
    }
}
