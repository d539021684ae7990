//! What a command finds on the disks: one look, kept until something is written.
//!
//! ```text
//!   checks of words ─▸ ┐                          ┌ an owner: the plan is made from it
//!   checks of types ─▸ ├─ one look ─▸ the change ─┤
//!   checks of places ▸ ┘              forgets it  └ others: the plan is made from a later look,
//!                                                   under locks
//! ```
//!
//! What a command refuses before its change it refuses because of this look. It is no proof: where
//! the command is no owner, others may change the disks meanwhile, and the change looks again.

use std::cell::RefCell;
use std::rc::Rc;

use ashlar::apply::Disks;
use ashlar::host::Host;
use ashlar::scan::Scan;

/// The disks, and what was found on them last.
pub(super) struct Look {
    disks: Box<dyn Disks>,
    kept: RefCell<Option<Rc<Scan>>>,
    /// What was found and is to be told.
    untold: RefCell<Option<Rc<Scan>>>,
}

impl Look {
    /// These disks, of which nothing is known.
    pub(super) fn new(disks: Box<dyn Disks>) -> Self {
        Self {
            disks,
            kept: RefCell::default(),
            untold: RefCell::default(),
        }
    }

    /// Looks at the disks, unless it is known what is on them.
    pub(super) fn scan(&self, host: &Host) -> ashlar::Result<Rc<Scan>> {
        if let Some(scan) = &*self.kept.borrow() {
            return Ok(Rc::clone(scan));
        }
        let scan = Rc::new(self.disks.scan(host)?);
        self.kept.replace(Some(Rc::clone(&scan)));
        self.untold.replace(Some(Rc::clone(&scan)));
        Ok(scan)
    }

    /// What was found last, once.
    pub(super) fn untold(&self) -> Option<Rc<Scan>> {
        self.untold.take()
    }

    /// What is known, without a look.
    pub(super) fn kept(&self) -> Option<Scan> {
        self.kept.borrow().as_deref().cloned()
    }

    /// Forgets what was found, since something else may be there now; gives it.
    pub(super) fn forget(&self) -> Option<Scan> {
        self.kept.take().map(Rc::unwrap_or_clone)
    }

    /// The disks themselves.
    pub(super) fn disks(&self) -> &dyn Disks {
        &*self.disks
    }
}

#[cfg(test)]
mod tests;
