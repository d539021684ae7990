//! `ashlar md`: arrays of md's on images and devices.
//!
//! `command` has the words, `list` what there is, for people and for programs, `create` makes an
//! array, `member` adds a device to one and takes it out.

mod command;
mod create;
mod list;
mod member;

#[cfg(test)]
mod tests;

pub(super) use command::COMMAND;
