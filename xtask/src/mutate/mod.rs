//! `cargo xtask mutate`: makes mistakes in the code, and looks whether a test finds each.
//!
//! ```text
//!   cargo xtask mutate [AREA…] [--part K/N] [--survivors]
//!   cargo xtask mutate --known [WORD]
//! ```
//!
//! cargo-mutants makes the mistakes, area by area (`areas.rs`), in a clone of the last commit
//! (`tree.rs`), so that nobody's working tree is touched, and asks unit tests (`generated.rs`).
//! What they let live is made again, one by one (`patch.rs`), and integration and end-to-end tests
//! are asked (`later.rs`). What came of it is kept in `docs/mutations.md` (`record.rs`), with a
//! reason for each mistake that nothing found. `--known` makes those that people have thought of:
//! `known.txt` says what each is and which test has to find it.
//!
//! Costs: a build and a run of unit tests per mistake, some seconds each, and up to minutes for
//! each one that survives them; hours for all areas. So it is not part of the full test.

mod areas;
mod arguments;
mod generated;
mod known;
mod later;
mod leftovers;
mod patch;
mod record;
mod run;
mod tree;
mod until_failure;

pub(crate) use run::run;
