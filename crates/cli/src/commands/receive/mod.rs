//! `ashlar receive`: streams of `ashlar send` into volumes and files.
//!
//! ```text
//!   command  the options, and what is checked before anything is written
//!   state    the note of what a target holds, as a file         ashlar::stream::Note
//!   input    a stream that comes in, and can be ended by a signal
//!   take     records into the target, until the end or an interruption
//!   shown    what a target holds, for people and programs
//! ```

mod command;
mod input;
mod shown;
mod state;
mod take;

pub(super) use command::COMMAND;
