//! The owner, for one at a time and for a moment; whoever had it leaves behind what others may know
//! meanwhile. The bench lies beside it, and is away for as long as a job takes.

use std::ops::{Deref, DerefMut};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::bench::{Bench, Job};
use super::owner::Owner;
use super::status::Known;

/// An owner, and what is known of it without waiting.
pub(super) struct Shelf {
    owner: Mutex<Owner>,
    known: Mutex<Known>,
    /// Whoever waits for the bench is told that it is back.
    returned: Condvar,
}

/// The owner, until this is dropped. Nobody does with it what may take long.
pub(super) struct Taken<'a> {
    owner: MutexGuard<'a, Owner>,
    known: &'a Mutex<Known>,
}

impl Shelf {
    pub(super) fn new(owner: Owner) -> Self {
        let known = Mutex::new(owner.known());
        Self {
            owner: Mutex::new(owner),
            known,
            returned: Condvar::new(),
        }
    }

    /// The owner, which others have for moments only.
    pub(super) fn take(&self) -> Taken<'_> {
        Taken {
            owner: self.locked(),
            known: &self.known,
        }
    }

    /// What was so when the owner was free last. Does not wait.
    pub(super) fn known(&self) -> Known {
        let known = self.known.lock();
        known.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for the end of the job that is under way, however long that takes.
    pub(super) fn job(&self) -> Job<'_> {
        let waited = self
            .returned
            .wait_while(self.locked(), |owner| owner.bench.is_none());
        let mut owner = waited.unwrap_or_else(PoisonError::into_inner);
        let bench = owner.bench.take().expect("it was waited for");
        Job::new(self, bench)
    }

    /// The same; `None`: it did not end within `limit`.
    pub(super) fn job_within(&self, limit: Duration) -> Option<Job<'_>> {
        let waited = self
            .returned
            .wait_timeout_while(self.locked(), limit, |owner| owner.bench.is_none());
        let (mut owner, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let bench = owner.bench.take()?;
        Some(Job::new(self, bench))
    }

    /// The end of a job.
    pub(super) fn put_back(&self, bench: Bench) {
        let mut owner = self.locked();
        assert!(owner.bench.is_none(), "there is one");
        owner.bench = Some(bench);
        drop(owner);
        self.returned.notify_one();
    }

    fn locked(&self) -> MutexGuard<'_, Owner> {
        self.owner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Deref for Taken<'_> {
    type Target = Owner;

    fn deref(&self) -> &Owner {
        &self.owner
    }
}

impl DerefMut for Taken<'_> {
    fn deref_mut(&mut self) -> &mut Owner {
        &mut self.owner
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let known = self.owner.known();
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = known;
    }
}
