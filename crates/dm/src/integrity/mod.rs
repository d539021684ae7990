//! Checksums of blocks, as dm-integrity keeps them beside a device: what lies there is not believed
//! unless its checksum says so.
//!
//! ```text
//!   read  ─▸ data, checksums ─▸ the same ─▸ answer
//!                            ╲▸ not ─▸ error; an array above makes up what its other legs hold
//!   write ─▸ journal, or bit of the region, durably ─▸ data, checksums
//! ```
//!
//! Data and checksums are never written at the same moment. In between stand a journal, in which
//! both are first, or a bitmap, which says where checksums may be wrong after a loss of power.
//!
//! Does not: checksums with a key, or such as lie between the data; discards.
//!
//! Costs: a read of checksums for each read of data, and a byte in about half a nanosecond for
//! comparing them; memory for all of a journal that holds something. A write reads the checksums
//! around its own, and with a journal it writes whole sections.
//!
//! `superblock.rs` is what stands in front of all, `places.rs` says where the rest lies,
//! `journal.rs` what a journal holds, `sums.rs` is the checksum, `trust.rs` says who has one;
//! `config.rs` is what a device is made of, `device.rs` the machine, `load.rs` and `opening.rs`
//! its start, `reads.rs` compares. `writer.rs` decides what is written next, `chain.rs` writes it,
//! `writes.rs` what is asked for, `recalculate.rs` checksums that are not there yet; `ring.rs` and
//! `marks.rs` are journal and bitmap as they are written, `format.rs` makes new ones. `explore/`
//! takes the power away.

mod chain;
mod config;
mod device;
#[cfg(any(test, feature = "explore"))]
pub mod explore;
mod format;
mod journal;
mod load;
mod marks;
mod opening;
mod places;
mod reads;
mod recalculate;
mod ring;
mod sums;
mod superblock;
mod trust;
mod writer;
mod writes;

#[cfg(test)]
mod tests;

pub use config::{Discards, IntegrityConfig, Mode};
pub use device::{Integrity, IntegrityStatus};
pub use journal::{Found as Journaled, look as look_at_journal};
pub use places::Places;
pub use superblock::Superblock;
