//! The real data path on this machine, measured beside the emulation.
//!
//! ```text
//!   experiments/measured-NAME.toml ─▸ subjects × media × loads ─▸ rounds ─▸ one JSON line each
//!
//!   subject    a device by which the same bytes are reached: the file itself, a volume of it,
//!              loop devices nested over it, NBD, FUSE with a loop device
//!   medium     where the file lies: in memory (tmpfs), or on a disk past the page cache
//!   round      every subject once and `native` twice, in an order drawn anew: the second is the
//!              control, the same against the same
//! ```
//!
//! The unit of analysis is the round: what one subject and `native` did within the same second or
//! so. A round is a line and is written when it is whole, so whoever interrupts loses one at most,
//! and the same command goes on where it ended. A control that differs from itself by more than
//! the study's zone decides nothing, and says how many rounds more would do.
//!
//! Promises: nothing that was measured is thrown away; lines know on which machine, with which
//! program and when they were made; what cannot run here is written down with the reason, and is
//! no result. The beginning of each slice is cut off by [`crate::stats::SlopeTest`], not by taste.
//!
//! Does not: speak for another machine. Costs: it writes images of its own, some 100 MiB each, and
//! removes them.
//!
//! `spec.rs` reads studies, `stand.rs` builds what is measured, `folder.rs` holds its images,
//! `loader.rs` asks a device what `source.rs` decides and `sample.rs` has what came of it, `job.rs`
//! does that for a job of fio on a volume of others, `cpu.rs` counts processor time,
//! `run.rs` does the rounds, `record.rs` writes and reads lines, `judge.rs` has tables and
//! evidence, `drive.rs` runs real programs, `machine.rs` says where all of that was.

mod cpu;
mod drive;
mod folder;
mod job;
mod judge;
mod loader;
mod machine;
mod record;
mod run;
mod sample;
mod source;
mod spec;
mod stand;

pub use drive::{Driven, drive};
pub use job::{JobMeasured, job};
pub use judge::{Cell, Comparing, Line, evidence, tables};
pub use machine::{date, machine, revision};
pub use record::{Block, Measuring, Recorded, shipped};
pub use run::{Contestant, Pending, Subject, pending, rounds};
pub use sample::Sample;
pub use spec::{Load, Medium, Operation, Order, Over, Relation, Study, SubjectSpec, Way};
pub use spec::{studies, study};
pub use stand::{Places, Stand};

#[cfg(test)]
mod tests;
