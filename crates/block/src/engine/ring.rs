//! The `io_uring` engine: one ring per driver.
//!
//! The ring is set up for one thread that runs completions when it asks for them (`SINGLE_ISSUER`,
//! `DEFER_TASKRUN`), and with less where the kernel knows less. Entries are filled in as jobs
//! come and given to the kernel with one `io_uring_enter` per poll or wait. Never more are in
//! flight than the completion queue holds, so it cannot overflow.
//!
//! The driver's eventfd is watched by the ring itself while its thread sleeps in the ring.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::time::Duration;

use io_uring::{IoUring, Probe, opcode, squeue, types};

use super::{Done, Job};

/// Entries given with one system call at most.
const SUBMISSIONS: u32 = 256;
/// Calls in flight at most, with one place more for the eventfd.
const FLYING_MAX: usize = 1023;
const COMPLETIONS: u32 = 1024;
/// The `user_data` of the eventfd's poll; no queue has this number.
const WAKE: u64 = u64::MAX;

/// One driver's ring.
pub(crate) struct Ring {
    uring: IoUring,
    flying: usize,
    watches_wake: bool,
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ring({} in flight)", self.flying)
    }
}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the ring owns the descriptor and outlives the borrow.
        unsafe { BorrowedFd::borrow_raw(self.uring.as_raw_fd()) }
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
        }
    }

    /// Gives what was filled in to the kernel, and lets it post what is done.
    pub(crate) fn submit(&mut self) -> io::Result<()> {
        let submission = self.uring.submission();
        if submission.is_empty() && !submission.taskrun() && !submission.cq_overflow() {
            return Ok(());
        }
        drop(submission);
        passing(self.uring.submit().map(drop))
    }

    /// Hands each completion that is there to `take`, with the number of its queue.
    pub(crate) fn reap(&mut self, mut take: impl FnMut(u32, Done)) {
        for completion in self.uring.completion() {
            let user_data = completion.user_data();
            if user_data == WAKE {
                self.watches_wake = false;
                continue;
            }
            self.flying -= 1;
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

    /// Submits, and sleeps until a completion is there, `wake` is readable or the time is over.
    pub(crate) fn sleep(&mut self, wake: RawFd, timeout: Option<Duration>) -> io::Result<()> {
        if !self.watches_wake {
            let poll = opcode::PollAdd::new(types::Fd(wake), libc::POLLIN as u32).build();
            self.enqueue(&poll.user_data(WAKE));
            self.watches_wake = true;
        }
        let Some(timeout) = timeout else {
            return passing(self.uring.submit_and_wait(1).map(drop));
        };
        let time = types::Timespec::from(timeout);
        let arguments = types::SubmitArgs::new().timespec(&time);
        passing(
            self.uring
                .submitter()
                .submit_with_args(1, &arguments)
                .map(drop),
        )
    }
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
