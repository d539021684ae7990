//! The requests of one connection that wait for their answers. Slots are used again, so a steady
//! state allocates nothing; a slot's index is the tag of its request on the device's queue.

use crate::wire::RequestHeader;

/// What is known about a request in flight.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    /// As the client sent it.
    pub(super) header: RequestHeader,
    /// How many bytes it counts for in the connection's limit.
    pub(super) charge: usize,
    /// What the next answer of the device means.
    pub(super) stage: Stage,
}

/// What the next answer of the device means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The request is done.
    Last,
    /// The request is done; its data begins this many bytes into the buffer.
    Cut(u32),
    /// A flush follows: a discard is not durable by itself.
    ThenFlush,
    /// One piece of a read-ahead is done; the next one begins at this byte of the device.
    Cache(u64),
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Slots {
    table: Vec<Option<Slot>>,
    free: Vec<u32>,
    charged: usize,
}

impl Slots {
    /// Keeps a request; the tag leads to it.
    pub(super) fn insert(&mut self, slot: Slot) -> u64 {
        self.charged += slot.charge;
        if let Some(index) = self.free.pop() {
            self.table[index as usize] = Some(slot);
            return u64::from(index);
        }
        self.table.push(Some(slot));
        self.table.len() as u64 - 1
    }

    /// The request of this tag, to change it.
    pub(super) fn get_mut(&mut self, tag: u64) -> &mut Slot {
        self.table[tag as usize]
            .as_mut()
            .expect("a request is answered once")
    }

    /// The request of this tag, which is done.
    pub(super) fn remove(&mut self, tag: u64) -> Slot {
        let slot = self.table[tag as usize]
            .take()
            .expect("a request is answered once");
        self.free.push(tag as u32);
        self.charged -= slot.charge;
        slot
    }

    /// How many requests there are.
    pub(super) fn len(&self) -> usize {
        self.table.len() - self.free.len()
    }

    /// What they count for, in bytes.
    pub(super) fn charged(&self) -> usize {
        self.charged
    }
}
