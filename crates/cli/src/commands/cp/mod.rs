//! `ashlar cp`: volumes into files, files into volumes, volumes into volumes.
//!
//! ```text
//!   place    what an operand means: a volume, or a file     Place::of("vg0/root")
//!   volume   reads a volume, also one that fails in places  block::salvage
//!   source   a file or a stream, handed out in order        bytes, and runs of zeros
//!   target   a volume or a file that takes them             write, write zeros, sync
//!   journal  the map of a copy, as a file beside it         half a copy is known as one
//!   signals  end a copy so that it can be gone on with
//!   places   which disks hold what could not be read
//!   bar      how far it is
//!   command  the options and the checks
//! ```
//!
//! `cat` and `receive` use the same.
//!
//! A word that could mean both a volume and a file is refused. A volume that is written is held
//! alone meanwhile; a file that carries a physical volume is never a target.

mod bar;
mod command;
mod journal;
mod place;
mod places;
mod signals;
mod source;
mod target;
mod volume;

pub(super) use bar::Bar;
pub(super) use command::COMMAND;
pub(super) use place::Place;
pub(super) use signals::Signals;
pub(super) use target::{Start, Target};
pub(super) use volume::{Job, Outcome, RETRIES};
