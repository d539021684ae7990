//! `PostMark` on a file system: the program's stream, and the report it would print.

use super::account::Account;
use super::engine::FileSystem;
use super::program;
use crate::error::{Error, Kind, Result};
use crate::workload::postmark::{Counts, Report, Seconds, Settings, Stream};

/// What a run came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// What the program prints.
    pub report: Report,
    /// From the first creation to the last deletion, exactly.
    pub elapsed_ns: u64,
    /// What happened in that time.
    pub account: Account,
}

/// Runs `PostMark` in the root directory, or in directories made there before the clock starts.
pub fn run(system: &mut FileSystem, settings: &Settings) -> Result<Outcome> {
    let refused =
        |error: crate::workload::InputError| Error::new(Kind::Impossible, error.to_string());
    let counts = Counts::of(Stream::new(settings).map_err(refused)?);
    let calls = crate::workload::program::postmark(settings).map_err(refused)?;
    let outcome = program::run(system, calls)?;
    Ok(report(settings, counts, &outcome))
}

/// What the program would print of an outcome of its calls.
fn report(settings: &Settings, counts: Counts, outcome: &program::Outcome) -> Outcome {
    let start = |name: &str| outcome.phase(name).map(|phase| phase.start_ns);
    let first_ns = outcome.phases.first().map_or(0, |phase| phase.start_ns);
    let end_ns = first_ns + outcome.total.elapsed_ns;
    // A phase without operations has no calls: it ends where it begins.
    let deleting_ns = start("deletion").unwrap_or(end_ns);
    let transacting_ns = start("transactions").unwrap_or(deleting_ns);
    Outcome {
        report: Report {
            transactions: u64::from(settings.transactions),
            counts,
            seconds: Seconds::of_instants(first_ns, transacting_ns, deleting_ns, end_ns),
        },
        elapsed_ns: outcome.total.elapsed_ns,
        account: outcome.total.account,
    }
}
