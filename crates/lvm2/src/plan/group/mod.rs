//! Commands on volume groups.

mod change;
mod copies;
mod create;
mod export;
mod extend;
mod extent_size;
mod merge;
mod missing;
mod moved;
mod reduce;
mod remove;
mod rename;
mod restore;
mod returned;
mod split;
mod transplant;

pub use change::{GroupAttribute, Resizing, change_group};
pub use copies::{AreaState, MetadataCopies, balance};
pub(super) use create::add_tag;
pub use create::{NewGroup, create_group};
pub use export::{export_group, import_group};
pub use extend::{Member, extend_group};
pub use merge::merge_groups;
pub use missing::{Losses, PartialVolumes, is_partial, losses, remove_missing, still_partial};
pub use reduce::reduce_group;
pub use remove::{VolumesOf, remove_group};
pub use rename::rename_group;
pub use restore::{Insistence, restore_group};
pub use returned::restore_missing;
pub use split::{NewGroupSettings, SplitInto, SplitOff, split_group};

#[cfg(test)]
mod tests;
