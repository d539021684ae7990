//! A thread's way to the kernel: the engine that its queues share, and what it sleeps on.
//!
//! A driver has one engine ([`EngineKind`]), set up when the first queue needs it. Which one: what
//! the program demands ([`Driver::with_engine`]), else what `ASHLAR_IO=threads|uring` demands,
//! else `io_uring` where the kernel grants it (containers often do not) and threads where not.
//! A demanded engine that cannot be had is an error, and then *all* I/O on files goes through it;
//! without a demand, a file may be read and written without any engine where that is faster.
//!
//! With calls in a ring, or nothing else to watch, sleeping is one `io_uring_enter` that also
//! submits; in all other cases it is one `poll`.

use std::cell::{Cell, RefCell, RefMut};
use std::io::ErrorKind;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, eventfd};

use crate::engine::{Done, Engine, EngineKind, Job};
use crate::{Error, Kind, Result};

/// The environment variable that demands an engine.
const ENGINE_VARIABLE: &str = "ASHLAR_IO";
/// How long the kernel may take to give back the memory of rings that were closed.
const MEMORY_MAX: Duration = Duration::from_secs(5);
const MEMORY_RETRY: Duration = Duration::from_millis(5);

/// One thread's driver. Cheap to clone; never leaves its thread.
#[derive(Debug, Clone)]
pub struct Driver {
    inner: Rc<Inner>,
}

#[derive(Debug)]
struct Inner {
    wake: Arc<OwnedFd>,
    watched: RefCell<Vec<Rc<Watched>>>,
    demanded: Option<EngineKind>,
    engine: RefCell<Option<Engine>>,
    /// Answers that wait in queues to be polled.
    ready: Cell<usize>,
    /// What `poll` is given; kept so that sleeping does not allocate.
    polled: RefCell<Vec<libc::pollfd>>,
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
    /// A driver for this thread, with the engine that `ASHLAR_IO` demands or the best there is.
    pub fn new() -> Result<Self> {
        match std::env::var_os(ENGINE_VARIABLE) {
            None => Self::with_demand(None),
            Some(value) if value.is_empty() => Self::with_demand(None),
            Some(value) if value == "threads" => Self::with_engine(EngineKind::Threads),
            Some(value) if value == "uring" => Self::with_engine(EngineKind::Uring),
            Some(value) => {
                let what = format!(
                    "{ENGINE_VARIABLE} is {}: set it to threads or uring",
                    value.display()
                );
                Err(Error::new(Kind::Open, what))
            }
        }
    }

    /// A driver whose files are read and written through an engine of `kind` and nothing else.
    pub fn with_engine(kind: EngineKind) -> Result<Self> {
        let driver = Self::with_demand(Some(kind))?;
        driver.engine()?;
        Ok(driver)
    }

