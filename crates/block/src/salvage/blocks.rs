//! Reads block by block where a large read failed.

use super::map::{Map, Status};
use super::{Direction, Options, Rescuer};
use crate::{BlockingDevice, Device, Piece, Range, Result};

/// How much of a large read that failed is read at once before it is single blocks, in bytes.
const CLUSTER: u64 = 64 << 10;

/// Reads single blocks of a device.
pub(super) struct Blocks<'a> {
    io: BlockingDevice,
    /// What the medium reads at once, in bytes; a multiple of the logical block.
    block: u64,
    options: Options<'a>,
}

impl<'a> Blocks<'a> {
    pub(super) fn open(device: &dyn Device, options: Options<'a>) -> Result<Self> {
        let io = BlockingDevice::open(device)?;
        let block = block_of(device);
        Ok(Self { io, block, options })
    }

    /// Everything but what lies between two bad blocks of one cluster, which is to be scraped.
    pub(super) fn trim<R: Rescuer>(
        &mut self,
        map: &mut Map,
        rescuer: &mut R,
        range: Range,
    ) -> std::result::Result<(), R::Error> {
        let mut start = range.start();
        while start < range.end() {
            let end = range.end().min(start - start % CLUSTER + CLUSTER);
            let cluster = Range::new(start, end - start);
            // What is a cluster already has failed as such.
            let is_known = cluster == range || cluster.len() <= self.block;
            if is_known || !self.attempt(map, rescuer, cluster, Status::NonTrimmed)? {
                self.trim_cluster(map, rescuer, cluster)?;
            }
            start = end;
        }
        Ok(())
    }

    /// From both ends of `range` as far as blocks can be read.
    fn trim_cluster<R: Rescuer>(
        &mut self,
        map: &mut Map,
        rescuer: &mut R,
        range: Range,
    ) -> std::result::Result<(), R::Error> {
        let (mut start, mut end) = (range.start(), range.end());
        let mut reads = true;
        while reads && start < end {
            let block = self.first(Range::new(start, end - start));
            reads = self.attempt(map, rescuer, block, Status::Bad)?;
            start = block.end();
        }
        reads = true;
        while reads && start < end {
            let block = self.last(Range::new(start, end - start));
            reads = self.attempt(map, rescuer, block, Status::Bad)?;
            end = block.start();
        }
        map.set(Range::new(start, end - start), Status::NonScraped);
        Ok(())
    }

    /// Every block of `range`.
    pub(super) fn scrape<R: Rescuer>(
        &mut self,
        map: &mut Map,
        rescuer: &mut R,
        range: Range,
        direction: Direction,
    ) -> std::result::Result<(), R::Error> {
        let (mut start, mut end) = (range.start(), range.end());
        while start < end {
            let left = Range::new(start, end - start);
            let block = match direction {
                Direction::Forward => self.first(left),
                Direction::Reverse => self.last(left),
            };
            self.attempt(map, rescuer, block, Status::Bad)?;
            match direction {
                Direction::Forward => start = block.end(),
                Direction::Reverse => end = block.start(),
            }
        }
        Ok(())
    }

    /// Reads a range at once; whether that went well. If not, it has the status `failed`.
    fn attempt<R: Rescuer>(
        &mut self,
        map: &mut Map,
        rescuer: &mut R,
        block: Range,
        failed: Status,
    ) -> std::result::Result<bool, R::Error> {
        debug_assert!(!block.is_empty(), "something is tried");
        map.position = block.start();
        let reads = match self.io.read(block) {
            Ok(bytes) => {
                rescuer.store(block.start(), Piece::Data(&bytes))?;
                map.set(block, Status::Finished);
                true
            }
            Err(error) => {
                self.options.bear(error)?;
                map.set(block, failed);
                false
            }
        };
        rescuer.look(map)?;
        Ok(reads)
    }

    fn first(&self, range: Range) -> Range {
        debug_assert!(!range.is_empty(), "there is a first block");
        let end = range.start() - range.start() % self.block + self.block;
        Range::new(range.start(), end.min(range.end()) - range.start())
    }

    fn last(&self, range: Range) -> Range {
        debug_assert!(!range.is_empty(), "there is a last block");
        let start = (range.end() - 1) - (range.end() - 1) % self.block;
        let start = start.max(range.start());
        Range::new(start, range.end() - start)
    }
}

/// What is read at once where single blocks are read.
pub(super) fn block_of(device: &dyn Device) -> u64 {
    let info = device.info();
    u64::from(info.physical_block.max(info.logical_block))
}
