//! How much is done at once. The explorer has smaller limits, so that its small mirrors need
//! several steps where large ones do.

/// How much is done at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// Bytes that are copied at a time, of each region; whole blocks.
    pub(super) copy_piece: u64,
    /// Zeros are written in pieces of so many regions.
    pub(super) zeroed_regions: u64,
    /// Bytes of the log that are written by one request.
    pub(super) log_run: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // A few of these on each disk keep it busy; more would make requests wait.
            copy_piece: 256 << 10,
            // A request for all of a large mirror does not hold all its regions at once.
            zeroed_regions: 256,
            // Half a million regions.
            log_run: 64 << 10,
        }
    }
}
