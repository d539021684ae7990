//! Scrubbing: what an array has more than once is compared, and what does not go together is named.
//!
//! ```text
//!   Subject    a volume's arrays, or one of md's, with its legs open, and nobody writes it
//!   scrub      Course ─▸ Reader: all legs at once, a window ahead ─▸ judged ─▸ Event, Event, …
//!   Finding    where: the volume's byte and extent, the leg, the disk's byte and extent
//! ```
//!
//! It is only read here. While it is, other ashlars cannot serve the group: a lock that scrubs
//! share keeps owners out, and what one serves is refused. Superblocks and bitmaps are read again
//! at the end, and a result about an array that somebody wrote meanwhile is an error instead.
//!
//! What is not compared, and why, is counted beside what is. What a disk does not answer is asked
//! for once more, block by block, and told as unreadable.
//!
//! Repairing is for who owns the group: an array at work judges once more what was found, under its
//! own locks ([`LiveGroup::repair`](crate::live::LiveGroup::repair)).
//!
//! Does not: compare what a process serves. Costs: each leg is read once, in order; 32
//! MiB of memory at most, and a thread that computes.
//!
//! `subject.rs` opens, `reader.rs` reads, `window.rs` says what together, `run.rs` goes through it,
//! `finding.rs` and `summary.rs` are what comes of it.

mod finding;
mod reader;
mod run;
mod subject;
mod summary;
mod window;

#[cfg(test)]
mod tests;

pub use dm::raid::scrub::{Blame, Holds, Unchecked, Unknown};
pub use finding::{Finding, FindingKind, LegPlace, OnDisk, Standing};
pub use run::{Event, Options, scrub};
pub use subject::Subject;
pub use summary::{LeftOut, Summary};
