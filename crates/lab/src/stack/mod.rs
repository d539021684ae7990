//! Stacks in virtual time: a layout, built.
//!
//! ```text
//!   load     closed loops and rates, from fio's jobs
//!     │ commands
//!   link ─ loops ─ volume ─ disks          each a `Model`: submit, wake, answer
//!                    └ mirrors, origins with their snapshots, arrays
//! ```
//!
//! What maps is what serves users: a volume compiles its segments to a `dm::table::Table` and
//! looks each request up in it; a mirror is `dm::mirror`'s machine, an origin `dm::snapshot`'s and
//! an array `dm::raid`'s, told the events of virtual time. So a mistake of the data path shows
//! here, and a layout that the data path would merge is merged here.
//!
//! Does not: hold data. Parts of a request that are neighbours on a disk stay parts, as in the
//! data path. Costs of software are those that the layout states, and nothing is free unless it
//! says 0.
//!
//! `build.rs` puts a stack together, `volume.rs` maps, `stateful.rs` drives mirrors, origins and
//! arrays, `loops.rs` has loop devices, `load.rs` asks.

mod build;
mod load;
mod loops;
mod stateful;
mod volume;

pub use build::{build, build_behind};
pub use load::{Outcome, Plan, run};

#[cfg(test)]
mod tests;
