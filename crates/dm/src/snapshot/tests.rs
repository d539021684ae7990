//! Origins and their snapshots, step by step and in long histories.

mod at_home;
mod hand;
mod mend;
mod merge;
mod overflow;
mod random;
mod reload;
mod writes;

use super::Changes;
use super::store::ENTRY_LEN;

/// Whether something follows the last entry of a store in its area, as a torn write leaves it.
pub(super) fn is_frayed(store: &[u8], changes: &Changes) -> bool {
    let chunk = changes.chunk as usize;
    let per_area = chunk / ENTRY_LEN;
    let count: u64 = changes.entries.iter().map(|run| run.count).sum();
    let (area, inside) = (count as usize / per_area, count as usize % per_area);
    let start = (1 + area * (per_area + 1)) * chunk;
    let behind = &store[start + inside * ENTRY_LEN..start + chunk];
    behind.iter().any(|byte| *byte != 0)
}
