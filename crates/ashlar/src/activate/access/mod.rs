//! Which volumes are read and written, and which are refused: one rule for each flag, segment type
//! and use that LVM2's text has.
//!
//! Whatever reads a volume's data comes through [`decide()`]: the activation of `cat`, `cp`,
//! `serve` and `attach`, the exchange of tables around a commit, and `explain`. The table of all
//! rules is in `docs/format.md`, and a test holds the two together.

mod condition;
mod decide;

pub use decide::decide;
pub(super) use decide::{decide_parts, not_yet};
pub(crate) use decide::{shared_stack, together};

#[cfg(test)]
mod tests;
