//! Commits: the only writer of metadata, and the order in which it writes.
//!
//! ```text
//!   text into the ring of every used area ─▶ flush ─▶ suspend and drain ─▶ header of every used
//!   area ─▶ flush ─▶ publish, resume ─▶ headers of areas that are now ignored ─▶ flush ─▶ success
//! ```
//!
//! The rewriting of one sector, the area's header, is what makes a text count. Before it the text
//! itself is durable, so whatever header survives a power cut points to a whole text; the highest
//! sequence number wins, so the group is the old or the new one, whichever headers survived. Until
//! the first header is submitted a failure leaves the old group everywhere and says so; from then
//! on there is no way back, all headers are tried, and the error says where the change is
//! committed and where not. Success means durable on every used area of every physical volume
//! that is there.
//!
//! Everything reachable through the new text must be durable before; what becomes unreachable may
//! be touched only after: whoever commits sees to that, with the other writers here:
//! labels of new volumes come after their areas, areas of a removed group are cleared from the
//! oldest text to the newest, so that no older one comes to light.
//!
//! Nothing is written to a device that is not locked and was not read again under its locks: all
//! writers want a [`Disk`], which only [`claim`] gives.
//!
//! Every flush has a name, a [`FlushPoint`], and a [`FlushPolicy`] says which are made. Real
//! commands
//! make all; tests leave one out and must see the loss that it prevents.
//!
//! Does not: write the precommitted slot (see `docs/decisions`). It is read, and cleared with the
//! next header.

mod areas;
mod disk;
mod flush_policy;
mod hooks;
mod labels;
mod open_pv;
mod write;

pub use areas::{clear, erase};
pub use disk::{Disk, Expected, OWNER_WAIT, Server, Wanted, claim};
pub use flush_policy::{FlushPoint, FlushPolicy, Trust};
pub use hooks::{Hooks, NoHooks, Reach};
pub(crate) use labels::label_sectors;
pub use labels::{edit_labels, initialise, remove_label};
pub use open_pv::{Held, OpenArea, OpenPv, adopt};
pub use write::write_group;

#[cfg(test)]
mod tests;
