//! The volume itself: a name and the table that it has now.

use std::any::Any;
use std::sync::Arc;

use block::{Access, Device, Driver, Extent, Info, Queue, Range, Result};

use super::extents;
use super::generation::Generation;
use super::queue::VolumeQueue;
use super::swap::{Shared, Suspension};
use crate::table::Table;
use crate::{Error, Kind};

/// A table served as a device. Clones share it.
#[derive(Clone)]
pub struct Volume {
    shared: Arc<Shared>,
}

impl Volume {
    /// A volume that people know as `name`, made of what `table` says.
    pub fn new(name: impl Into<String>, access: Access, table: Table) -> Self {
        let name = name.into();
        let first = Generation::new(1, &name, access, table, &[]);
        Self {
            shared: Arc::new(Shared::new(name, access, first)),
        }
    }

    /// `kept` is dropped with the last clone of the volume and its last queue: locks, for instance.
    /// For a volume that nobody has yet.
    pub fn keeping(mut self, kept: Arc<dyn Any + Send + Sync>) -> Self {
        let shared = Arc::get_mut(&mut self.shared).expect("it was just made");
        shared.keep(kept);
        self
    }

    /// Stops giving requests to the devices, so that the table can be exchanged. Requests that
    /// come in are held until the suspension is published or dropped.
    pub fn suspend(&self) -> crate::Result<Suspension> {
        Suspension::begin(&self.shared)
    }

    /// Exchanges the table for one in which each present byte stays where it is: the volume grew,
    /// or nothing changed. Needs no drain, so it does not wait.
    pub fn grow(&self, table: Table) -> crate::Result<()> {
        self.shared.grow(table)
    }

    /// Whether [`Volume::grow`] would take this table.
    pub fn is_growth(&self, table: &Table) -> bool {
        table.extends(&self.shared.current().table)
    }

    /// The number of the present table; it counts from 1.
    pub fn generation(&self) -> u64 {
        self.shared.current().number
    }
}

impl Device for Volume {
    fn info(&self) -> Info {
        self.shared.current().info.clone()
    }

    fn open_queue(&self, driver: &Driver) -> Result<Box<dyn Queue>> {
        let queue = VolumeQueue::open(&self.shared, driver)?;
        Ok(Box::new(queue))
    }

    fn extents(&self, range: Range, count_max: usize) -> Result<Vec<Extent>> {
        extents::of(&self.shared.current(), range, count_max)
    }
}

impl Shared {
    fn grow(&self, table: Table) -> crate::Result<()> {
        self.publish(table, |before, table| {
            if table.extends(&before.table) {
                return Ok(());
            }
            let what = format!(
                "{}: the new table moves bytes in use; suspend the volume to exchange it",
                self.name
            );
            Err(Error::new(Kind::Busy, what))
        })
    }
}
