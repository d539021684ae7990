//! What `PostMark` does to a file system, counted from its own draws.
//!
//! The stream is the real program's, so that the numbers are exact; nothing is kept but sums. Means
//! over transactions are weighted by transactions.

use crate::error::{Error, Kind, Result};
use crate::filesystem::{BLOCK, Costs};
use crate::workload::postmark::{Operation, Phase, Settings, Stream};

/// Pages that an inode lists itself.
const DIRECT: u64 = 12;

/// Blocks of a directory that are looked through for a name: the index's root, and a leaf. A name
/// that is new is looked for, and then its place.
const INDEXED: f64 = 2.0;

/// Counts of a run. Pages are of 4,096 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Pool {
    /// Files made before the transactions.
    pub made_first: f64,
    /// Pages of those.
    pub pages_first: f64,
    /// Transactions.
    pub transactions: f64,
    /// Files made in transactions.
    pub made: f64,
    /// Pages of those.
    pub made_pages: f64,
    /// Of those, files with blocks that list blocks.
    pub made_listed: f64,
    /// Appends.
    pub appends: f64,
    /// Pages that appends change: the last one, where it was not full, and those behind it.
    pub appended_pages: f64,
    /// Of those, pages that are new.
    pub new_pages: f64,
    /// Appends after which a file has blocks that list blocks.
    pub appended_listed: f64,
    /// Files read.
    pub reads: f64,
    /// Pages of those.
    pub read_pages: f64,
    /// Files read that have blocks that list blocks.
    pub read_listed: f64,
    /// Files deleted in transactions.
    pub deleted: f64,
    /// Of those, files with blocks that list blocks.
    pub deleted_listed: f64,
    /// Files during the transactions, on average.
    pub files: f64,
    /// Their pages, on average.
    pub pages: f64,
    /// What the processor computes, in nanoseconds.
    pub processor_ns: f64,
}

/// Pages of so many bytes.
fn pages(bytes: u64) -> u64 {
    bytes.div_ceil(BLOCK)
}

fn listed(bytes: u64) -> f64 {
    f64::from(u8::from(pages(bytes) > DIRECT))
}

impl Pool {
    /// Counts the run of `settings`; `costs` say what the processor needs. Fails where the program
    /// would refuse the settings, and where the run ends early for want of files.
    pub fn count(settings: &Settings, costs: &Costs) -> Result<Self> {
        let refused = |error: crate::workload::InputError| {
            Error::new(Kind::Impossible, format!("PostMark: {error}"))
        };
        let mut pool = Self::default();
        let (mut files, mut live) = (0_u64, 0_u64);
        let mut seen = 0_u64;
        for step in Stream::new(settings).map_err(refused)? {
            match step.operation {
                Operation::Create { bytes } => {
                    files += 1;
                    live += pages(bytes);
                }
                Operation::Append { at, bytes } => live += pages(at + bytes) - pages(at),
                Operation::Delete { bytes } => {
                    files -= 1;
                    live -= pages(bytes);
                }
                Operation::Read { .. } => {}
            }
            pool.processor_ns += processor(settings, costs, step.operation);
            if step.phase == Phase::Transactions {
                seen += 1;
                pool.files += files as f64;
                pool.pages += live as f64;
            }
            pool.add(step.phase, step.operation);
        }
        pool.transactions = f64::from(settings.transactions);
        pool.files /= seen.max(1) as f64;
        pool.pages /= seen.max(1) as f64;
        Ok(pool)
    }

    fn add(&mut self, phase: Phase, operation: Operation) {
        match (phase, operation) {
            (Phase::Creation, Operation::Create { bytes }) => {
                self.made_first += 1.0;
                self.pages_first += pages(bytes) as f64;
            }
            (Phase::Transactions, Operation::Create { bytes }) => {
                self.made += 1.0;
                self.made_pages += pages(bytes) as f64;
                self.made_listed += listed(bytes);
            }
            (Phase::Transactions, Operation::Append { at, bytes }) => {
                self.appends += 1.0;
                self.appended_pages += (pages(at + bytes) - at / BLOCK) as f64;
                self.new_pages += (pages(at + bytes) - pages(at)) as f64;
                self.appended_listed += listed(at + bytes);
            }
            (Phase::Transactions, Operation::Read { bytes }) => {
                self.reads += 1.0;
                self.read_pages += pages(bytes) as f64;
                self.read_listed += listed(bytes);
            }
            (Phase::Transactions, Operation::Delete { bytes }) => {
                self.deleted += 1.0;
                self.deleted_listed += listed(bytes);
            }
            _ => {}
        }
    }
}

/// What the processor needs for an operation, a mean where a call may touch one page or two.
fn processor(settings: &Settings, costs: &Costs, operation: Operation) -> f64 {
    let (call, page) = (costs.call_ns as f64, costs.page_ns as f64);
    match operation {
        Operation::Create { bytes } => {
            let calls = settings.writes(bytes).count() as f64;
            let made = costs.create_ns as f64 + 2.0 * INDEXED * costs.search_ns as f64;
            let blocks = pages(bytes) as f64 * costs.allocate_ns as f64;
            (calls + 2.0) * call + calls.max(pages(bytes) as f64) * page + blocks + made
        }
        Operation::Append { at, bytes } => {
            let mut end = at;
            let (mut calls, mut touched) = (0.0, 0.0);
            for bytes in settings.writes(bytes) {
                calls += 1.0;
                touched += (pages(end + bytes) - end / BLOCK) as f64;
                end += bytes;
            }
            let new = (pages(at + bytes) - pages(at)) as f64;
            (calls + 2.0) * call + touched * page + new * costs.allocate_ns as f64
        }
        Operation::Read { bytes } => {
            let calls = settings.reads(bytes).count() as f64;
            (calls + 2.0) * call + calls.max(pages(bytes) as f64) * page
        }
        Operation::Delete { .. } => {
            call + costs.delete_ns as f64 + INDEXED * costs.search_ns as f64
        }
    }
}
