//! The device that a face of a machine at home is.

use std::sync::Arc;

use block::{Device, Driver, Extent, Info, Queue, Range};

use super::home_device::Handle;
use super::home_queue::HomeQueue;
use crate::machine::Machine;

/// A face of a machine at home. It keeps the machine running.
pub struct FaceDevice<M: Machine> {
    handle: Arc<Handle<M>>,
    number: usize,
    info: Info,
    /// Has the extents that it has.
    leg: Option<Arc<dyn Device>>,
}

impl<M: Machine> FaceDevice<M> {
    pub(super) fn new(
        handle: Arc<Handle<M>>,
        (number, info): (usize, Info),
        leg: Option<Arc<dyn Device>>,
    ) -> Self {
        Self {
            handle,
            number,
            info,
            leg,
        }
    }
}

impl<M: Machine> Device for FaceDevice<M> {
    fn info(&self) -> Info {
        self.info.clone()
    }

    fn open_queue(&self, driver: &Driver) -> block::Result<Box<dyn Queue>> {
        let handle = Arc::clone(&self.handle);
        let face = (self.number, self.info.clone());
        Ok(Box::new(HomeQueue::new(handle, face, driver)))
    }

    fn extents(&self, range: Range, count_max: usize) -> block::Result<Vec<Extent>> {
        if range.end() > self.info.size {
            let what = format!("{}: {range:?} lies outside", self.info.name);
            return Err(block::Error::new(block::Kind::InvalidRequest, what));
        }
        match &self.leg {
            Some(leg) => leg.extents(range, count_max),
            None => Ok(vec![Extent {
                len: range.len(),
                kind: block::ExtentKind::Data,
            }]),
        }
    }
}
