//! `--resizefs`: a volume and the file system in it get another size together.
//!
//! ```text
//!   smaller:  unmount? ─▶ check ─▶ file system ─▶ flush ─▶ volume ─▶ mount?
//!   larger:               check ─▶ volume ─▶ file system
//! ```
//!
//! At every moment the file system is not larger than the volume, so that whatever ends this
//! process, or the machine, between two steps leaves something that works; the same command again
//! does the rest. That a volume is never cut below its file system does not rest on this order
//! alone: the change of the metadata reads the superblock again, under its locks.
//!
//! `decide` knows what the file systems can do and makes the steps, without touching anything;
//! `least` asks how small they can get; `fsadm` is the command for a file system alone;
//! `place` finds out where the volume is attached and mounted; `tools` finds and runs programs;
//! `resize` does it all, in the process of whoever typed it: never in the owner of a group, which
//! serves the volume meanwhile.

mod decide;
mod fsadm;
mod least;
mod place;
mod resize;
mod size_word;
mod tools;

pub(crate) use fsadm::{FSADM, own_status};
pub(super) use least::{Least, least};
pub(super) use resize::{foresee, is_wanted, resize};
pub(super) use tools::Asks;
