//! Many histories, from one seed, until enough different states have been seen.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::fault::SeededFault;
use super::history::{self, Seen};

/// What is to be explored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Campaign {
    /// The first history's seed; each next one has the next seed.
    pub seed: u64,
    /// Different states that are wanted.
    pub states: u64,
    /// Histories at most.
    pub histories: u64,
    /// A mistake to be found.
    pub fault: Option<SeededFault>,
}

/// What was explored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Histories that were run.
    pub histories: u64,
    /// Power cuts after which the mirror was started and read.
    pub cuts: u64,
    /// Different states that they left.
    pub states: u64,
    /// Cuts after which a leg was gone.
    pub without_leg: u64,
    /// Cuts after which a leg came back that had missed writes.
    pub outdated: u64,
    /// Cuts after which the kernel had the mirror, with a leg that had missed writes.
    pub kernel: u64,
    /// Cuts after the log had failed.
    pub log_failed: u64,
    /// Mirrors whose process was killed, and that another one started.
    pub killed: u64,
    /// Mirrors that were stopped.
    pub stopped: u64,
    /// Those of them whose log was given back to the kernel.
    pub released: u64,
    /// How often one got another size.
    pub resized: u64,
    /// The seed of a history in which a promise was broken, and how.
    pub broken: Option<(u64, String)>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            histories,
            cuts,
            states,
            without_leg,
            outdated,
            kernel,
            log_failed,
            killed,
            stopped,
            released,
            resized,
            broken: _,
        } = self;
        write!(
            f,
            "{states} different states, {cuts} power cuts in {histories} histories; a leg was \
             gone after {without_leg}, an outdated one back after {outdated}, and back for the \
             kernel after {kernel}; the log had failed before {log_failed}; {killed} mirrors were \
             killed, {stopped} stopped, {released} logs given back, {resized} got \
             another size"
        )
    }
}

impl Campaign {
    /// Runs until enough is seen or a promise is broken.
    pub fn run(&self) -> Report {
        let mut seen = Seen::default();
        let mut report = Report::default();
        while report.states < self.states && report.histories < self.histories {
            let seed = self.seed.wrapping_add(report.histories);
            let run = || history::run(seed, self.fault, &mut seen);
            let result = catch_unwind(AssertUnwindSafe(run))
                .unwrap_or_else(|_| Err("it panics; see above".into()));
            report.histories += 1;
            report.states = seen.states.len() as u64;
            if let Err(what) = result {
                report.broken = Some((seed, what));
                break;
            }
        }
        report.cuts = seen.cuts;
        report.without_leg = seen.without_leg;
        report.outdated = seen.outdated;
        report.kernel = seen.kernel;
        report.log_failed = seen.log_failed;
        report.killed = seen.killed;
        report.stopped = seen.stopped;
        report.released = seen.released;
        report.resized = seen.resized;
        report
    }
}
