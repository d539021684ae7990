//! Predictions beside emulations: what the formulas say of an arm, and by how much they are off.
//!
//! The error is that of the requests per second where a number of requests is outstanding, and of
//! the mean response time where requests come at a rate that the volume can keep up with (their
//! number per second is then what was asked for). Nothing here is fitted to the runs; what cannot
//! be predicted says why.

use std::collections::BTreeMap;

use super::record::Record;
use super::spec::{Arm, Experiment};
use super::work::Work;
use crate::error::{Error, Kind, Result};
use crate::predict::{Estimate, Question};
use crate::stats::median;

/// The seed that shuffled orders are predicted with; what is predicted is a mean.
const SEED: u64 = 1;
/// Nanoseconds of a microsecond.
const MICROSECOND: f64 = 1e3;

/// A number that was predicted, in the unit of the metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Predicted {
    /// `iops`, or `mean_us` where requests come at a rate.
    pub metric: &'static str,
    /// The value and its 95 % interval.
    pub estimate: Estimate,
}

/// An arm: predicted, emulated, and the error.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// The arm's key.
    pub arm: String,
    /// The prediction, or why there is none.
    pub predicted: std::result::Result<Predicted, String>,
    /// What was emulated, the median of the replicates, in the unit of the prediction.
    pub emulated: Option<f64>,
}

/// How good predictions are.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Summary {
    /// Arms that were predicted and emulated.
    pub count: usize,
    /// The median of the absolute relative errors.
    pub median: f64,
    /// Their 95th percentile.
    pub p95: f64,
    /// How many emulations lie in the predicted interval.
    pub inside: usize,
    /// Why arms have no prediction, and how many.
    pub without: BTreeMap<String, usize>,
}

/// What the formulas say of an arm.
pub fn predicted(arm: &Arm) -> Result<Predicted> {
    let Work::Jobs { jobs, requests_max } = &arm.work else {
        let what = "a program on a file system, not requests on a volume";
        return Err(Error::new(Kind::Unsupported, what));
    };
    let question = Question::new(&arm.layout, jobs, Some(*requests_max), SEED)?;
    let found = question.predict()?;
    let (metric, value) = if question.is_open()? {
        ("mean_us", found.response_ns / MICROSECOND)
    } else {
        ("iops", found.per_second)
    };
    // The disks are what they say: what is uncertain is the predictor alone.
    let estimate = question.own_interval(value);
    Ok(Predicted { metric, estimate })
}

/// Every arm of an experiment that was run.
pub fn compare(experiment: &Experiment, records: &[Record]) -> Vec<Comparison> {
    let mut runs: BTreeMap<(&str, u64), Vec<&Record>> = BTreeMap::new();
    for record in records {
        if record.experiment == experiment.name {
            let of = runs.entry((&record.arm, record.config)).or_default();
            of.push(record);
        }
    }
    let arms = experiment.arms.iter().filter_map(|arm| {
        let key = arm.key();
        let of = runs.get(&(key.as_str(), arm.hash))?;
        let predicted = predicted(arm).map_err(|error| reason(&error, arm));
        let emulated = predicted
            .as_ref()
            .ok()
            .and_then(|found| emulated(of, found.metric));
        Some(Comparison {
            arm: key,
            predicted,
            emulated,
        })
    });
    arms.collect()
}

/// The same words for the same cause, whatever the arm.
fn reason(error: &Error, arm: &Arm) -> String {
    let text = error.to_string();
    let plain = text
        .trim_start_matches(&format!("{}: ", arm.layout.name))
        .trim_end_matches(" cannot be predicted; emulate it");
    plain.to_owned()
}

fn emulated(runs: &[&Record], metric: &str) -> Option<f64> {
    let values: Vec<f64> = runs
        .iter()
        .filter_map(|run| run.values.get(metric).copied())
        .collect();
    median(&values)
}

impl Comparison {
    /// The relative error of the prediction.
    pub fn error(&self) -> Option<f64> {
        let found = self.predicted.as_ref().ok()?;
        let emulated = self.emulated.filter(|value| *value > 0.0)?;
        Some(found.estimate.value / emulated - 1.0)
    }

    /// Whether the emulation lies in the predicted interval.
    fn is_inside(&self) -> bool {
        match (&self.predicted, self.emulated) {
            (Ok(found), Some(emulated)) => {
                (found.estimate.low..=found.estimate.high).contains(&emulated)
            }
            _ => false,
        }
    }
}

impl Summary {
    /// Of all comparisons.
    pub fn of<'a>(all: impl IntoIterator<Item = &'a Comparison>) -> Self {
        let mut summary = Self::default();
        let mut errors = Vec::new();
        for one in all {
            match (&one.predicted, one.error()) {
                (Err(reason), _) => *summary.without.entry(reason.clone()).or_default() += 1,
                (Ok(_), Some(error)) => {
                    errors.push(error.abs());
                    summary.inside += usize::from(one.is_inside());
                }
                (Ok(_), None) => {}
            }
        }
        errors.sort_by(f64::total_cmp);
        summary.count = errors.len();
        // The nearest rank.
        let at = |share: f64| {
            let last = errors.len().saturating_sub(1) as f64;
            errors.get((last * share).round() as usize).copied()
        };
        summary.median = at(0.5).unwrap_or(0.0);
        summary.p95 = at(0.95).unwrap_or(0.0);
        summary
    }
}

#[cfg(test)]
mod tests;
