//! Legs of an array that this process writes: no other Ashlar writes them meanwhile.
//!
//! Groups on an array are locked on the files of its legs, as those on disks are. But two groups
//! may be on one array, in two partitions, and none need be there while a volume is made. So who
//! writes an array locks a byte of each leg for as long as its machine runs. A leg that is a
//! partition of an image has a byte of its own: other partitions of the image are other arrays'.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use block::file::LockMode;
use block::{Device, Driver, Extent, Info, Kind, Queue, Range, Result};

use crate::host::Location;
use crate::lock::{FileId, LockByte, PvLocks, lock_pvs};

/// How long another process that is about to end with an array is waited for.
const WAIT: Duration = Duration::from_secs(5);

/// Locks of legs, for as long as one of them is open.
#[derive(Debug)]
pub(crate) struct HeldLegs {
    _locks: Vec<PvLocks>,
    // The locks are theirs.
    _files: Vec<Vec<OwnedFd>>,
}

impl HeldLegs {
    /// Locks these legs, which are open as these files.
    pub(crate) fn lock(legs: Vec<(&Location, &str, Vec<OwnedFd>)>) -> Result<Self> {
        let mut order = Vec::new();
        for (location, name, files) in legs {
            let part = location.window.map_or(0, |window| window.partition);
            let first = files.first().map(FileId::of).transpose();
            let first =
                first.map_err(|error| block::Error::io(format!("cannot look at {name}"), error))?;
            order.push(((first, part), name, files));
        }
        // Whoever wants the same ones asks in the same order.
        order.sort_by_key(|(key, _, _)| *key);
        let (mut locks, mut all) = (Vec::new(), Vec::new());
        for ((_, part), name, files) in order {
            let named: Vec<_> = files.iter().map(|file| (name, file.as_fd())).collect();
            let lock = lock_pvs(&named, LockByte::Leg(part), LockMode::Exclusive, WAIT);
            locks.push(lock.map_err(|error| block::Error::new(Kind::Open, error.to_string()))?);
            all.push(files);
        }
        assert_eq!(locks.len(), all.len(), "each leg is locked");
        Ok(Self {
            _locks: locks,
            _files: all,
        })
    }
}

/// A leg, and the locks of all of them.
pub(super) struct HeldLeg {
    device: Arc<dyn Device>,
    _held: Arc<HeldLegs>,
}

impl HeldLeg {
    pub(super) fn over(device: Arc<dyn Device>, held: &Arc<HeldLegs>) -> Arc<dyn Device> {
        Arc::new(Self {
            device,
            _held: Arc::clone(held),
        })
    }
}

impl Device for HeldLeg {
    fn info(&self) -> Info {
        self.device.info()
    }

    fn open_queue(&self, driver: &Driver) -> Result<Box<dyn Queue>> {
        self.device.open_queue(driver)
    }

    fn extents(&self, range: Range, count_max: usize) -> Result<Vec<Extent>> {
        self.device.extents(range, count_max)
    }
}
