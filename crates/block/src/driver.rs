//! A thread's way to the kernel: the engine that its queues share, and what it sleeps on.

use std::cell::{Cell, RefCell};
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
    watched: RefCell<Vec<Rc<Watched>>>,
}

#[derive(Debug)]
struct Watched {
    fd: Arc<OwnedFd>,
    readiness: Cell<Option<Readiness>>,
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
                watched: RefCell::default(),
            }),
        })
    }

    /// A handle by which other threads wake this one.
    pub fn waker(&self) -> Waker {
        Waker {
            wake: Arc::clone(&self.inner.wake),
        }
    }

    /// Lets every [`Driver::wait`] return when `fd` is ready, until the answer is dropped: for
    /// queues whose answers come through a socket. The fd's owner finds out what happened by
    /// using it.
    pub fn watch(&self, fd: Arc<OwnedFd>, readiness: Option<Readiness>) -> Watch {
        let readiness = Cell::new(readiness);
        let watched = Rc::new(Watched { fd, readiness });
        self.inner.watched.borrow_mut().push(Rc::clone(&watched));
        Watch {
            driver: self.clone(),
            watched,
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
                .map(|other| PollFd::from_borrowed_fd(other.fd, other.readiness.events())),
        );
        let watched = self.inner.watched.borrow();
        fds.extend(watched.iter().filter_map(|watched| {
            let readiness = watched.readiness.get()?;
            Some(PollFd::new(&*watched.fd, readiness.events()))
        }));
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

impl Readiness {
    fn events(self) -> PollFlags {
        match self {
            Self::Readable => PollFlags::IN,
            Self::Writable => PollFlags::OUT,
            Self::Both => PollFlags::IN | PollFlags::OUT,
        }
    }
}

/// A file descriptor that every [`Driver::wait`] of its driver watches while this lives.
#[derive(Debug)]
pub struct Watch {
    driver: Driver,
    watched: Rc<Watched>,
}

impl Watch {
    /// Changes what is waited for; `None`: nothing for now.
    pub fn set(&self, readiness: Option<Readiness>) {
        self.watched.readiness.set(readiness);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut watched = self.driver.inner.watched.borrow_mut();
        watched.retain(|other| !Rc::ptr_eq(other, &self.watched));
    }
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
}
