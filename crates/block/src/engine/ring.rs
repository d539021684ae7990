//! The `io_uring` engine: one ring per driver.
//!
//! The ring is set up for one thread that runs completions when it asks for them (`SINGLE_ISSUER`,
//! `DEFER_TASKRUN`), and with less where the kernel knows less. Never more calls are in flight
//! than the completion queue holds, so it cannot overflow.
//!
//! Entries are filled in as jobs come and given to the kernel in pieces of [`PIECE`], the last ones
//! by the next poll or wait. A disk that has nothing to do should begin with the first request of
//! many, not when the last one is there: answers come in bursts, and so do the requests that follow
//! them. The price is an `io_uring_enter` for each piece, about 0.3 µs.
//!
//! The driver's eventfd, and sockets that others wait for, are watched by the ring itself while
//! its thread sleeps in it: a ring that defers its work does not become readable when work is
//! done, so it cannot be slept on from outside. A socket's watch is taken back after each sleep,
//! since its descriptor may be closed and mean another file next time; the two completions of
//! that are counted, so that the next sleep does not take them for news. Taking back is in no
//! hurry: it goes with the next call, and is not worth a system call of its own.

use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

use io_uring::{IoUring, Probe, opcode, squeue, types};

use super::{Done, Job};

/// Entries given with one system call at most.
const SUBMISSIONS: u32 = 256;
/// Entries that are given to the kernel though more may follow. Measured on a virtual disk, 4 KiB
/// at random, depth 32: pieces of 2 serve 1.3 times as many requests as waiting for all, pieces of
/// 8 serve 1.2 times as many; pieces of 1 no more than those of 2.
const PIECE: usize = 2;
/// Calls in flight at most, with one place more for the eventfd.
const FLYING_MAX: usize = 1023;
const COMPLETIONS: u32 = 1024;
/// The `user_data` of the eventfd's poll; no queue has this number.
const WAKE: u64 = u64::MAX;
/// In place of a queue's number: the poll of a descriptor; its own number is below.
const WATCH: u32 = u32::MAX - 1;
/// The `user_data` of what takes a poll back.
const TAKE_BACK: u64 = (u32::MAX as u64 - 2) << 32;

/// One driver's ring.
pub(crate) struct Ring {
    uring: IoUring,
    flying: usize,
    watches_wake: bool,
    /// Polls of the present sleep, by number; `None`: it is over.
    watches: Vec<Option<u32>>,
    watch_next: u32,
    /// Entries filled in that can wait for others: they only take watches back.
    unhurried: usize,
    /// Whether something other than the end of an old watch was reaped since the last sleep began.
    news: bool,
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ring({} in flight)", self.flying)
    }
}

impl Ring {
    /// Sets up a ring; fails where the kernel has none, forbids it, or lacks an operation.
    pub(crate) fn open() -> io::Result<Self> {
        let uring = Self::newest()
            .or_else(|_| Self::plain())
            .and_then(Self::probed)?;
        Ok(Self {
            uring,
            flying: 0,
            watches_wake: false,
            watches: Vec::new(),
            watch_next: 0,
            unhurried: 0,
            news: false,
        })
    }

    /// Linux 6.1 and newer.
    fn newest() -> io::Result<IoUring> {
        IoUring::builder()
            .setup_cqsize(COMPLETIONS)
            .setup_single_issuer()
            .setup_coop_taskrun()
            .setup_taskrun_flag()
            .setup_defer_taskrun()
            .dontfork()
            .build(SUBMISSIONS)
    }

    fn plain() -> io::Result<IoUring> {
        IoUring::builder()
            .setup_cqsize(COMPLETIONS)
            .dontfork()
            .build(SUBMISSIONS)
    }

    fn probed(ring: IoUring) -> io::Result<IoUring> {
        let mut probe = Probe::new();
        ring.submitter().register_probe(&mut probe)?;
        let needed = [
            opcode::Read::CODE,
            opcode::Write::CODE,
            opcode::Fallocate::CODE,
            opcode::Fsync::CODE,
            opcode::PollAdd::CODE,
        ];
        let complete = needed.iter().all(|&code| probe.is_supported(code));
        if !complete || !ring.params().is_feature_ext_arg() {
            return Err(io::Error::from_raw_os_error(libc::ENOSYS));
        }
        Ok(ring)
    }

    /// Whether another call has room.
    pub(crate) fn has_room(&self) -> bool {
        self.flying < FLYING_MAX
    }

    /// Fills in an entry for `job`; it reaches the kernel with the next submit or sleep.
    pub(crate) fn push(&mut self, job: &Job, entry: squeue::Entry) {
        let user_data = u64::from(job.queue) << 32 | u64::from(job.slot);
        debug_assert!(
            self.has_room(),
            "the ring holds all answers of what it was given"
        );
        debug_assert!(
            user_data < TAKE_BACK,
            "a queue's number is none of the ring's own"
        );
        self.enqueue(&entry.user_data(user_data));
        self.flying += 1;
    }

