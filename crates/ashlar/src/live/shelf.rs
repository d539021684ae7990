//! The owner, for one at a time; whoever had it leaves behind what others may know meanwhile.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::owner::Owner;
use super::status::Known;

/// An owner, and what is known of it without waiting.
pub(super) struct Shelf {
    owner: Mutex<Owner>,
    known: Mutex<Known>,
}

/// The owner, until this is dropped.
pub(super) struct Taken<'a> {
    owner: MutexGuard<'a, Owner>,
    known: &'a Mutex<Known>,
}

impl Shelf {
    pub(super) fn new(owner: Owner) -> Self {
        let known = Mutex::new(owner.known());
        let owner = Mutex::new(owner);
        Self { owner, known }
    }

    /// Waits until nobody else has the owner.
    pub(super) fn take(&self) -> Taken<'_> {
        let owner = self.owner.lock();
        Taken {
            owner: owner.unwrap_or_else(PoisonError::into_inner),
            known: &self.known,
        }
    }

    /// What was so when the owner was free last. Does not wait.
    pub(super) fn known(&self) -> Known {
        let known = self.known.lock();
        known.unwrap_or_else(PoisonError::into_inner).clone()
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
