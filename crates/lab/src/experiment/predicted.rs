//! Predictions beside emulations: what the formulas say of an arm, and by how much they are off.
//!
//! The error is that of the requests per second where a number of requests is outstanding, and of
//! the mean response time where requests come at a rate that the volume can keep up with (their
//! number per second is then what was asked for), and of a program's time. Nothing here is fitted
//! to the runs; what cannot be predicted says why.

use std::collections::BTreeMap;

use super::program::Running;
use super::record::Record;
use super::spec::{Arm, Experiment};
use super::work::Work;
use crate::component::Component;
use crate::error::{Error, Kind, Result};
use crate::layout::Layout;
use crate::parallel;
use crate::predict::files::Files;
use crate::predict::{Estimate, Question};
use crate::stats::{Interval, median};
use crate::workload::program::Program;

/// The seed that shuffled orders are predicted with; what is predicted is a mean.
const SEED: u64 = 1;
/// Nanoseconds of a microsecond, and of a second.
const MICROSECOND: f64 = 1e3;
const SECOND: f64 = 1e9;

/// The metric of the whole time of a program.
const ELAPSED: &str = "elapsed_s";

/// A number that was predicted, in the unit of the metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Predicted {
    /// `iops`, `mean_us` where requests come at a rate, or `elapsed_s` of a program; of its terms
    /// of Eq. 1 what the results call them.
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
    /// Of a program: the terms of Eq. 1, each with what was emulated.
    pub terms: Vec<(Predicted, Option<f64>)>,
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

/// What the formulas say of an arm, and of a program the terms of Eq. 1 besides.
fn predicted(arm: &Arm) -> Result<(Predicted, Vec<Predicted>)> {
    let (jobs, requests_max) = match &arm.work {
        Work::Jobs { jobs, requests_max } => (jobs, *requests_max),
        Work::Program(running) => return of_program(&arm.layout, running),
    };
    let question = Question::new(&arm.layout, jobs, Some(requests_max), SEED)?;
    let found = question.predict()?;
    let (metric, value) = if question.is_open()? {
        ("mean_us", found.response_ns / MICROSECOND)
    } else {
        ("iops", found.per_second)
    };
    // The disks are what they say: what is uncertain is the predictor alone.
    let estimate = question.own_interval(value);
    Ok((Predicted { metric, estimate }, Vec::new()))
}

/// What the formulas for files say of a program, in seconds.
fn of_program(layout: &Layout, running: &Running) -> Result<(Predicted, Vec<Predicted>)> {
    let Program::PostMark(settings) = &running.program else {
        let what = "a program on a file system other than PostMark";
        return Err(Error::new(Kind::Unsupported, what));
    };
    let found = Files::new(layout, settings, &running.options, SEED)?.predict()?;
    let seconds = |metric, of: Estimate| Predicted {
        metric,
        estimate: of.in_units_of(SECOND),
    };
    let terms = Component::ALL.into_iter().zip(found.terms);
    let terms = terms.map(|(class, term)| seconds(metric_of(class), term));
    Ok((seconds(ELAPSED, found.elapsed_ns), terms.collect()))
}

/// What the results call the time that a program waits for a class.
fn metric_of(class: Component) -> &'static str {
    match class {
        Component::Directory => "directory_s",
        Component::Metadata => "metadata_s",
        Component::FreeList => "free_list_s",
        Component::FileData => "file_data_s",
        Component::Journal => "journal_s",
    }
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
    let compared = parallel::map(&experiment.arms, |arm| {
        let key = arm.key();
        let of = runs.get(&(key.as_str(), arm.hash))?;
        let seen = |found: &Predicted| emulated(of, found.metric);
        let (predicted, terms) = match predicted(arm) {
            Ok((found, terms)) => (Ok(found), terms),
            Err(error) => (Err(reason(&error, arm)), Vec::new()),
        };
        Some(Comparison {
            arm: key.clone(),
            emulated: predicted.as_ref().ok().and_then(seen),
            terms: terms.iter().map(|term| (*term, seen(term))).collect(),
            predicted,
        })
    });
    compared.into_iter().flatten().collect()
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
    /// Whether it is of a program, and not of requests.
    pub fn is_program(&self) -> bool {
        let found = self.predicted.as_ref();
        found.is_ok_and(|found| found.metric == ELAPSED)
    }

    /// What formulas say of a metric: the whole, or a term of a program.
    pub fn predicted_of(&self, metric: &str) -> Option<Interval> {
        let whole = self.predicted.as_ref().ok()?;
        let terms = self.terms.iter().map(|(term, _)| term);
        let mut all = std::iter::once(whole).chain(terms);
        let of = all.find(|found| found.metric == metric)?.estimate;
        Some(Interval {
            low: of.low,
            estimate: of.value,
            high: of.high,
        })
    }

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
