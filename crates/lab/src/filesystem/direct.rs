//! Reading and writing past the page cache, as `O_DIRECT` does.
//!
//! What the cache has of the range goes first: dirty pages are written, all are dropped. Then the
//! blocks go between device and caller, and the call returns when they have arrived. Blocks that a
//! file does not have yet are allocated, so growing a file this way still changes metadata.

use super::engine::{Blame, FileSystem};
use super::files::Node;
use super::options::{BLOCK, SECOND_NS};
use super::queue::Purpose;
use crate::component::Component;
use crate::disk::drive::Operation;
use crate::error::{Error, Kind, Result};

const DATA: Blame = Blame::Component(Component::FileData);

impl FileSystem {
    /// Reads so many bytes of an open file, less at its end; how many were read.
    pub fn read_direct(&mut self, node: Node, offset: u64, bytes: u64) -> Result<u64> {
        whole_blocks(offset, bytes)?;
        self.compute(self.options.costs.call_ns);
        let number = node.number();
        let end = (offset + bytes).min(self.inodes.get(number).size);
        if offset >= end {
            return Ok(0);
        }
        let pages = (offset / BLOCK) as u32..end.div_ceil(BLOCK) as u32;
        for page in pages.clone() {
            self.read_lists(number, page);
        }
        self.pass(number, Operation::Read, pages);
        self.accessed(number);
        Ok(end - offset)
    }

    /// Writes so many bytes into an open file, at its end or before.
    pub fn write_direct(&mut self, node: Node, offset: u64, bytes: u64) -> Result<()> {
        whole_blocks(offset, bytes)?;
        self.compute(self.options.costs.call_ns);
        let number = node.number();
        let size = self.inodes.get(number).size;
        if offset > size {
            let what = "a write past the end leaves a hole, which is not modelled";
            return Err(Error::new(Kind::Unsupported, what));
        }
        let end = offset + bytes;
        let pages = (offset / BLOCK) as u32..(end / BLOCK) as u32;
        for page in pages.clone() {
            self.begin_handle();
            match self.inodes.get(number).block(page) {
                Some(_) => self.read_lists(number, page),
                None => drop(self.extend(number)?),
            }
        }
        let now_s = self.now_ns / SECOND_NS;
        if end > size || self.inodes.get(number).changed_s != now_s {
            self.begin_handle();
            let inode = self.inodes.get_mut(number);
            (inode.size, inode.changed_s) = (size.max(end), now_s);
            self.modify_inode(number);
        }
        self.pass(number, Operation::Write, pages);
        Ok(())
    }

    /// Moves pages between device and caller.
    fn pass(&mut self, number: u32, operation: Operation, pages: std::ops::Range<u32>) {
        let first = pages.start as usize;
        let blocks = &self.inodes.get(number).blocks[first..pages.end as usize];
        let blocks = blocks.to_vec();
        for &block in &blocks {
            self.drop_page(block);
        }
        for &block in &blocks {
            if operation == Operation::Write && !self.queue.has_room() {
                self.wait(DATA, |system| system.queue.has_room());
            }
            self.queue
                .add(Purpose::Direct, operation, Component::FileData, block);
        }
        self.wait(DATA, |system| system.queue.count(Purpose::Direct) == 0);
    }

    /// Takes a page from memory; what is dirty of it is written first.
    fn drop_page(&mut self, block: u32) {
        while let Some(page) = self.cache.get(block).copied() {
            if page.dirty && !page.writing {
                self.write_page(Purpose::WriteBack, block);
            } else if page.writing {
                self.wait(DATA, |system| !system.cache.is_writing(block));
            } else if page.reading {
                self.wait(DATA, |system| system.cache.is_ready(block));
            } else {
                self.cache.remove(block);
            }
        }
    }
}

fn whole_blocks(offset: u64, bytes: u64) -> Result<()> {
    if offset.is_multiple_of(BLOCK) && bytes.is_multiple_of(BLOCK) && bytes > 0 {
        return Ok(());
    }
    let what = format!("{bytes} bytes at {offset}: direct calls move whole blocks of {BLOCK}");
    Err(Error::new(Kind::Impossible, what))
}
