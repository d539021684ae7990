//! What a queue waits for.
//!
//! A device's request may be several of the protocol's, if it is longer than the server takes.
//! They share a slot; a cookie is the slot's index and the piece's number.

use block::{Buffer, Error, Request};

/// A request in flight.
#[derive(Debug)]
pub(super) struct Slot {
    /// Its buffer is empty while a write's data is being sent.
    pub(super) request: Request,
    /// Pieces without their last reply.
    pub(super) pieces: u32,
    /// Bytes of a read that have come.
    pub(super) received: u64,
    /// The first error that the server told.
    pub(super) error: Option<Error>,
    /// What happens when all pieces are done.
    pub(super) stage: Stage,
}

/// What happens when all pieces are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The request is answered.
    Last,
    /// A flush follows: the server does not know FUA.
    ThenFlush,
}

/// A piece of a request in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cookie {
    pub(super) slot: u32,
    pub(super) piece: u32,
}

impl Cookie {
    pub(super) fn to_wire(self) -> u64 {
        u64::from(self.piece) << 32 | u64::from(self.slot)
    }

    pub(super) fn from_wire(cookie: u64) -> Self {
        Self {
            slot: cookie as u32,
            piece: (cookie >> 32) as u32,
        }
    }
}

/// All requests in flight.
#[derive(Debug, Default)]
pub(super) struct Slots {
    table: Vec<Option<Slot>>,
    free: Vec<u32>,
}

impl Slots {
    pub(super) fn insert(&mut self, slot: Slot) -> u32 {
        if let Some(index) = self.free.pop() {
            self.table[index as usize] = Some(slot);
            return index;
        }
        self.table.push(Some(slot));
        self.table.len() as u32 - 1
    }

    /// The request in this slot, if there is one: a server may name any.
    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut Slot> {
        self.table.get_mut(index as usize)?.as_mut()
    }

    pub(super) fn remove(&mut self, index: u32) -> Option<Slot> {
        let slot = self.table.get_mut(index as usize)?.take()?;
        self.free.push(index);
        Some(slot)
    }

    pub(super) fn len(&self) -> usize {
        self.table.len() - self.free.len()
    }

    /// Takes any request out.
    pub(super) fn pop(&mut self) -> Option<Slot> {
        let index = self.table.iter().position(Option::is_some)?;
        self.remove(index as u32)
    }

    /// Gives a write the data back that has been sent.
    pub(super) fn give_back(&mut self, index: u32, data: Buffer) {
        if let Some(slot) = self.get_mut(index) {
            slot.request.buffer.unsplit(data);
        }
    }
}

#[cfg(test)]
mod tests;
