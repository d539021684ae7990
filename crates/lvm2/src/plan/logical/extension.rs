//! Stores of snapshots that grow before they are full: `activation/snapshot_autoextend_threshold`
//! and `snapshot_autoextend_percent`.
//!
//! ```text
//!     threshold 70, percent 20     700 MiB of 1000 in use      nothing
//!                                  701 MiB                     20 % more
//!                                  950 MiB                     36 % more: then it is below 70 %
//! ```
//!
//! Both are shares in hundredths, as in stock: a threshold of 100 or more is none, one below 50
//! counts as 50. A store that has room for all that its origin can ask it to keep stays as it is.
//!
//! Does not: decide when to look, or find the room. A store grows like any volume that is resized.

use alloc::format;

use super::resize_store::origin_of;
use crate::model::{LvId, Relations, SnapshotState, VolumeGroup};
use crate::plan::draft::refused;
use crate::plan::size::{Amount, Base, Sign, SizeArgument};
use crate::{Bytes, Result, Sectors};

/// From this threshold on nothing grows.
const NEVER: u32 = 100;
/// A store that grew earlier would grow nearly always.
const THRESHOLD_MIN: u32 = 50;

/// When stores grow, and by how much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtendPolicy {
    /// Hundredths of a store that may be in use.
    threshold: u32,
    /// By how many hundredths of its size it grows at least.
    percent: u32,
}

impl Default for ExtendPolicy {
    /// Nothing grows, as where nothing is configured.
    fn default() -> Self {
        Self::new(i64::from(NEVER), 20)
    }
}

impl ExtendPolicy {
    /// As configured.
    pub fn new(threshold: i64, percent: i64) -> Self {
        let threshold = threshold.clamp(i64::from(THRESHOLD_MIN), i64::from(NEVER));
        let percent = percent.clamp(0, i64::from(u32::MAX));
        Self {
            threshold: u32::try_from(threshold).expect("it is at most 100"),
            percent: u32::try_from(percent).expect("it was just made to fit"),
        }
    }

    /// How much of a store of `size` is in use when it is to grow; `None`: it never is.
    pub fn grows_at(self, size: Bytes) -> Option<Bytes> {
        if self.threshold >= NEVER || self.percent == 0 {
            return None;
        }
        let share = u128::from(size.0) * u128::from(self.threshold) / 100;
        // More than the threshold.
        Some(Bytes(u64::try_from(share).expect("a share is smaller") + 1))
    }

    /// By how many hundredths a store of `size` has to grow of which `used` is in use.
    fn growth(self, used: Bytes, size: Bytes) -> Option<u32> {
        if used < self.grows_at(size)? {
            return None;
        }
        // So large that `used` is no more than the threshold of it.
        let share = u128::from(used.0) * 100 * 100;
        let whole = share.div_ceil(u128::from(self.threshold) * u128::from(size.0).max(1));
        let needed = u32::try_from(whole.saturating_sub(100)).unwrap_or(u32::MAX);
        Some(needed.max(self.percent))
    }
}

/// The size that the store of a snapshot is to get, of which `used` is in use; `None`: it stays.
///
/// # Errors
///
/// In stock's words, where the volume is no snapshot, or the policy says by how much nothing grows.
pub fn size_by_policy(
    vg: &VolumeGroup,
    store: LvId,
    used: Option<Bytes>,
    policy: ExtendPolicy,
) -> Result<Option<SizeArgument>> {
    let snapshot = Relations::of(vg).snapshot_of_cow(vg, store);
    let Some(snapshot) = snapshot else {
        return Err(refused(
            "Policy-based resize is supported only for snapshot, thin pool and vdo pool volumes.",
        ));
    };
    if policy.threshold >= NEVER || snapshot.state == SnapshotState::Merging {
        return Ok(None);
    }
    if policy.percent == 0 {
        return Err(refused(format!(
            "Can't extend {}/{} with snapshot autoextend percent set to 0%.",
            vg.name,
            vg.lv(store).name()
        )));
    }
    let size = vg.lv(store).size(vg.extent_size);
    let growth = size
        .and_then(Sectors::to_bytes)
        .zip(used)
        .and_then(|(size, used)| policy.growth(used, size));
    let growth = growth.filter(|_| !holds_all(vg, store));
    Ok(growth.map(|percent| SizeArgument {
        sign: Sign::Plus,
        amount: Amount::Percent(percent, Base::Lv),
    }))
}

/// Whether a store has room for all that its origin can ask it to keep.
pub fn holds_all(vg: &VolumeGroup, store: LvId) -> bool {
    origin_of(vg, store).is_some_and(|origin| vg.lv(store).extents() >= origin.store_max)
}

#[cfg(test)]
mod tests;
