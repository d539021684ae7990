//! A thread's way to the kernel: the engine that its queues share, and what it sleeps on.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};

use crate::{Error, Result};

/// One thread's driver. Cheap to clone; never leaves its thread.
#[derive(Debug, Clone)]
pub struct Driver {
    inner: Rc<Inner>,
}

#[derive(Debug)]
struct Inner {
    wake: Arc<OwnedFd>,
}

/// Wakes a driver's thread from another one.
#[derive(Debug, Clone)]
pub struct Waker {
    wake: Arc<OwnedFd>,
}

impl Waker {
    /// Makes the driver's next (or present) [`Driver::wait`] return.
    pub fn wake(&self) {
        // A full counter (EAGAIN) already wakes.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }
}

impl Driver {
    /// A driver for this thread.
    pub fn new() -> Result<Self> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|errno| Error::io("cannot make an eventfd", errno.into()))?;
        Ok(Self {
            inner: Rc::new(Inner {
                wake: Arc::new(wake),
            }),
        })
    }

    /// A handle by which other threads wake this one.
    pub fn waker(&self) -> Waker {
        Waker {
            wake: Arc::clone(&self.inner.wake),
        }
    }

    /// Sleeps until an answer of one of this driver's queues may be there, one of `others` is
    /// ready, a [`Waker`] was used, or `timeout` has passed. May return early.
    pub fn wait(&self, others: &mut [Interest<'_>], timeout: Option<Duration>) -> Result<()> {
        let mut fds = vec![PollFd::from_borrowed_fd(
            self.inner.wake.as_fd(),
            PollFlags::IN,
        )];
        fds.extend(
            others
                .iter()
                .map(|other| PollFd::from_borrowed_fd(other.fd, other.events())),
        );
        let timeout = timeout.map(|t| t.try_into().expect("a timeout fits in a timespec"));
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(Error::io("cannot wait for events", errno.into())),
        }
        for (other, fd) in others.iter_mut().zip(&fds[1..]) {
            other.ready = !fd.revents().is_empty();
        }
        if fds[0].revents().contains(PollFlags::IN) {
            let _ = rustix::io::read(&self.inner.wake, &mut [0_u8; 8]);
        }
        Ok(())
    }
}

/// What a thread waits for on a file descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// Something to read, or the other side is gone.
    Readable,
    /// Room to write, or the other side is gone.
    Writable,
    /// Either.
    Both,
}

/// A file descriptor that wakes [`Driver::wait`] beside the driver's own I/O: a client's socket.
#[derive(Debug)]
pub struct Interest<'fd> {
    /// What is waited on.
    pub fd: BorrowedFd<'fd>,
    /// What for.
    pub readiness: Readiness,
    /// Set by [`Driver::wait`]: whether it is ready (or broken; using it will tell).
    pub ready: bool,
}

impl<'fd> Interest<'fd> {
    /// Waits for `readiness` of `fd`.
    pub fn new(fd: BorrowedFd<'fd>, readiness: Readiness) -> Self {
        Self {
            fd,
            readiness,
            ready: false,
        }
    }

    fn events(&self) -> PollFlags {
        match self.readiness {
            Readiness::Readable => PollFlags::IN,
            Readiness::Writable => PollFlags::OUT,
            Readiness::Both => PollFlags::IN | PollFlags::OUT,
        }
    }
}
