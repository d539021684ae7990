//! Experiments as data: a file each, run in virtual time, judged by rules that it states itself.
//!
//! ```text
//!   experiments/NAME.toml ─▸ arms: layout × load × factors ─▸ run, for each replicate
//!                        └─▸ rules: which two arms, which ratio confirms, which refutes
//!                                       │                         │ one JSON line each
//!   claims.toml ────────────────────────┴──▸ verdicts ◂───────────┘
//! ```
//!
//! A replicate is a seed: it turns the platters, draws other requests and shuffles other orders;
//! both arms of a pair have the same one. Results are lines appended to a file. A line carries the
//! hash of the arm's whole description, so that an interrupted run goes on where it ended and a
//! changed experiment is not judged by old lines; a last line that was cut off is told, not used.
//!
//! Promises: one seed gives the same lines on every machine. Does not: measure real disks.
//!
//! `spec.rs` reads experiments, `work.rs` has what an arm does, `program.rs` runs programs and
//! `shares.rs` counts where their blocks go, `library.rs` has the experiments that come
//! with the program, `run.rs` runs, `record.rs` writes and reads lines, `rule.rs` judges,
//! `group.rs` judges several arms together, `claims.rs` sums up by claim, `predicted.rs` holds
//! formulas against runs.

mod claims;
mod group;
mod library;
mod predicted;
mod program;
mod record;
mod rule;
mod run;
mod shares;
mod spec;
mod work;

pub use claims::{Claim, Deciding, Row, Standing, claims, rows};
pub use group::{Group, Over};
pub use library::{find, library};
pub use predicted::{Comparison, Predicted, Summary, compare};
pub use program::Running;
pub use record::{Read, Record, Session, read};
pub(crate) use record::{Values, as_digits, line};
pub use rule::{Evidence, Missing, Rule, interval, judge};
pub use run::{Options, Pending, Progress, run, runs};
pub(crate) use spec::hash;
pub use spec::{Arm, Experiment};
pub use work::Work;

#[cfg(test)]
mod tests;
