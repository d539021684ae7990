//! A volume group as a value: what a metadata text means.
//!
//! `vg` holds everything; `pv`, `lv` and `segment` are its parts, and `ids` says how they refer to
//! each other. `import` makes one from a text's tree and `export` prints it again; what neither
//! knows is kept in `extras`. `relations`, `geometry`, `allocation`, `attr` and `words` answer
//! questions, and `check` finds what is wrong.

mod allocation;
mod attr;
mod check;
mod dm_name;
mod export;
mod extras;
mod flags;
mod geometry;
mod header;
mod historical;
mod ids;
mod import;
mod integrity;
mod lv;
pub mod name;
mod pv;
mod raid_layout;
mod raid_level;
mod relations;
#[cfg(test)]
pub(crate) mod samples;
mod segment;
mod time;
mod vg;
mod words;

pub use allocation::{Allocation, AllocationMap, Certainty, ExtentRange, Run};
pub use attr::{lv_attr, policy_letter};
pub use check::{FINDINGS_MAX, Finding, Severity, check, dependency_order, has_errors};
pub use dm_name::{DM_NAME_LEN_MAX, dm_name, dm_name_length, dm_uuid, split_dm_name};
pub use export::to_text;
pub use extras::{Extra, Extras};
pub use flags::{Flag, Flags, LvFlag, Place, PvFlag, TypeFlag, VgFlag};
pub use geometry::Part;
pub use header::{CONTENTS, Header, VERSION};
pub use historical::HistoricalVolume;
pub use ids::{LvId, PvId};
pub use import::{from_text, read_header_comments};
pub use integrity::{IntegrityMode, IntegritySettings};
pub use lv::{AllocationPolicy, LogicalVolume, ReadAhead};
pub use pv::PhysicalVolume;
pub use raid_layout::ChunkPlace;
pub use raid_level::{RaidFamily, RaidLevel};
pub use relations::{Relations, Role, Use, is_cachevol, is_snapshot_holder, is_virtual_origin};
pub use segment::{
    Area, Cache, CachePool, Discards, Integrity, Mirror, Raid, RaidImage, Segment, SegmentType,
    Snapshot, SnapshotState, Striped, Thin, ThinMessage, ThinPool, Unknown, Vdo, VdoPool,
    Writecache, ZeroNewBlocks,
};
pub use time::calendar;
pub use vg::VolumeGroup;
pub use words::{lv_layout, lv_roles};
