//! `lvmconfig`, by its three names: what the configuration is, and what it could be.
//!
//! ```text
//!   command.rs    options, and which settings they mean
//!   tree.rs       the settings that are shown, as a tree: what is set, or defaults of the table
//!   print.rs      the tree as the text of a configuration file
//! ```
//!
//! Descriptions of settings are LVM2's and are not here; comments say what the table of settings
//! knows.

mod command;
mod print;
mod tree;

pub(super) use command::COMMANDS;
