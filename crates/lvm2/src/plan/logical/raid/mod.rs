//! RAID volumes: made, resized, and turned into others.
//!
//! ```text
//!     r              type raid1, raid5, … over pairs of
//!       r_rimage_0   the data of the first image
//!       r_rmeta_0    its superblock and its share of the bitmap
//! ```
//!
//! Each image lies with its metadata on physical volumes of its own. New metadata is made of zeros
//! before the commit that names it: who activates the array first writes superblocks into it. What
//! an image is to be filled with is said by flags: none on an array that is new as a whole,
//! `REBUILD` on an image that is new among others.
//!
//! `route.rs` says which levels become each other, `level.rs` does that. `reshape.rs` begins what
//! moves the data on the images, which who uses the array does. `integrity.rs` puts checksums under
//! the images.

mod change;
mod copies;
mod create;
mod images;
mod integrity;
mod level;
mod options;
mod parts;
mod region;
mod reorder;
mod replace;
mod reset;
mod reshape;
mod reshaped;
mod resize;
mod route;
mod size;
mod state;
mod takeover;
mod track;

pub use change::{ArrayChange, WriteMostly, change_array, resync_array};
pub use copies::{ArraySplit, CopiesChange, change_copies, split_copies};
pub(super) use create::{add_array, zero_images};
pub(super) use integrity::checksums_under;
pub use integrity::{ChecksumOptions, add_checksums, remove_checksums};
pub use level::{LevelChange, change_level};
pub use options::{RaidOptions, RecoveryRates};
pub(super) use parts::{Array, array, part_name};
pub use region::change_region_size;
pub use reorder::ArrayHead;
pub use replace::{Replacement, rebuild_images, repair_array, replace_images};
pub use reset::reset_images;
pub use reshape::{ReshapeChange, ReshapeHead, reshape_array};
pub(super) use resize::{extend_array, reduce_array};
pub use route::Form;
pub use state::ArrayState;
pub use takeover::{Takeover, take_over};
pub(super) use track::require_untracked;
pub use track::{array_of, merge_copy, track_copy};

#[cfg(test)]
mod tests;
