//! Partition tables, MBR and GPT, and partitions as devices.
//!
//! ```text
//!   MBR   |boot sector: 4 entries| … extended: |EBR|data| ─▶ |EBR|data| ─▶ …
//!   GPT   |protective MBR|header|entries| … partitions … |entries|header|
//! ```
//!
//! [`read_table`] works on bytes that a closure reads for it, so it can be fuzzed; every count and
//! length in a table is bounded, and the chain of an extended partition may neither loop nor leave
//! it. A GPT is believed if its checksums are right; if the first copy is damaged, the last block
//! of the disk may hold a good one, and the table says which was used.
//!
//! A partition that does not fit on the disk is left out, with a remark. [`shorten()`] says how the
//! last one ends earlier, [`abandoned_copy`] what is left of a call that was interrupted.
//! Does not: write, or guess at disks without a table.

mod device;
mod gpt;
mod mbr;
mod shorten;
mod table;

pub use device::PartitionDevice;
pub use shorten::{Shortening, abandoned_copy, shorten};
pub use table::{Partition, PartitionType, Scheme, Table, read_table, table_of};

#[cfg(test)]
mod tests;
