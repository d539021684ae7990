//! The kernel as the next one to run a mirror: what it reads then, with all disks back.
//!
//! It knows the description and the bits of the log, and nothing else. Where a bit is set, or all
//! legs are assumed to be the same, it reads any leg; elsewhere the first one, which it copies to
//! the others.

use block::Range;
use block::sim::Image;

use super::shape::Shape;
use super::world::Described;
use crate::explore::{Model, SECTOR};
use crate::mirror::LogPlace;
use crate::mirror::log_image::is_region_in_sync;

/// Fails where the kernel would read something that may not be there.
pub(super) fn judge(
    shape: &Shape,
    images: &[Image],
    described: &Described,
    model: &Model,
) -> Result<(), String> {
    let log = match shape.log {
        LogPlace::Core => None,
        LogPlace::Disk(device) => Some(images[device].bytes(Range::new(0, shape.log_len()))),
    };
    for sector in 0..described.sectors {
        let same = match &log {
            None => described.assumed,
            Some(log) => is_region_in_sync(log, shape.region_of(sector)),
        };
        let legs = if same { described.order.len() } else { 1 };
        for leg in &described.order[..legs] {
            let range = Range::new(sector * SECTOR, SECTOR);
            // Another one than before may be read: it is another program's answer.
            let mut model = model.clone();
            model.forget_reads();
            let bytes = images[*leg].bytes(shape.place(range));
            let since = model.expected(false);
            let judged = model.judge(range, &bytes, &since);
            judged.map_err(|what| format!("the kernel takes over, and on leg {leg} {what}"))?;
        }
    }
    Ok(())
}
