//! Runs a command that must end: with a time limit, and with nothing left behind.
//!
//! `cargo xtask watch --limit SECONDS -- COMMAND ARGUMENT…`
//!
//! ```text
//!   xtask test ──pipe──▶ xtask watch (own process group, adopts orphans)
//!                           └─ command ─ its children, also those that detach themselves
//! ```
//!
//! When the limit passes it prints what is still running, kills every descendant and exits 124;
//! where one does not die, it aborts the FUSE connections made since the start (a process that
//! waits for a stuck FUSE server cannot even be killed before that). A command that ends but leaves
//! processes running has failed too: 125. With `--until-stdin-closes` the end of the standard input
//! ends everything as well, so that whoever started the watch can be killed at any time without
//! leaving anything.
//!
//! What is running is read from `/proc/PID/status` only: to read the command line of a process
//! whose memory is a file on a stuck FUSE mount would hang the watch itself.

mod fuse;
mod processes;
mod run;

pub(crate) use run::{EXPIRED, LITTERED, run};
