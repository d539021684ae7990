//! `nodes`: the active volumes as device-mapper would show them.
//!
//! ```text
//!   command.rs    options, which nodes are named, the four forms and JSON
//!   stack.rs      which nodes there are: volumes, and the layers and parts below them
//!   target.rs     what a node is made of: the lines of its table
//!   status.rs     how these are: the lines of its status
//! ```
//!
//! There is no device-mapper: what is known comes from the metadata and from the owners of the
//! groups, as in reports. So only volumes that people use have a device; parts below them have the
//! names that they would have, and stand in tables as paths below `/dev/mapper`.

mod command;
mod stack;
mod status;
mod target;
#[cfg(test)]
mod tests;

pub(super) use command::COMMAND;
