//! The judge: command lines here and in stock LVM2, on disks that are the same.
//!
//! ```text
//!   forms      how stock says that its commands are called      lvm COMMAND --longhelp
//!   lines      lines of such forms, with values right and wrong, from a seed
//!   states     disks from which they start                       states.txt
//!   bench      runs a line on a state, in stock and here, on the same loop devices
//!   outcome    exit code, report, messages, what is left on the disks: what differs
//!   known      differences that are accepted, each with a reason      known.txt
//!   document   the page that says so                          docs/lvm2-differences.md
//! ```
//!
//! Both sides run without device-mapper's driver, and lines do not ask for activation
//! (`lines::LEFT_OUT`). `cargo xtask compare` runs it.

mod bench;
mod campaign;
mod document;
mod forms;
mod known;
mod lines;
mod meta;
mod neutral;
mod outcome;
mod pages;
mod random;
mod states;
mod values;

pub use campaign::{Campaign, Class, Report};
pub use document::document;
pub use known::{Known, known};
