//! `lab`: what layouts cost, in virtual time, and what real runs ask of volumes.
//!
//! `command.rs` is the command and finds what its first word asks for; each word has its file.

mod calibrate;
mod command;
mod record;
mod trace;

pub(super) use command::COMMAND;
