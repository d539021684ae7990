//! What a driver knows of its engine: queues, jobs not yet given, answers not yet fetched.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Call, Pool, Ring};
use crate::driver::drain;

/// Who makes the system calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EngineKind {
    /// Threads that block.
    Threads,
    /// The kernel, through `io_uring`.
    Uring,
}

/// A call on behalf of a queue.
#[derive(Debug)]
pub(crate) struct Job {
    /// The number of the queue that gets the answer.
    pub(crate) queue: u32,
    /// The queue's own mark.
    pub(crate) slot: u32,
    /// What to do.
    pub(crate) call: Call,
}

/// The answer to a job.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Done {
    /// The queue's own mark.
    pub(crate) slot: u32,
    /// Bytes, or an errno below zero.
    pub(crate) result: i32,
}

/// A driver's engine.
#[derive(Debug)]
pub(crate) struct Engine {
    wake: Arc<OwnedFd>,
    ring: Option<Ring>,
    /// All calls without a ring; with one, those that it cannot do.
    pool: Option<Pool>,
    pending: VecDeque<Job>,
    for_pool: VecDeque<Job>,
    /// A single job for idle threads was kept at the last turn: a thread that is about to sleep
    /// until it is done had better do it itself.
    held: bool,
    inboxes: Vec<Inbox>,
    /// Answers in all inboxes.
    unfetched: usize,
}

#[derive(Debug, Default)]
struct Inbox {
    used: bool,
    answers: Vec<Done>,
}

impl Engine {
    /// An engine of `kind`; only a ring can fail to be there.
    pub(crate) fn new(kind: EngineKind, wake: Arc<OwnedFd>) -> io::Result<Self> {
        let ring = match kind {
            EngineKind::Threads => None,
            EngineKind::Uring => Some(Ring::open()?),
        };
        Ok(Self {
            wake,
            ring,
            pool: None,
            pending: VecDeque::new(),
            for_pool: VecDeque::new(),
            held: false,
            inboxes: Vec::new(),
            unfetched: 0,
        })
    }

    /// What it is.
    pub(crate) fn kind(&self) -> EngineKind {
        match self.ring {
            Some(_) => EngineKind::Uring,
            None => EngineKind::Threads,
        }
    }

    /// A number for a new queue.
    pub(crate) fn open_queue(&mut self) -> u32 {
        let free = self.inboxes.iter().position(|inbox| !inbox.used);
        let number = free.unwrap_or_else(|| {
            self.inboxes.push(Inbox::default());
            self.inboxes.len() - 1
        });
        assert!(!self.inboxes[number].used, "a number is given to one queue");
        assert!(
            self.inboxes[number].answers.is_empty(),
            "no answer is left of an older queue"
        );
        self.inboxes[number].used = true;
        u32::try_from(number).expect("fewer than 2^32 queues")
    }

    /// Forgets a queue, which has nothing in flight.
    pub(crate) fn close_queue(&mut self, queue: u32) {
        let inbox = &mut self.inboxes[queue as usize];
        assert!(inbox.answers.is_empty(), "a queue fetches its answers");
        assert!(inbox.used, "a queue closes once");
        inbox.used = false;
    }

    /// Makes room for `count` answers to a queue, so that they will not allocate.
    pub(crate) fn reserve(&mut self, queue: u32, count: usize) {
        let answers = &mut self.inboxes[queue as usize].answers;
        answers.reserve(count.saturating_sub(answers.len()));
    }

    /// Takes a job. A ring begins with it as soon as a few are together; otherwise, and at the
    /// latest, the next turn or wait hands it on.
    pub(crate) fn give(&mut self, job: Job) {
        debug_assert!(
            self.inboxes[job.queue as usize].used,
            "only open queues give jobs"
        );
        if self.pending.is_empty()
            && let Some(ring) = &mut self.ring
            && ring.has_room()
            && let Some(entry) = job.call.entry()
        {
            ring.push(&job, entry);
            ring.submit_piece();
        } else {
            self.pending.push_back(job);
        }
    }

    /// Moves the answers to `queue` into `answers`.
    pub(crate) fn fetch(&mut self, queue: u32, answers: &mut Vec<Done>) {
        let inbox = &mut self.inboxes[queue as usize];
        debug_assert!(inbox.used, "only open queues fetch answers");
        debug_assert!(
            self.unfetched >= inbox.answers.len(),
            "each answer is counted"
        );
        self.unfetched -= inbox.answers.len();
        answers.append(&mut inbox.answers);
    }