    fn enqueue(&mut self, entry: &squeue::Entry) {
        loop {
            // SAFETY: who made the call keeps its file and memory valid until it is answered.
            if unsafe { self.uring.submission().push(entry) }.is_ok() {
                return;
            }
            // Only a lack of kernel memory keeps the queue full, and that passes.
            let _ = self.uring.submit();
            self.unhurried = 0;
        }
    }

    /// Gives what was filled in to the kernel, if that is a piece.
    pub(crate) fn submit_piece(&mut self) {
        if self.uring.submission().len() >= PIECE {
            // What cannot be given now is given later, at the latest by a wait, which reports it.
            let _ = self.uring.submit();
            self.unhurried = 0;
        }
    }

    /// Gives what was filled in to the kernel, and lets it post what is done.
    pub(crate) fn submit(&mut self) -> io::Result<()> {
        let submission = self.uring.submission();
        let hurried = submission.len() > self.unhurried;
        if !hurried && !submission.taskrun() && !submission.cq_overflow() {
            return Ok(());
        }
        drop(submission);
        self.unhurried = 0;
        passing(self.uring.submit().map(drop))
    }

    /// Hands each completion that is there to `take`, with the number of its queue.
    pub(crate) fn reap(&mut self, mut take: impl FnMut(u32, Done)) {
        for completion in self.uring.completion() {
            let user_data = completion.user_data();
            if user_data == WAKE {
                self.watches_wake = false;
                self.news = true;
                continue;
            }
            if user_data == TAKE_BACK {
                continue;
            }
            if (user_data >> 32) as u32 == WATCH {
                let number = Some(user_data as u32);
                let watches = self.watches.iter_mut();
                if let Some(watch) = watches.into_iter().find(|watch| **watch == number) {
                    *watch = None;
                    self.news = true;
                }
                continue;
            }
            debug_assert!(self.flying > 0, "what is answered was in flight");
            self.flying -= 1;
            self.news = true;
            let done = Done {
                slot: user_data as u32,
                result: completion.result(),
            };
            take((user_data >> 32) as u32, done);
        }
    }

    /// Whether the last sleep's watch on the eventfd is over: it was readable.
    pub(crate) fn was_woken(&self) -> bool {
        !self.watches_wake
    }

    /// Whether it has calls to wait for.
    pub(crate) fn is_busy(&self) -> bool {
        self.flying > 0
    }

    /// Submits, and sleeps until a completion is there, `wake` or one of `others` is ready or the
    /// time is over. To be followed by [`Ring::reap`] and [`Ring::take_back`].
    pub(crate) fn sleep(
        &mut self,
        wake: RawFd,
        others: &[libc::pollfd],
        timeout: Option<Duration>,
    ) -> io::Result<()> {
        if !self.watches_wake {
            let poll = opcode::PollAdd::new(types::Fd(wake), libc::POLLIN as u32).build();
            self.enqueue(&poll.user_data(WAKE));
            self.watches_wake = true;
        }
        assert!(self.watches.is_empty(), "watches are taken back");
        for other in others {
            let number = self.watch_next;
            self.watch_next = self.watch_next.wrapping_add(1);
            let events = u32::from(other.events.cast_unsigned());
            let poll = opcode::PollAdd::new(types::Fd(other.fd), events).build();
            self.enqueue(&poll.user_data(watch(number)));
            self.watches.push(Some(number));
        }
        self.news = false;
        self.unhurried = 0;
        self.sleep_on(timeout)
    }

    /// Goes on with a sleep that only the end of an old watch interrupted. How many of those will
    /// come cannot be counted: a watch that is just being looked at cannot be taken back, and
    /// stays until its descriptor is ready.
    pub(crate) fn sleep_on(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        let Some(timeout) = timeout else {
            return passing(self.uring.submit_and_wait(1).map(drop));
        };
        let time = types::Timespec::from(timeout);
        let arguments = types::SubmitArgs::new().timespec(&time);
        let submitter = self.uring.submitter();
        passing(submitter.submit_with_args(1, &arguments).map(drop))
    }

    /// Whether the last sleep ended for a reason.
    pub(crate) fn has_news(&self) -> bool {
        self.news
    }

    /// Says which of the `others` of the last sleep are ready, and stops watching them.
    pub(crate) fn take_back(&mut self, others: &mut [libc::pollfd]) {
        assert_eq!(
            self.watches.len(),
            others.len(),
            "each interest has its watch"
        );
        for (index, other) in others.iter_mut().enumerate() {
            other.revents = 0;
            match self.watches[index] {
                None => other.revents = other.events,
                Some(number) => {
                    let remove = opcode::PollRemove::new(watch(number)).build();
                    self.enqueue(&remove.user_data(TAKE_BACK));
                    self.unhurried += 1;
                }
            }
        }
        self.watches.clear();
    }
}

/// The `user_data` of a descriptor's poll.
fn watch(number: u32) -> u64 {
    u64::from(WATCH) << 32 | u64::from(number)
}

/// Errors that only mean *not now* are none: the caller comes again.
fn passing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) => match error.raw_os_error() {
            Some(libc::EINTR | libc::EAGAIN | libc::EBUSY | libc::ETIME) => Ok(()),
            _ => Err(error),
        },
        done => done,
    }
}
