//! One table with its devices, as long as it is the volume's table.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use block::{Device, Info};

use super::Access;
use crate::table::{Hint, Leaf, Table};

/// A table, its devices, and what the volume says about itself with them.
pub(super) struct Generation {
    pub(super) number: u64,
    pub(super) table: Table,
    /// One per device of the table.
    pub(super) legs: Vec<Arc<Leg>>,
    pub(super) info: Info,
}

/// A device and how much of what was written to it is durable. Shared by all queues of a volume
/// and by the generations that use the device.
pub(super) struct Leg {
    pub(super) device: Arc<dyn Device>,
    pub(super) name: String,
    pub(super) discards: bool,
    /// Counts polls that found completed writes. Starts at 1: what was written before the volume
    /// was made is not known to be durable.
    written: AtomicU64,
    /// What `written` was when a flush began that succeeded.
    flushed: AtomicU64,
}

impl Leg {
    fn new(device: &Arc<dyn Device>) -> Self {
        let info = device.info();
        Self {
            device: Arc::clone(device),
            name: info.name,
            discards: info.discard_granularity > 0,
            written: AtomicU64::new(1),
            flushed: AtomicU64::new(0),
        }
    }

    /// Writes that are not durable were answered.
    pub(super) fn wrote(&self) {
        self.written.fetch_add(1, Ordering::Release);
    }

    /// What a flush that begins now would cover; `None` if that is durable already.
    pub(super) fn unflushed(&self) -> Option<u64> {
        let written = self.written.load(Ordering::Acquire);
        (self.flushed.load(Ordering::Acquire) < written).then_some(written)
    }

    /// A flush that covers `written` succeeded.
    pub(super) fn flushed(&self, written: u64) {
        self.flushed.fetch_max(written, Ordering::Release);
    }
}

impl Generation {
    /// The generation after `before`, whose devices' state it takes over.
    pub(super) fn new(
        number: u64,
        name: &str,
        access: Access,
        table: Table,
        before: &[Arc<Leg>],
    ) -> Self {
        let legs = table.devices().iter().map(|device| {
            let same = |leg: &&Arc<Leg>| Arc::ptr_eq(&leg.device, device);
            match before.iter().find(same) {
                Some(leg) => Arc::clone(leg),
                None => Arc::new(Leg::new(device)),
            }
        });
        let legs = legs.collect();
        let info = combined_info(name, access, &table);
        Self {
            number,
            table,
            legs,
            info,
        }
    }
}

/// What the devices say together. Sizes are the strictest, abilities what all have.
fn combined_info(name: &str, access: Access, table: &Table) -> Info {
    let infos: Vec<Info> = table.devices().iter().map(|device| device.info()).collect();
    let largest = |of: fn(&Info) -> u32| infos.iter().map(of).max().unwrap_or(0);
    let mut info = Info::new(name, table.size());
    info.logical_block = table.logical_block();
    info.physical_block = largest(|leg| leg.physical_block).max(info.logical_block);
    info.minimum_io = largest(|leg| leg.minimum_io);
    info.optimal_io = largest(|leg| leg.optimal_io);
    if let Some((chunk, width)) = table.stripe_limits() {
        info.minimum_io = u32::try_from(chunk).unwrap_or(0);
        info.optimal_io = u32::try_from(width).unwrap_or(0);
    }
    info.alignment_offset = alignment_offset(table, &infos, info.physical_block);
    info.rotational = infos.iter().any(|leg| leg.rotational);
    info.discard_granularity = largest(|leg| leg.discard_granularity);
    info.discard_zeroes = infos
        .iter()
        .all(|leg| leg.discard_granularity > 0 && leg.discard_zeroes);
    info.fua = infos.iter().all(|leg| leg.fua);
    info.durable = infos.iter().all(|leg| leg.durable);
    info.read_only = access == Access::ReadOnly || infos.iter().any(|leg| leg.read_only);
    info
}

/// Where the first physical block begins, going by the device that holds byte 0.
fn alignment_offset(table: &Table, infos: &[Info], physical_block: u32) -> u32 {
    if table.size() == 0 {
        return 0;
    }
    match table.lookup(0, &mut Hint::default()).leaf {
        Leaf::Device { device, offset } => {
            let block = u64::from(physical_block);
            let begins = u64::from(infos[device].alignment_offset) + block;
            ((begins - offset % block) % block) as u32
        }
        Leaf::Zero | Leaf::Error { .. } => 0,
    }
}

#[cfg(test)]
mod tests;
