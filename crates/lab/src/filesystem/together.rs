//! Several processes that read and update places of files: the seekers of Bonnie.
//!
//! ```text
//!   places ─▸ ▢ ▢ ▢ so many under way ─▸ the first that is ready is served, and takes the next
//! ```
//!
//! All their reads wait at the device at the same time, which is what several processes are for.
//! The processor is one: what a process computes, or waits for while it writes, the others wait
//! too; so does reading the blocks that list a file's blocks, which are in memory after the first.

use super::engine::{Blame, FileSystem};
use super::files::Node;
use super::options::BLOCK;
use super::readahead::Fetch;
use crate::component::Component;
use crate::error::Result;
use crate::workload::program::AccessKind;

/// An access, and what it waits for once it is under way.
#[derive(Debug, Clone)]
pub(super) struct Flight {
    node: Node,
    at: u64,
    bytes: u64,
    kind: AccessKind,
    blocks: Vec<u32>,
}

impl Flight {
    pub(super) fn new(node: Node, at: u64, bytes: u64, kind: AccessKind) -> Self {
        Self {
            node,
            at,
            bytes,
            kind,
            blocks: Vec::new(),
        }
    }

    /// Whether all of it is in memory, or was and had to make room.
    fn is_ready(&self, system: &FileSystem) -> bool {
        let mut blocks = self.blocks.iter();
        blocks.all(|&block| system.cache.get(block).is_none_or(|page| !page.reading))
    }
}

impl FileSystem {
    /// Does accesses, so many at a time; how many bytes were read.
    pub(super) fn together(&mut self, callers: usize, flights: Vec<Flight>) -> Result<u64> {
        let mut waiting = flights.into_iter();
        let mut under_way: Vec<Flight> = Vec::new();
        let mut read = 0;
        loop {
            while under_way.len() < callers
                && let Some(mut flight) = waiting.next()
            {
                self.take_off(&mut flight);
                under_way.push(flight);
            }
            if under_way.is_empty() {
                return Ok(read);
            }
            self.wait(Blame::Component(Component::FileData), |system| {
                under_way.iter().any(|flight| flight.is_ready(system))
            });
            let ready = under_way.iter().position(|flight| flight.is_ready(self));
            let flight = under_way.remove(ready.expect("one was waited for"));
            read += self.land(&flight)?;
        }
    }

    /// Hands in the reading of what is not in memory.
    fn take_off(&mut self, flight: &mut Flight) {
        self.compute(self.options.costs.call_ns);
        let number = flight.node.number();
        let end = (flight.at + flight.bytes).min(self.inodes.get(number).size);
        if flight.at >= end {
            return;
        }
        let first = (flight.at / BLOCK) as u32;
        for page in first..=((end - 1) / BLOCK) as u32 {
            self.read_lists(number, page);
            let block = self.inodes.get(number).block(page);
            let block = block.expect("a page below the file's end");
            if self.cache.get(block).is_some() {
                self.account.hits += 1;
            } else {
                self.account.misses += 1;
                self.fetch(number, Fetch { page, count: 1 });
            }
            flight.blocks.push(block);
        }
    }

    /// Copies what was read, and writes it if it is updated; how many bytes were read.
    fn land(&mut self, flight: &Flight) -> Result<u64> {
        for &block in &flight.blocks {
            if self.cache.get(block).is_some() {
                self.cache.touch(block);
            }
            self.compute(self.options.costs.page_ns);
        }
        let number = flight.node.number();
        self.accessed(number);
        let size = self.inodes.get(number).size;
        let read = flight.bytes.min(size.saturating_sub(flight.at));
        if flight.kind == AccessKind::Update && read > 0 {
            self.write(flight.node, flight.at, read)?;
        }
        Ok(read)
    }
}
