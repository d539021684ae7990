//! Work on a thread of its own that counts what it has done, until it is told to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::args::Error;
use crate::demo::interrupt::Interrupt;

/// How long one more may take, on a machine that has much else to do.
const MORE_MAX: Duration = Duration::from_mins(1);
const PERIOD: Duration = Duration::from_millis(5);

/// What the work and those who wait for it share.
#[derive(Debug, Default)]
pub(super) struct Progress {
    stop: AtomicBool,
    count: AtomicU64,
}

/// The work. Dropped, it is told to stop, and not waited for.
pub(super) struct Background<T> {
    progress: Arc<Progress>,
    thread: Option<JoinHandle<T>>,
}

impl Progress {
    /// Whether the work is to stop.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// So much was done in all.
    pub(super) fn done(&self, count: u64) {
        self.count.store(count, Ordering::Relaxed);
    }
}

impl<T: Send + 'static> Background<T> {
    /// Starts `work` on a thread called `name`.
    pub(super) fn start(
        name: &str,
        work: impl FnOnce(&Progress) -> T + Send + 'static,
    ) -> Result<Self, Error> {
        let progress = Arc::new(Progress::default());
        let told = Arc::clone(&progress);
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || work(&told))
            .map_err(|error| Error::failed("Cannot start a thread").because(error))?;
        Ok(Self {
            progress,
            thread: Some(thread),
        })
    }

    /// Waits until `more` was done after this; fails with `stalled` where it is not.
    pub(super) fn wait(
        &self,
        more: u64,
        stalled: &str,
        interrupt: &Interrupt,
    ) -> Result<(), Error> {
        let count = || self.progress.count.load(Ordering::Relaxed);
        let wanted = count() + more;
        let deadline = Instant::now() + MORE_MAX;
        while count() < wanted {
            interrupt.check()?;
            let ended = self.thread.as_ref().is_none_or(JoinHandle::is_finished);
            if ended || Instant::now() >= deadline {
                return Err(Error::failed(stalled));
            }
            std::thread::sleep(PERIOD);
        }
        Ok(())
    }

    /// Stops it, and waits for what it has to say; nothing the second time.
    pub(super) fn end(&mut self) -> Option<Result<T, Error>> {
        self.progress.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take()?.join();
        Some(ended.map_err(|_| Error::failed("The writer ended early")))
    }
}

impl<T> Drop for Background<T> {
    fn drop(&mut self) {
        self.progress.stop.store(true, Ordering::Relaxed);
    }
}
