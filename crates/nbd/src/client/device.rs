//! The device: what the server said, and who may open queues.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::address::Address;
use super::connect::{Agreed, CONNECT_MAX, Connection, connect};
use super::queue::NbdQueue;
use super::status;
use crate::wire::constants::{
    FLAG_CAN_MULTI_CONN, FLAG_READ_ONLY, FLAG_ROTATIONAL, FLAG_SEND_FLUSH, FLAG_SEND_FUA,
    FLAG_SEND_TRIM,
};
use block::{Device, Driver, Error, Extent, ExtentKind, Info, Kind, Queue, Range, Result};

/// What the medium behind a server may lose as a whole: the block of today's disks and file
/// systems, since no server says it.
const PHYSICAL_BLOCK: u32 = 4096;

/// An export of an NBD server.
#[derive(Debug)]
pub struct NbdDevice {
    address: Address,
    agreed: Agreed,
    info: Info,
    /// The first connection: the first queue takes it, since some servers have one client at a
    /// time. Later it is one for extents.
    spare: Mutex<Option<Connection>>,
    queue_count: Arc<AtomicUsize>,
}

impl NbdDevice {
    /// Connects to the export that an NBD URI names.
    pub fn open(uri: &str) -> Result<Self> {
        Self::connect(Address::parse(uri)?)
    }

    /// Connects to an export.
    pub fn connect(address: Address) -> Result<Self> {
        let connection = connect(&address, CONNECT_MAX)?;
        let agreed = connection.agreed.clone();
        Ok(Self {
            info: describe(&address, &agreed),
            address,
            agreed,
            spare: Mutex::new(Some(connection)),
            queue_count: Arc::default(),
        })
    }

    fn has(&self, flag: u16) -> bool {
        self.agreed.flags & flag != 0
    }

    /// Another connection to the same export.
    fn reconnect(&self) -> Result<Connection> {
        let connection = connect(&self.address, CONNECT_MAX)?;
        if connection.agreed.size < self.agreed.size {
            let what = format!("{} has shrunk; open it again", self.address);
            return Err(Error::new(Kind::Gone, what));
        }
        Ok(connection)
    }

    fn take_spare(&self) -> Option<Connection> {
        self.spare
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

impl Device for NbdDevice {
    fn info(&self) -> Info {
        self.info.clone()
    }

    fn open_queue(&self, driver: &Driver) -> Result<Box<dyn Queue>> {
        let slot = QueueSlot::take(&self.queue_count);
        if slot.number > 0 && !self.has(FLAG_CAN_MULTI_CONN) && !self.info.read_only {
            let what = format!(
                "the server of {} does not say that a flush covers all its connections: \
                 only one queue can write",
                self.address
            );
            return Err(Error::new(Kind::Unsupported, what));
        }
        let connection = match self.take_spare() {
            Some(connection) => connection,
            None => self.reconnect()?,
        };
        let name = self.info.name.clone();
        Ok(Box::new(NbdQueue::new(
            name,
            connection,
            driver,
            Some(slot),
        )))
    }

    fn extents(&self, range: Range, count_max: usize) -> Result<Vec<Extent>> {
        let all_data = || {
            vec![Extent {
                len: range.len(),
                kind: ExtentKind::Data,
            }]
        };
        if self.agreed.context.is_none() || range.is_empty() {
            return Ok(all_data());
        }
        let connection = match self.take_spare() {
            Some(connection) => connection,
            None if self.has(FLAG_CAN_MULTI_CONN) => self.reconnect()?,
            None => return Ok(all_data()),
        };
        // A connection that failed is not used again.
        let extents = status::extents(&connection, range, count_max)?;
        *self.spare.lock().unwrap_or_else(PoisonError::into_inner) = Some(connection);
        Ok(extents)
    }
}

/// A queue's place in the count of queues.
#[derive(Debug)]
pub(super) struct QueueSlot {
    count: Arc<AtomicUsize>,
    number: usize,
}

impl QueueSlot {
    fn take(count: &Arc<AtomicUsize>) -> Self {
        Self {
            number: count.fetch_add(1, Ordering::Relaxed),
            count: Arc::clone(count),
        }
    }
}

impl Drop for QueueSlot {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What an export is for us.
pub(super) fn describe(address: &Address, agreed: &Agreed) -> Info {
    let has = |flag| agreed.flags & flag != 0;
    let minimum = agreed.sizes.minimum;
    // Most servers take single bytes; whole sectors are what the rest of us speaks.
    let logical = if agreed.size.is_multiple_of(512) {
        minimum.max(512)
    } else {
        minimum
    };
    let mut info = Info::new(
        address.to_string(),
        agreed.size / u64::from(logical) * u64::from(logical),
    );
    info.logical_block = logical;
    info.physical_block = PHYSICAL_BLOCK.max(logical);
    info.optimal_io = agreed.sizes.preferred;
    info.rotational = has(FLAG_ROTATIONAL);
    info.discard_granularity = if has(FLAG_SEND_TRIM) { logical } else { 0 };
    info.fua = has(FLAG_SEND_FUA);
    info.durable = has(FLAG_SEND_FLUSH);
    info.read_only = has(FLAG_READ_ONLY);
    info
}
