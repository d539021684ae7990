//! Counts of a run, and the program's report of them.
//!
//! The program adds bytes up in single precision: above 16 MiB a counter loses bytes, at 1.6 GB it
//! moves in steps of 128. It prints what it counted, so for Test 1 it says 1554.03 megabytes where
//! 1554.04 were read. [`Counts`] holds both: the exact bytes, and what the program believes.

use super::stream::{Operation, Phase, Step};
use std::fmt::Write;

/// Bytes of the program's megabyte and kilobyte.
const MEGABYTE: f32 = 1048576.0;
const KILOBYTE: f32 = 1024.0;

/// What was done, by kind and phase.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Counts {
    /// Files made in the first phase.
    pub created_alone: u64,
    /// Files made in transactions.
    pub created_mixed: u64,
    /// Files read.
    pub read: u64,
    /// Files appended to.
    pub appended: u64,
    /// Files deleted in transactions.
    pub deleted_mixed: u64,
    /// Files deleted in the last phase.
    pub deleted_alone: u64,
    /// Bytes read, exact.
    pub bytes_read: u64,
    /// Bytes written, exact.
    pub bytes_written: u64,
    /// Bytes read, as the program's own counter has them.
    pub program_read: f32,
    /// Bytes written, as the program's own counter has them.
    pub program_written: f32,
}

/// Whole seconds as the program measures them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seconds {
    /// From the first creation to the last deletion.
    pub total: u64,
    /// The first phase.
    pub creation: u64,
    /// The transactions.
    pub transactions: u64,
    /// The last phase.
    pub deletion: u64,
}

/// A report: counts and times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Report {
    /// Transactions that were asked for.
    pub transactions: u64,
    /// What was done.
    pub counts: Counts,
    /// How long it took; a second at least, each.
    pub seconds: Seconds,
}

impl Counts {
    /// The counts of a whole stream.
    pub fn of(steps: impl IntoIterator<Item = Step>) -> Self {
        let mut counts = Self::default();
        for step in steps {
            counts.add(&step);
        }
        counts
    }

    /// Counts one operation.
    pub fn add(&mut self, step: &Step) {
        match (step.operation, step.phase) {
            (Operation::Create { bytes }, phase) => {
                match phase {
                    Phase::Creation => self.created_alone += 1,
                    _ => self.created_mixed += 1,
                }
                self.wrote(bytes);
            }
            (Operation::Read { bytes }, _) => {
                self.read += 1;
                self.bytes_read += bytes;
                self.program_read += bytes as f32;
            }
            (Operation::Append { bytes, .. }, _) => {
                self.appended += 1;
                self.wrote(bytes);
            }
            (Operation::Delete { .. }, Phase::Deletion) => self.deleted_alone += 1,
            (Operation::Delete { .. }, _) => self.deleted_mixed += 1,
        }
    }

    fn wrote(&mut self, bytes: u64) {
        self.bytes_written += bytes;
        self.program_written += bytes as f32;
    }
}

impl Seconds {
    /// Times in nanoseconds of the clock that the phases' ends fell on, as the program sees them:
    /// it reads a clock of whole seconds, and calls a difference of 0 one second.
    pub fn of_instants(start: u64, created: u64, transacted: u64, deleted: u64) -> Self {
        let between = |from: u64, to: u64| {
            let second = |instant: u64| instant / 1_000_000_000;
            second(to).saturating_sub(second(from)).max(1)
        };
        Self {
            total: between(start, deleted),
            creation: between(start, created),
            transactions: between(created, transacted),
            deletion: between(transacted, deleted),
        }
    }
}

impl Report {
    /// The program's verbose report.
    pub fn verbose(&self) -> String {
        let (counts, seconds) = (&self.counts, &self.seconds);
        let created = counts.created_alone + counts.created_mixed;
        let deleted = counts.deleted_alone + counts.deleted_mixed;
        let mut out = String::new();
        let mut line = |text: String| {
            let _ = writeln!(out, "{text}");
        };
        let per = |count: u64, time: u64| format!("({} per second)", count / time.max(1));
        let mixed = seconds.transactions;
        line("Time:".to_owned());
        line(format!("\t{} seconds total", seconds.total));
        let rate = per(self.transactions, mixed);
        line(format!("\t{mixed} seconds of transactions {rate}"));
        line("\nFiles:".to_owned());
        line(format!(
            "\t{created} created {}",
            per(created, seconds.total)
        ));
        let (count, rate) = (counts.created_alone, seconds.creation);
        line(format!(
            "\t\tCreation alone: {count} files {}",
            per(count, rate)
        ));
        let count = counts.created_mixed;
        let text = "Mixed with transactions";
        line(format!("\t\t{text}: {count} files {}", per(count, mixed)));
        line(format!(
            "\t{} read {}",
            counts.read,
            per(counts.read, mixed)
        ));
        let rate = per(counts.appended, mixed);
        line(format!("\t{} appended {rate}", counts.appended));
        line(format!(
            "\t{deleted} deleted {}",
            per(deleted, seconds.total)
        ));
        let (count, rate) = (counts.deleted_alone, seconds.deletion);
        line(format!(
            "\t\tDeletion alone: {count} files {}",
            per(count, rate)
        ));
        let count = counts.deleted_mixed;
        line(format!("\t\t{text}: {count} files {}", per(count, mixed)));
        line("\nData:".to_owned());
        for (bytes, what) in [
            (counts.program_read, "read"),
            (counts.program_written, "written"),
        ] {
            let rate = scaled(bytes / seconds.total.max(1) as f32);
            line(format!("\t{} {what} ({rate} per second)", scaled(bytes)));
        }
        out
    }

    /// The program's terse report: one line of 13 numbers.
    pub fn terse(&self) -> String {
        let (counts, seconds) = (&self.counts, &self.seconds);
        let per = |count: u64, time: u64| format!("{:.2}", count as f32 / time.max(1) as f32);
        let bytes = |bytes: f32| format!("{:.2}", bytes / seconds.total.max(1) as f32);
        let mixed = seconds.transactions;
        let fields = [
            seconds.total.to_string(),
            mixed.to_string(),
            per(self.transactions, mixed),
            per(counts.created_alone + counts.created_mixed, seconds.total),
            per(counts.created_alone, seconds.creation),
            per(counts.created_mixed, mixed),
            per(counts.read, mixed),
            per(counts.appended, mixed),
            per(counts.deleted_alone + counts.deleted_mixed, seconds.total),
            per(counts.deleted_alone, seconds.deletion),
            per(counts.deleted_mixed, mixed),
            bytes(counts.program_read),
            bytes(counts.program_written),
        ];
        fields.join(" ") + "\n"
    }
}

/// Bytes in the program's units: megabytes above one, else kilobytes, and bytes for nothing.
fn scaled(bytes: f32) -> String {
    if bytes / MEGABYTE > 1.0 {
        format!("{:.2} megabytes", bytes / MEGABYTE)
    } else if bytes > 0.0 {
        format!("{:.2} kilobytes", bytes / KILOBYTE)
    } else {
        format!("{bytes:.6} bytes")
    }
}
