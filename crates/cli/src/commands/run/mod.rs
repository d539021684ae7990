//! `run`: a command that gets a path for each volume, and everything taken back when it ends.
//!
//! ```text
//!   command   the options, what stands behind --, and the exit status
//!   held      a volume as a node or a file, served by a process that ends when this one does
//!   image     a volume in one piece of an image, for whoever can have neither
//!   names     the variables in which the command finds its volumes
//! ```

mod command;
mod held;
mod image;
mod names;

pub(super) use command::{COMMAND, exit_status};
pub(super) use held::Held;
