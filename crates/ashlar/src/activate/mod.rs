//! Activation: from a logical volume in the metadata to a device that can be read and written.
//!
//! ```text
//!   FoundVg, LvId ─▶ permit ─▶ access ─▶ layout ─▶ dm::Table ─▶ dm::Volume
//!                  (machine)  (metadata) (segments    (flat)        (a block::Device)
//!                                         over pv devices)
//! ```
//!
//! An [`Activator`] opens each physical volume once, however many volumes stand on it. Types that
//! are not served yet are refused by name, with the volume that has them. What is missing is
//! decided by a [`MissingPolicy`], and only what the volume itself needs counts: an absent physical
//! volume that holds nothing of it does not matter.
//!
//! Writing is refused wherever somebody else may be writing too; see `permit`. Reading is not: a
//! volume that the kernel has active can be read, and may change while it is. What the metadata
//! itself does not allow, because the bytes would not be the volume's, is decided by `access` in
//! one place.
//!
//! To serve a new type, change its rule in `access`, and add an arm in `layout`; one with state of
//! its own gets a file, like `mirror`.

mod access;
mod activator;
mod changed;
mod devices;
mod facts;
mod integrity;
mod layout;
mod legs;
mod mirror;
mod moving;
mod nodes;
mod order;
mod origin;
mod permit;
mod raid;
mod snapshot;

pub use access::decide;
pub(crate) use access::{shared_stack, together};
pub use activator::{Activated, Activator, MissingPolicy, Options};
pub use changed::{Changed, Moment, Permanence, compared};
pub(crate) use devices::PvDevices;
pub use facts::{MirrorFacts, current_images, mirror_facts};
pub(crate) use legs::Legs;
pub(crate) use moving::is_moved;
pub(crate) use nodes::{Fate, Node, NodeId, NodeKind, Nodes, Running};
pub(crate) use order::{Filled, MetadataUpdater, Wanted};

#[cfg(test)]
pub(crate) mod tests;
