//! Traces: what a device was asked, when, and what for.
//!
//! ```text
//!   import   blktrace, fio's logs ──┐
//!   record (the data path) ─────────┴─▸ Trace ──▸ write, export, replay
//!   label    the file system's own layout says what each place is for
//! ```
//!
//! A trace holds requests with their times, what they depend on, and which part of the file system
//! they touched; never data. `docs/trace-format.md` of the project describes the file.
//!
//! Promises: a file that was cut short or changed is found out, with the place; what came before it
//! can be had. Reading hostile bytes takes time and memory in proportion to their number.

mod depend;
mod export;
mod fields;
mod format;
pub mod import;
pub mod label;
mod layer;
mod record;
mod replay;

pub use depend::find_dependencies;
pub use export::to_iolog;
pub use format::{Partial, read, read_whole_part, write};
pub use layer::from_layer;
pub use record::{Certainty, Class, Header, Label, Operation, Record, TimeSource, Trace};

pub use replay::{Moment, Outcome, Share, replay};

#[cfg(test)]
mod tests;
