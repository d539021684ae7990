//! `lvmdump`: what somebody needs who is to help from afar, in one archive.
//!
//! ```text
//!   parts.rs      what is gathered: files, and the commands that fill them
//!   bundle.rs     the folder, the log in it, and the archive
//!   command.rs    options
//! ```
//!
//! The files have stock's names where they hold what stock's would. What cannot be gathered is
//! noted down in `lvmdump.log`, and nothing fails for it: it is what is wrong that is looked for.

mod bundle;
mod command;
mod parts;

pub(super) use command::COMMAND;
