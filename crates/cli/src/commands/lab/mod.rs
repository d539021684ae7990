//! `lab`: what layouts cost, in virtual time: experiments, verdicts, the report, the audit, advice;
//! and what real runs ask of volumes.
//!
//! `command.rs` is the command and finds what its first word asks for; each word has its file.

mod advise;
mod audit;
mod calibrate;
mod command;
mod disk;
mod drive;
mod list;
mod measure;
mod record;
mod report;
mod run;
mod trace;

pub(super) use command::COMMAND;
