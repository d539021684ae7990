//! Exchanging the table of a volume in use.
//!
//! What its queues share is a gate ([`crate::gate`]): whoever suspends closes it, and requests that
//! come in wait in their queues until it opens again.
//!
//! ```text
//!   suspend()    the gate closes
//!   drained      the devices have nothing of this volume
//!   (the caller makes its metadata durable)
//!   publish(t)   the new generation is current; the gate opens; all queues are woken
//! ```

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use super::Access;
use super::generation::Generation;
use crate::gate::{Closed, Gateway};
use crate::table::Table;
use crate::{Error, Kind, Result};

/// What the queues of a volume share.
pub(super) struct Shared {
    pub(super) name: String,
    access: Access,
    pub(super) gateway: Arc<Gateway<Generation>>,
    kept: Option<Arc<dyn Any + Send + Sync>>,
}

impl Shared {
    pub(super) fn new(name: String, access: Access, first: Generation) -> Self {
        Self {
            name,
            access,
            gateway: Arc::new(Gateway::new(first.number, first)),
            kept: None,
        }
    }

    pub(super) fn keep(&mut self, kept: Arc<dyn Any + Send + Sync>) {
        assert!(self.kept.is_none(), "one thing is kept");
        self.kept = Some(kept);
    }

    pub(super) fn current(&self) -> Arc<Generation> {
        self.gateway.current().1
    }

    /// Makes `table` the current one if `admit` lets it follow the one before.
    pub(super) fn publish(
        &self,
        table: Table,
        admit: impl FnOnce(&Generation, &Table) -> Result<()>,
    ) -> Result<()> {
        self.gateway.publish(|number, before| {
            admit(before, &table)?;
            let (name, access, legs) = (&self.name, self.access, &before.legs);
            Ok(Generation::new(number + 1, name, access, table, legs))
        })
    }
}

/// A volume that gives no new requests to its devices. Dropping it resumes with the table as it
/// is; [`Suspension::publish`] resumes with a new one.
///
/// Each thread with a queue must go on polling it for its requests to drain; a thread that has
/// queues of the volume itself polls [`Suspension::is_drained`] rather than waiting.
#[must_use = "dropping a suspension resumes the volume"]
pub struct Suspension {
    shared: Arc<Shared>,
    closed: Closed<Generation>,
}

impl Suspension {
    pub(super) fn begin(shared: &Arc<Shared>) -> Result<Self> {
        let Some(closed) = Closed::begin(&shared.gateway) else {
            let what = format!("{} is being suspended by somebody else", shared.name);
            return Err(Error::new(Kind::Busy, what));
        };
        Ok(Self {
            shared: Arc::clone(shared),
            closed,
        })
    }

    /// Whether the devices have nothing of this volume any more.
    pub fn is_drained(&self) -> bool {
        self.closed.is_drained()
    }

    /// Waits until the devices have nothing of this volume any more, at most for `limit`.
    pub fn wait(&self, limit: Duration) -> Result<()> {
        if self.closed.wait(limit) {
            return Ok(());
        }
        let what = format!(
            "requests of {} were not answered within {limit:?}; it goes on as it was",
            self.shared.name
        );
        Err(Error::new(Kind::TimedOut, what))
    }

    /// Resumes with `table`, which may say anything. Refused while requests are in flight.
    pub fn publish(self, table: Table) -> Result<()> {
        if !self.is_drained() {
            let what = format!("{} still has requests in flight", self.shared.name);
            return Err(Error::new(Kind::Busy, what));
        }
        self.shared.publish(table, |_, _| Ok(()))
    }
}

#[cfg(test)]
mod tests;
