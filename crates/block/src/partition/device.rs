//! A run of a device, as a device of its own.

use std::sync::Arc;

use super::Partition;
use crate::{
    Checked, Completion, Device, Driver, Error, Extent, FlushLatch, Info, Kind, Queue, Range,
    Request, Result,
};

/// A window of another device.
#[derive(Clone)]
pub struct PartitionDevice {
    whole: Arc<dyn Device>,
    window: Range,
    name: String,
}

impl PartitionDevice {
    /// `partition` of `whole`, under a name of the form `disk.img#1`.
    pub fn new(whole: Arc<dyn Device>, partition: &Partition) -> Result<Self> {
        let name = format!("{}#{}", whole.info().name, partition.number);
        Self::window(whole, partition.range, name)
    }

    /// The bytes `window` of `whole`, which begin and end on whole blocks.
    pub fn window(whole: Arc<dyn Device>, window: Range, name: String) -> Result<Self> {
        let info = whole.info();
        if window.end() > info.size || !window.is_aligned(info.logical_block.into()) {
            let what = format!(
                "{name} would be {} bytes from byte {} of {}, which has {} bytes in blocks of {}",
                window.len(),
                window.start(),
                info.name,
                info.size,
                info.logical_block
            );
            return Err(Error::new(Kind::Invalid, what));
        }
        Ok(Self {
            whole,
            window,
            name,
        })
    }

    /// The device that this is a part of.
    pub fn whole(&self) -> &Arc<dyn Device> {
        &self.whole
    }
}

impl Device for PartitionDevice {
    fn info(&self) -> Info {
        let mut info = self.whole.info();
        let physical = u64::from(info.physical_block);
        let skew = self.window.start() % physical;
        let offset = (u64::from(info.alignment_offset) + physical - skew) % physical;
        info.alignment_offset = offset as u32;
        info.size = self.window.len();
        info.name.clone_from(&self.name);
        info
    }

    fn open_queue(&self, driver: &Driver) -> Result<Box<dyn Queue>> {
        let queue = PartitionQueue {
            whole: self.whole.open_queue(driver)?,
            start: self.window.start(),
        };
        // The device below remembers failed flushes, for all its partitions.
        let latch = FlushLatch::default();
        Ok(Box::new(Checked::new(queue, driver, self.info(), latch)))
    }

    fn extents(&self, range: Range, count_max: usize) -> Result<Vec<Extent>> {
        if range.end() > self.window.len() {
            let what = format!("byte {} lies outside {}", range.end(), self.name);
            return Err(Error::new(Kind::InvalidRequest, what));
        }
        let there = Range::new(self.window.start() + range.start(), range.len());
        self.whole.extents(there, count_max)
    }
}

struct PartitionQueue {
    whole: Box<dyn Queue>,
    start: u64,
}

impl Queue for PartitionQueue {
    fn submit(&mut self, mut request: Request) {
        let range = request.range;
        if !range.is_empty() {
            request.range = Range::new(self.start + range.start(), range.len());
        }
        self.whole.submit(request);
    }

    fn poll(&mut self, done: &mut Vec<Completion>) {
        self.whole.poll(done);
    }

    fn in_flight(&self) -> usize {
        self.whole.in_flight()
    }
}
