//! The commands that change metadata, and what they have in common.
//!
//! ```text
//!   words ──▶ Arguments ──▶ handler(&Arguments, &mut Work) ──▶ ashlar::apply ──▶ disks
//!                                        │
//!                                        ├── Console     where lines go and answers come from
//!                                        └── Caller      who runs it: this process, or an owner
//! ```
//!
//! Each command has a handler, a function of its arguments and of a [`Work`](work::Work), which is
//! all that it knows of the world: it prints, asks and changes through it and through nothing
//! else. So the same function runs in the command's own process, in the process that owns a live
//! volume group ([`perform`], with a console at the other end of a socket), and under `ashlar
//! plan`, which stops in front of the first write and shows what would be done.
//!
//! `terminal` is a console, `work` what a handler may use, `run` calls a handler, `table`
//! lists them; the other files hold one command each.

mod activation;
mod arguments;
mod arrays;
mod backup_file;
mod change_array;
mod checksums;
mod chosen;
mod convert_array;
mod convert_level;
mod convert_reshape;
mod convert_snapshot;
mod convert_subject;
mod copies;
mod defrag;
mod file_system;
mod finder;
mod groups;
mod image;
mod keeping;
mod limits;
mod look;
mod lvchange;
mod lvconvert;
mod lvcreate;
mod lvremove;
mod lvrename;
mod lvresize;
mod merging;
mod new_snapshot;
mod not_done;
mod not_made;
mod place;
pub(super) mod plan;
mod profiles;
mod prompt;
mod pvchange;
pub(super) mod pvck;
mod pvcreate;
mod pvmove;
mod pvremove;
mod pvresize;
mod reset_failed;
mod run;
mod selection;
mod shown;
mod shrink;
mod syncaction;
mod table;
mod terminal;
mod undo;
mod vgcfgrestore;
mod vgchange;
pub(super) mod vgck;
mod vgcreate;
mod vgexport;
mod vgextend;
mod vgreduce;
mod vgremove;
mod vgrename;
mod vgsplit;
mod volumes;
mod work;
mod zeros;

pub(super) use file_system::{FSADM, own_status};
pub(crate) use run::{Caller, perform};
pub(super) use run::{run, run_words};
pub(super) use table::COMMANDS;
pub(crate) use terminal::Terminal;

#[cfg(test)]
mod tests;
