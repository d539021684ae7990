//! Commands on logical volumes.

mod change;
mod convert;
mod create;
mod degrade;
mod extension;
mod mirror;
mod options;
mod order;
mod raid;
mod rebuilt;
mod reduce;
mod remove;
mod rename;
mod repair;
mod resize;
mod resize_store;
mod resize_stripes;
mod snapshot;
mod split;
mod store;

pub use change::{AttributeChange, change_volume, refused_change};
pub use convert::{Conversion, MirrorState, convert_mirrors};
pub(super) use create::visible_count;
pub use create::{NewVolume, create_volume};
pub(super) use degrade::{Redundancy, degrade_raid, redundancy};
pub use extension::{ExtendPolicy, holds_all, size_by_policy};
pub(super) use mirror::pvs_below;
pub use mirror::{LogContents, MIRROR_LOG_HEADER_SIZE};
pub use options::{
    Autoactivation, Initial, MirrorLog, MirrorOptions, NewKind, Permission, Skip, Start, Stripes,
    Zeroing,
};
pub(super) use order::keep_orders;
pub use order::{has_first_image, order_images};
pub use raid::{
    ArrayChange, ArrayHead, ArraySplit, ArrayState, ChecksumOptions, CopiesChange, Form,
    LevelChange, RaidOptions, RecoveryRates, Replacement, ReshapeChange, ReshapeHead, Takeover,
    WriteMostly, add_checksums, array_of, change_array, change_copies, change_level,
    change_region_size, merge_copy, rebuild_images, remove_checksums, repair_array, replace_images,
    reset_images, reshape_array, resync_array, split_copies, take_over, track_copy,
};
pub use rebuilt::image_rebuilt;
pub(super) use remove::remove;
pub use remove::{Along, remove_volumes};
pub use rename::rename_volume;
pub use repair::{ImageStates, repair_volume};
pub(super) use repair::{repair_mirror, require_useful};
pub use resize::{NewExtents, Resize, is_of_that_size, resize_volume};
pub use snapshot::{CHUNK_SIZE_DEFAULT, NewSnapshot, create_snapshot, require_chunk_size};
pub use split::{Split, resync_mirror, split_mirror};
pub use store::{
    Join, MergeStart, StoreHead, end_merge, join_snapshot, split_snapshot, start_merge,
};

#[cfg(test)]
mod tests;