    /// Gives pending jobs to the kernel and collects what is done. Never blocks.
    pub(crate) fn turn(&mut self) -> io::Result<()> {
        self.sort_pending();
        let quiet = self.ring.is_none() && self.pool.as_ref().is_none_or(Pool::is_quiet);
        if quiet && self.for_pool.len() == 1 && !self.held {
            self.held = true;
        } else {
            self.fill_pool();
        }
        let submitted = self.ring.as_mut().map_or(Ok(()), Ring::submit);
        debug_assert!(
            !self.held || self.for_pool.len() == 1,
            "one job is held back at most"
        );
        self.collect();
        if cfg!(debug_assertions) {
            self.check();
        }
        submitted
    }

    /// Fills the ring, and sets aside what the pool does.
    fn sort_pending(&mut self) {
        while let Some(job) = self.pending.pop_front() {
            match (&mut self.ring, job.call.entry()) {
                (Some(ring), Some(entry)) if ring.has_room() => ring.push(&job, entry),
                (Some(_), Some(_)) => {
                    self.pending.push_front(job);
                    break;
                }
                (None, _) | (_, None) => self.for_pool.push_back(job),
            }
        }
    }

    fn fill_pool(&mut self) {
        self.held = false;
        if !self.for_pool.is_empty() {
            let wake = &self.wake;
            let pool = self.pool.get_or_insert_with(|| Pool::new(Arc::clone(wake)));
            pool.give(&mut self.for_pool);
        }
    }

    /// Does the only job there is on this thread, if it would otherwise wake another thread and
    /// sleep until that is done: that saves both wakeups. Returns whether it did.
    pub(crate) fn do_only_job(&mut self) -> bool {
        self.sort_pending();
        let quiet = self.ring.is_none() && self.pool.as_ref().is_none_or(Pool::is_quiet);
        if !quiet || self.for_pool.len() != 1 || self.unfetched != 0 {
            return false;
        }
        self.held = false;
        let Some(job) = self.for_pool.pop_front() else {
            return false;
        };
        let done = Done {
            slot: job.slot,
            result: job.call.run(),
        };
        self.inboxes[job.queue as usize].answers.push(done);
        self.unfetched += 1;
        true
    }

    fn collect(&mut self) {
        let (inboxes, unfetched) = (&mut self.inboxes, &mut self.unfetched);
        let mut take = |queue: u32, done: Done| {
            inboxes[queue as usize].answers.push(done);
            *unfetched += 1;
        };
        if let Some(ring) = &mut self.ring {
            ring.reap(&mut take);
        }
        if let Some(pool) = &mut self.pool {
            pool.reap(&mut take);
        }
    }

    /// The invariants of the inboxes.
    fn check(&self) {
        let answers = self.inboxes.iter().map(|inbox| inbox.answers.len());
        debug_assert_eq!(
            self.unfetched,
            answers.sum::<usize>(),
            "answers are counted"
        );
        let is_clear = |inbox: &Inbox| inbox.used || inbox.answers.is_empty();
        debug_assert!(
            self.inboxes.iter().all(is_clear),
            "answers belong to open queues"
        );
    }

    /// Before the driver sleeps: hands jobs on, and says whether it may sleep. With a ring the
    /// jobs are only filled in: sleeping submits them.
    pub(crate) fn may_sleep(&mut self) -> bool {
        self.sort_pending();
        self.fill_pool();
        self.collect();
        let pool_idle = self.pool.as_ref().is_none_or(Pool::may_sleep);
        self.unfetched == 0 && pool_idle
    }

    /// After the driver slept.
    pub(crate) fn awake(&self) {
        if let Some(pool) = &self.pool {
            pool.awake();
        }
    }

    /// Whether the kernel has calls of a ring: they can only be waited for with
    /// [`Engine::sleep`].
    pub(crate) fn ring_is_busy(&self) -> bool {
        self.ring.as_ref().is_some_and(Ring::is_busy)
    }

    /// Sleeps in the ring until a call is done, the driver's eventfd or one of `others` is ready,
    /// or the time is over; `None` if there is no ring.
    pub(crate) fn sleep(
        &mut self,
        others: &mut [libc::pollfd],
        timeout: Option<Duration>,
    ) -> Option<io::Result<()>> {
        let wake = self.wake.as_raw_fd();
        // A limit that the clock cannot name is none.
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let ring = self.ring.as_mut()?;
        let mut slept = ring.sleep(wake, others, timeout);
        self.collect();
        while let Some(ring) = &mut self.ring
            && slept.is_ok()
            && !ring.has_news()
        {
            let rest = deadline.map(|end| end.saturating_duration_since(Instant::now()));
            if rest.is_some_and(|rest| rest.is_zero()) {
                break;
            }
            slept = ring.sleep_on(rest);
            self.collect();
        }
        let ring = self.ring.as_mut()?;
        ring.take_back(others);
        if ring.was_woken() {
            drain(&self.wake);
        }
        Some(slept)
    }
}

#[cfg(test)]
mod tests;
