//! The runs that count, by arm: those of the present description, the last of each replicate.

use std::collections::BTreeMap;

use crate::experiment::{Arm, Experiment, Record, interval};
use crate::stats::Interval;

/// An arm and its runs.
#[derive(Debug)]
pub(super) struct Seen<'a> {
    /// What was described.
    pub(super) arm: &'a Arm,
    /// What results call it.
    pub(super) name: String,
    /// By replicate.
    pub(super) runs: Vec<&'a Record>,
}

/// The arms of an experiment that were run, in its order.
pub(super) fn seen<'a>(experiment: &'a Experiment, records: &'a [Record]) -> Vec<Seen<'a>> {
    let mut by_arm: BTreeMap<&str, BTreeMap<u64, &Record>> = BTreeMap::new();
    for record in records {
        if record.experiment == experiment.name {
            let arm = by_arm.entry(&record.arm).or_default();
            arm.insert(record.replicate, record);
        }
    }
    let arm = |arm: &'a Arm| {
        let name = arm.key();
        let runs = by_arm.get(name.as_str())?.values();
        let runs: Vec<&Record> = runs.filter(|run| run.config == arm.hash).copied().collect();
        (!runs.is_empty()).then_some(Seen { arm, name, runs })
    };
    experiment.arms.iter().filter_map(arm).collect()
}

impl Seen<'_> {
    /// The values of a metric, by replicate.
    pub(super) fn values(&self, metric: &str) -> Vec<f64> {
        let value = |run: &&Record| run.values.get(metric).copied();
        self.runs.iter().filter_map(value).collect()
    }

    /// A metric with its interval.
    pub(super) fn of(&self, metric: &str) -> Option<Interval> {
        of(&self.values(metric))
    }

    /// The mean of a metric; 0 where there is none.
    pub(super) fn mean(&self, metric: &str) -> f64 {
        crate::stats::mean(&self.values(metric)).unwrap_or(0.0)
    }

    /// The first seed.
    pub(super) fn seed(&self) -> u64 {
        self.runs.iter().map(|run| run.seed).min().unwrap_or(1)
    }
}

/// Values from which the interval is that of a normal mean: many pairs of values take long.
const MANY: usize = 50;

/// The interval of values; too few to have one are shown as their median alone.
pub(super) fn of(values: &[f64]) -> Option<Interval> {
    if values.len() >= MANY {
        let mean = crate::stats::mean(values)?;
        let half = 1.96 * crate::stats::deviation(values)? / (values.len() as f64).sqrt();
        return Some(Interval {
            low: mean - half,
            estimate: mean,
            high: mean + half,
        });
    }
    let only = crate::stats::median(values)?;
    let point = Interval {
        low: only,
        estimate: only,
        high: only,
    };
    Some(interval(values).unwrap_or(point))
}

/// The metric that most rules look at; without rules the time of programs, the rate of requests.
pub(super) fn main_metric<'a>(experiment: &'a Experiment, arms: &[Seen<'_>]) -> &'a str {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for rule in &experiment.rules {
        *counts.entry(&rule.metric).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    let rates = arms.iter().any(|seen| seen.mean("iops") > 0.0);
    most.map_or(if rates { "iops" } else { "elapsed_s" }, |(name, _)| name)
}