    fn with_demand(demanded: Option<EngineKind>) -> Result<Self> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|errno| Error::io("cannot make an eventfd", errno.into()))?;
        Ok(Self {
            inner: Rc::new(Inner {
                wake: Arc::new(wake),
                watched: RefCell::default(),
                demanded,
                engine: RefCell::new(None),
                ready: Cell::new(0),
                polled: RefCell::default(),
            }),
        })
    }

    /// The engine that this driver uses; sets it up if that has not happened yet.
    pub fn engine_kind(&self) -> Result<EngineKind> {
        Ok(self.engine()?.kind())
    }

    /// The engine that was demanded, if one was: then no I/O on files goes around it.
    pub fn demanded_engine(&self) -> Option<EngineKind> {
        self.inner.demanded
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
    /// ready, a [`Waker`] was used, or `timeout` has passed. May return early. Gives what was
    /// submitted to the kernel first.
    pub fn wait(&self, others: &mut [Interest<'_>], timeout: Option<Duration>) -> Result<()> {
        let mut engine = self.inner.engine.borrow_mut();
        let mut fds = self.inner.polled.borrow_mut();
        fds.clear();
        fds.extend(others.iter().map(|one| entry(one.fd, one.readiness)));
        for watched in self.inner.watched.borrow().iter() {
            let readiness = watched.readiness.get();
            fds.extend(readiness.map(|readiness| entry(watched.fd.as_fd(), readiness)));
        }
        let alone = fds.is_empty();
        if alone
            && timeout.is_none()
            && self.inner.ready.get() == 0
            && engine.as_mut().is_some_and(Engine::do_only_job)
        {
            return Ok(());
        }
        debug_assert!(fds.len() >= others.len(), "each interest has its entry");
        let idle = engine.as_mut().is_none_or(Engine::may_sleep) && self.inner.ready.get() == 0;
        let timeout = if idle { timeout } else { Some(Duration::ZERO) };
        let slept = match engine.as_mut() {
            Some(engine) if alone || engine.ring_is_busy() => engine.sleep(&mut fds, timeout),
            _ => None,
        };
        let slept = slept.unwrap_or_else(|| {
            fds.push(entry(self.inner.wake.as_fd(), Readiness::Readable));
            let polled = poll(&mut fds, timeout);
            if fds.last().is_some_and(|wake| wake.revents != 0) {
                drain(&self.inner.wake);
            }
            polled
        });
        for (other, fd) in others.iter_mut().zip(fds.iter()) {
            other.ready = fd.revents != 0;
        }
        if let Some(engine) = engine.as_mut() {
            engine.awake();
        }
        slept.map_err(|error| Error::io("cannot wait for events", error))
    }

    /// Counts answers that wait to be polled.
    pub(crate) fn count_ready(&self, change: isize) {
        let ready = self.inner.ready.get().checked_add_signed(change);
        let ready = ready.expect("answers are counted once");
        self.inner.ready.set(ready);
    }

    /// The engine, set up if need be.
    fn engine(&self) -> Result<RefMut<'_, Engine>> {
        let mut engine = self.inner.engine.borrow_mut();
        if engine.is_none() {
            let wake = || Arc::clone(&self.inner.wake);
            let made = match self.inner.demanded {
                Some(kind) => patiently(|| Engine::new(kind, wake())),
                None => Engine::new(EngineKind::Uring, wake())
                    .or_else(|_| Engine::new(EngineKind::Threads, wake())),
            };
            let what = "cannot set up io_uring (forbidden in this container or too old a kernel?); \
                        ASHLAR_IO=threads does without";
            *engine = Some(made.map_err(|error| Error::io(what, error).with_kind(Kind::Open))?);
        }
        Ok(RefMut::map(engine, |engine| {
            engine.as_mut().expect("it was just set up")
        }))
    }

    /// A number for a queue that gives jobs to the engine.
    pub(crate) fn open_queue(&self) -> Result<u32> {
        Ok(self.engine()?.open_queue())
    }

    /// What queues with a number do with the engine.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut Engine) -> T) -> T {
        let mut engine = self.inner.engine.borrow_mut();
        act(engine
            .as_mut()
            .expect("a queue with a number has an engine"))
    }

    /// Takes a job; the kernel gets it with the next turn or wait, or before.
    pub(crate) fn give(&self, job: Job) {
        self.with(|engine| engine.give(job));
    }

    /// Gives jobs to the kernel and moves the answers to `queue` into `answers`.
    pub(crate) fn turn(&self, queue: u32, answers: &mut Vec<Done>) {
        self.with(|engine| {
            // A ring that cannot be entered now is entered by the next wait, which reports it.
            let _ = engine.turn();
            engine.fetch(queue, answers);
        });
    }
}

/// Makes what was demanded. A closed ring counts against its user's locked memory until the kernel
/// has taken it down, some time later; that is waited for.
fn patiently(make: impl Fn() -> std::io::Result<Engine>) -> std::io::Result<Engine> {
    let end = Instant::now() + MEMORY_MAX;
    loop {
        match make() {
            Err(error) if error.kind() == ErrorKind::OutOfMemory && Instant::now() < end => {
                std::thread::sleep(MEMORY_RETRY);
            }
            made => return made,
        }
    }
}

fn entry(fd: BorrowedFd<'_>, readiness: Readiness) -> libc::pollfd {
    libc::pollfd {
        fd: fd.as_raw_fd(),
        events: readiness.events(),
        revents: 0,
    }
}

/// `ppoll`; an interrupted one counts as over.
fn poll(fds: &mut [libc::pollfd], timeout: Option<Duration>) -> std::io::Result<()> {
    let time = timeout.map(|timeout| libc::timespec {
        tv_sec: timeout.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    });
    let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let count = fds.len() as libc::nfds_t;
    // SAFETY: the entries are a live slice of `count`, and the time is null or lives here.
    if unsafe { libc::ppoll(fds.as_mut_ptr(), count, time, std::ptr::null()) } < 0 {
        let error = std::io::Error::last_os_error();
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(error);
        }
        for fd in fds {
            fd.revents = 0;
        }
    }
    Ok(())
}

/// Makes an eventfd unreadable again.
pub(crate) fn drain(wake: &OwnedFd) {
    let _ = rustix::io::read(wake, &mut [0_u8; 8]);
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
    fn events(self) -> i16 {
        match self {
            Self::Readable => libc::POLLIN,
            Self::Writable => libc::POLLOUT,
            Self::Both => libc::POLLIN | libc::POLLOUT,
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
        let before = watched.len();
        watched.retain(|other| !Rc::ptr_eq(other, &self.watched));
        debug_assert_eq!(
            watched.len() + 1,
            before,
            "what is watched is in the list once"
        );
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
