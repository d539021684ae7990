//! The device: what the server said first, and the thread that holds on to it.

use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::inbox::{Inbox, Message, ReconnectingQueue};
use super::owner::Owner;
use crate::client::address::Address;
use crate::client::connect::{CONNECT_MAX, Connection, connect};
use crate::client::device::describe;
use crate::client::status;
use crate::wire::constants::FLAG_CAN_MULTI_CONN;
use block::{
    BlockingDevice, Device, Driver, Error, Extent, ExtentKind, Info, Kind, Queue, Range, Result,
};

/// An export of an NBD server, over as many connections as it takes.
pub struct ReconnectingDevice {
    address: Address,
    info: Info,
    handle: Arc<Handle>,
    extents: Mutex<Extents>,
    flags: u16,
}

/// Where extents are asked for: a connection of its own, to the server of the first connection.
enum Extents {
    Unasked,
    Asked(Connection),
    /// The server may have lost writes that are still to be repeated; what it says about holes
    /// is not to be trusted.
    Unknown,
}

impl std::fmt::Debug for ReconnectingDevice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ReconnectingDevice({})", self.address)
    }
}

impl ReconnectingDevice {
    /// Connects to an export. Later, requests fail that have waited for `timeout`: for an answer,
    /// or for the server to come back.
    pub fn open(address: Address, timeout: Duration) -> Result<Self> {
        let connection = connect(&address, timeout.min(CONNECT_MAX))?;
        let info = describe(&address, &connection.agreed);
        let flags = connection.agreed.flags;
        let (sender, receiver) = mpsc::channel();
        let (of_owner, name) = (address.clone(), info.name.clone());
        let thread = std::thread::Builder::new()
            .name("nbd-client".to_owned())
            .spawn(move || match Driver::new() {
                Ok(driver) => {
                    let inbox = Arc::new(Inbox::new(driver.waker()));
                    let _ = sender.send(Ok(Arc::clone(&inbox)));
                    Owner::new(driver, inbox, of_owner, name, connection, timeout).run();
                }
                Err(error) => _ = sender.send(Err(error)),
            })
            .map_err(|error| Error::io("cannot start a thread", error))?;
        let gone = |_| Error::new(Kind::Gone, "a thread ended at once");
        let inbox = receiver.recv().map_err(gone)??;
        Ok(Self {
            address,
            info,
            flags,
            extents: Mutex::new(Extents::Unasked),
            handle: Arc::new(Handle {
                inbox,
                thread: Some(thread),
            }),
        })
    }

    /// Whether requests have a chance: the server has not changed, broken the protocol, or kept
    /// silent. Once false, this stays so; open the device again.
    pub fn is_usable(&self) -> bool {
        !self.handle.inbox.is_over()
    }

    /// Knows the export by `bytes`, which stand at byte `start`: a server that comes back and has
    /// neither these there, nor what was written over them through this device, is given up before
    /// anything is written to it. `otherwise` says what that would mean ("it has another serial
    /// number"). Who writes to the export in another way must not mark what is written.
    ///
    /// # Panics
    /// If the bytes do not lie in the export.
    pub fn mark(&self, start: u64, bytes: Vec<u8>, otherwise: impl Into<String>) {
        let end = start.checked_add(bytes.len() as u64);
        assert!(
            end.is_some_and(|end| end <= self.info.size),
            "a mark lies in its export"
        );
        self.handle
            .inbox
            .marks()
            .learn(start, bytes, otherwise.into());
    }

    /// A second connection that is known to lead to the same server as the first one.
    fn second_connection(&self) -> Result<Option<Connection>> {
        let second = connect(&self.address, CONNECT_MAX)?;
        // An answer over the first connection, after the second was made: neither has ended.
        let block = u64::from(self.info.logical_block);
        BlockingDevice::open(self)?.read(Range::new(0, block))?;
        let same = self.handle.inbox.losses() == 0 && second.agreed.size >= self.info.size;
        Ok(same.then_some(second))
    }
}

impl Device for ReconnectingDevice {
    fn info(&self) -> Info {
        self.info.clone()
    }

    fn open_queue(&self, driver: &Driver) -> Result<Box<dyn Queue>> {
        Ok(Box::new(ReconnectingQueue::new(driver, &self.handle)))
    }

    fn extents(&self, range: Range, count_max: usize) -> Result<Vec<Extent>> {
        let all_data = vec![Extent {
            len: range.len(),
            kind: ExtentKind::Data,
        }];
        if self.flags & FLAG_CAN_MULTI_CONN == 0 || range.is_empty() || self.info.size == 0 {
            return Ok(all_data);
        }
        let mut state = self.extents.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, Extents::Unasked) {
            // Without a second connection the bytes can still be read.
            *state = match self.second_connection() {
                Ok(Some(connection)) if connection.agreed.context.is_some() => {
                    Extents::Asked(connection)
                }
                _ => Extents::Unknown,
            };
        }
        let found = match &*state {
            Extents::Asked(connection) if self.handle.inbox.losses() == 0 => {
                status::extents(connection, range, count_max).ok()
            }
            _ => None,
        };
        // It is still the first server if its connection has just answered.
        Ok(found.unwrap_or_else(|| {
            *state = Extents::Unknown;
            all_data
        }))
    }
}

/// Held by the device and its queues; the last one to leave ends the owner.
pub(super) struct Handle {
    inbox: Arc<Inbox>,
    thread: Option<JoinHandle<()>>,
}

impl Handle {
    pub(super) fn inbox(&self) -> &Arc<Inbox> {
        &self.inbox
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.inbox.mailbox.send(&mut vec![Message::End]);
        // Nothing is in flight, so it does not take long.
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
