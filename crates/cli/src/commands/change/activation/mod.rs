//! Which volumes are active, and what makes them so.
//!
//! A volume is active while a process serves it. That which these commands make so has a node with
//! LVM2's names ([`Nodes`](crate::live::Nodes)), which the owner of its group holds. One is started
//! where there is none, and ends with its last volume:
//!
//! ```text
//!   lvchange -ay vg0/data
//!       owner of vg0 ◀── is there, or `begin' starts it in the background
//!       └─ the same words run there ─▸ `wanted' chooses ─▸ `act' does it, and says so
//! ```
//!
//! `words` understands `-a`, `wanted` says which volumes are meant and which of them cannot be
//! active, `served` asks what is in use whoever does it.

mod act;
mod begin;
mod served;
mod wanted;
mod words;

pub(super) use act::{
    activate_new, change_group, change_volumes, close, end_group, freeze, is_active, refresh,
    refresh_active, require_unused,
};
pub(super) use begin::{activates, begin_for};
pub(super) use served::served;
pub(super) use wanted::require_usable;
pub(super) use words::{ACTIVATE, Activation, asked};
