//! Commands on physical volumes; `initialise` has `pvcreate`.

mod change;
mod remove;
mod resize;

pub use change::{Allocatable, PvAttribute, change_pv};
pub use remove::{Force, erase_label};
pub use resize::{PvSize, resize_pv};

#[cfg(test)]
mod tests;
