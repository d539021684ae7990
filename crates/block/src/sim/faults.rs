//! What goes wrong with a simulated disk, and when.

use std::collections::{BTreeMap, BTreeSet};

use crate::Kind;

/// What a discarded block reads as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Discards {
    /// Zeros.
    #[default]
    ReadZeroes,
    /// What was there before.
    Keep,
}

/// What goes wrong, decided beforehand. Requests are counted from 1, in the order they begin.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Faults {
    /// Blocks that cannot be read until they are written (latent errors), by number.
    pub unreadable: BTreeSet<u64>,
    /// Requests that fail, and how. They leave the medium as it was, but for `residue`.
    pub failing: BTreeMap<u64, Kind>,
    /// A write that fails may have been carried out all the same, as a whole or in part.
    pub residue: bool,
    /// The request with which the disk vanishes: it and all later ones are answered with
    /// [`Kind::Gone`].
    pub vanishing: Option<u64>,
    /// Of a million writes, how many are acknowledged and then forgotten.
    pub lost_per_million: u32,
    /// Of a million writes, how many land elsewhere.
    pub misdirected_per_million: u32,
    /// What every request takes, in nanoseconds.
    pub latency_ns: u64,
    /// What a request takes in addition: up to so many nanoseconds.
    pub jitter_ns: u64,
    /// What discards do.
    pub discards: Discards,
}
