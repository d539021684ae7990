//! `ashlar cp`: volumes into files, files into volumes, volumes into volumes.
//!
//! ```text
//!   place    what an operand means: a volume, or a file     Place::of("vg0/root")
//!   source   a volume or a file, handed out in order        bytes, and runs of zeros
//!   target   a volume or a file that takes them             write, write zeros, sync
//!   command  the options, the checks, the bar
//! ```
//!
//! A word that could mean both a volume and a file is refused. A volume that is written is held
//! alone meanwhile; a file that carries a physical volume is never a target.

mod command;
mod place;
mod source;
mod target;

pub(super) use command::COMMAND;
