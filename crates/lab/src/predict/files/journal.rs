//! The log of jbd: how many blocks a transaction has, and how many of them it writes.
//!
//! ```text
//!   transaction   distinct blocks of metadata that its operations changed
//!   log           descriptors (one for 508 copies) · copies · revoked (one for 1,020) · record
//! ```
//!
//! Of b blocks that are changed by n independent draws, b (1 - (1 - 1/b)^n) are changed at all.

use crate::stats::real::{exp, ln};

/// Copies that a descriptor of 4,096 bytes lists: 12 bytes of header, 16 of identifier, 8 each.
const LISTED: f64 = 508.0;
/// Blocks that a block of revocations lists: 16 bytes of header, 4 each.
const REVOKED: f64 = 1020.0;

/// Distinct blocks of `blocks` that `changes` draws change.
pub fn distinct(blocks: f64, changes: f64) -> f64 {
    if blocks <= 1.0 {
        return blocks.max(0.0) * f64::from(u8::from(changes > 0.0));
    }
    blocks * (1.0 - exp(changes * ln(1.0 - 1.0 / blocks)))
}

/// Blocks of the log that a transaction of so many blocks of metadata takes, its record included.
/// Amounts may be means, and are rounded up as whole descriptors are.
pub fn log_blocks(metadata: f64, revoked: f64) -> f64 {
    metadata + (metadata / LISTED).ceil() + (revoked / REVOKED).ceil() + 1.0
}
