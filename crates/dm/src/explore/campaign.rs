//! Many histories, from one seed, until enough different states have been seen.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How much is to be explored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Campaign {
    /// The first history's seed; each next one has the next seed.
    pub seed: u64,
    /// Different states that are wanted.
    pub states: u64,
    /// Histories at most.
    pub histories: u64,
}

/// What was explored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Histories that were run.
    pub histories: u64,
    /// Power cuts after which the machine was started and read.
    pub cuts: u64,
    /// Different states that they left.
    pub states: u64,
    /// What happened on the way, and how often.
    pub counts: BTreeMap<&'static str, u64>,
    /// The seed of a history in which a promise was broken, and how.
    pub broken: Option<(u64, String)>,
}

/// What histories have seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Fingerprints of the states that a cut left.
    states: HashSet<u64>,
    cuts: u64,
    counts: BTreeMap<&'static str, u64>,
}

impl Seen {
    /// A cut left the state with this fingerprint.
    pub(crate) fn cut(&mut self, fingerprint: u64) {
        self.cuts += 1;
        self.states.insert(fingerprint);
    }

    /// How often this happened.
    pub(crate) fn counted(&self, what: &str) -> u64 {
        self.counts.get(what).copied().unwrap_or(0)
    }

    /// This happened so many times more.
    pub(crate) fn count(&mut self, what: &'static str, times: u64) {
        if times > 0 {
            *self.counts.entry(what).or_default() += times;
        }
    }
}

impl Campaign {
    /// Runs `history` with one seed after the other until enough is seen or a promise is broken.
    pub(crate) fn run(&self, history: impl FnMut(u64, &mut Seen) -> Result<(), String>) -> Report {
        self.run_until(|seen| seen.states.len() as u64 >= self.states, history)
    }

    /// The same, of which `is_enough` says when that is.
    pub(crate) fn run_until(
        &self,
        is_enough: impl Fn(&Seen) -> bool,
        mut history: impl FnMut(u64, &mut Seen) -> Result<(), String>,
    ) -> Report {
        let mut seen = Seen::default();
        let mut report = Report::default();
        while !is_enough(&seen) && report.histories < self.histories {
            let seed = self.seed.wrapping_add(report.histories);
            report.histories += 1;
            let run = || history(seed, &mut seen);
            let result = catch_unwind(AssertUnwindSafe(run))
                .unwrap_or_else(|_| Err("it panics; see above".into()));
            if let Err(what) = result {
                report.broken = Some((seed, what));
                break;
            }
        }
        report.cuts = seen.cuts;
        report.states = seen.states.len() as u64;
        report.counts = seen.counts;
        report
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            histories,
            cuts,
            states,
            counts,
            broken: _,
        } = self;
        write!(
            f,
            "{states} different states, {cuts} power cuts in {histories} histories"
        )?;
        for (index, (what, count)) in counts.iter().enumerate() {
            let separator = if index == 0 { ";" } else { "," };
            write!(f, "{separator} {count} {what}")?;
        }
        Ok(())
    }
}
