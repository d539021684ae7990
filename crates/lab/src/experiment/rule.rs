//! Rules: which ratio of which arms decides a claim.
//!
//! A rule takes a metric of one arm, or its ratio to that of a base arm in the same replicate. The
//! interval is the 95 % bootstrap interval of the logarithms' Hodges-Lehmann estimate. A rule that
//! leaves a factor open stands for one rule for each of its values, unless it is about all of them
//! together: see `group.rs`.

use std::collections::BTreeMap;

use super::group::{Group, Over};
use super::record::Record;
use super::spec::{Arm, Experiment};
use crate::error::Result;
use crate::settings::Table;
use crate::stats::real::exp;
use crate::stats::{
    Bootstrap, Claim, Interval, Pair, Region, Verdict, Zone, hodges_lehmann, log_ratios,
};

/// The zone of equivalence unless a rule has its own.
const ZONE: f64 = 0.02;
/// Resamples: ends of intervals move by a hundredth of their width with more.
const RESAMPLES: usize = 4_000;
/// Runs that are never asked for: what needs more is on a limit.
const RUNS_MAX: f64 = 100_000.0;

/// A rule.
#[derive(Debug, Clone)]
pub struct Rule {
    /// The claim that it decides.
    pub claim: String,
    /// What is compared, in words.
    pub what: String,
    /// The arm; the words that name several, if they are judged together.
    pub other: String,
    /// The arm that it is compared with; `None`: the number itself counts.
    pub base: Option<String>,
    /// The metric.
    pub metric: String,
    /// Where the claim holds.
    pub confirm: (f64, f64),
    /// Where it is wrong, if not everywhere else.
    pub refute: Option<(f64, f64)>,
    /// Differences that do not matter.
    pub zone: f64,
    /// The arms that are judged together.
    pub group: Option<Group>,
}

/// What a rule came to.
#[derive(Debug, Clone)]
pub struct Evidence {
    /// The experiment.
    pub experiment: String,
    /// The rule.
    pub rule: Rule,
    /// The ratio, or the number, and its 95 % interval; `None`: too few replicates were run.
    pub interval: Option<Interval>,
    /// What it says.
    pub verdict: Verdict,
    /// Replicates.
    pub count: usize,
}

/// What would decide a rule that is undecided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// About so many runs in all: the interval holds a limit, and shrinks with their square root.
    Runs(usize),
    /// Another experiment: the interval lies between what confirms and what refutes.
    Sharper,
}

impl Evidence {
    /// What would decide it; `None`: it is decided, or was not run.
    pub fn missing(&self) -> Option<Missing> {
        let found = self.interval?;
        if self.verdict != Verdict::Undecided {
            return None;
        }
        let rule = &self.rule;
        let regions = [Some(rule.confirm), rule.refute];
        let limits = regions
            .into_iter()
            .flatten()
            .flat_map(|(low, high)| [low, high]);
        let inside = limits.filter(|limit| found.low < *limit && *limit < found.high);
        let nearest = inside
            .map(|limit| (limit - found.estimate).abs())
            .min_by(f64::total_cmp);
        let Some(nearest) = nearest else {
            return Some(Missing::Sharper);
        };
        let shrink = (found.high - found.low) / 2.0 / nearest.max(f64::MIN_POSITIVE);
        let runs = (self.count as f64 * shrink * shrink).min(RUNS_MAX).ceil();
        Some(Missing::Runs((runs as usize).max(self.count + 1)))
    }
}

impl Rule {
    /// Reads a rule; one for each arm that its words name.
    pub(super) fn parse(mut table: Table, arms: &[Arm]) -> Result<Vec<Self>> {
        let claim = table.need_text("claim")?;
        let what = table.need_text("what")?;
        let other = table.need_text("other")?;
        let base = table.text("base")?;
        let over = Over::read(&mut table, base.is_some())?;
        let metric = table.need_text("metric")?;
        let confirm = region(&mut table, "confirm")?.ok_or_else(|| table.missing("confirm"))?;
        let refute = region(&mut table, "refute")?;
        let zone = table.number("zone")?.unwrap_or(ZONE);
        let checked = Zone::of_share(zone);
        checked.map_err(|error| table.error("zone", error))?;
        let others =
            Experiment::named(arms, &other).map_err(|error| table.error("other", error))?;
        let mut pairs = Vec::new();
        for arm in others {
            let base = match &base {
                None => None,
                Some(words) => Some(partner(&table, arms, words, arm, &other)?),
            };
            pairs.push((arm.key(), base));
        }
        table.finish()?;
        let rule = |other, base, group| Self {
            claim: claim.clone(),
            what: what.clone(),
            other,
            base,
            metric: metric.clone(),
            confirm,
            refute,
            zone,
            group,
        };
        Ok(match over {
            Some(over) => vec![rule(other.clone(), base, Some(Group { over, pairs }))],
            None => pairs
                .into_iter()
                .map(|(other, base)| rule(other, base, None))
                .collect(),
        })
    }

    /// Judges by the runs of each arm and replicate.
    fn judge(&self, experiment: &Experiment, runs: &Runs<'_>) -> Evidence {
        let value = |record: &Record| record.values.get(&self.metric).copied();
        let mut pairs = Vec::new();
        if let Some(group) = &self.group {
            let pair = |other| Pair { base: 1.0, other };
            pairs.extend(group.values(&self.metric, runs).into_iter().map(pair));
        }
        for ((arm, replicate), record) in runs {
            if *arm != self.other || self.group.is_some() {
                continue;
            }
            let base = match &self.base {
                None => Some(1.0),
                Some(base) => runs
                    .get(&(base.as_str(), *replicate))
                    .and_then(|run| value(run)),
            };
            if let (Some(base), Some(other)) = (base, value(record)) {
                pairs.push(Pair { base, other });
            }
        }
        let found = self.decide(&pairs);
        Evidence {
            experiment: experiment.name.clone(),
            rule: self.clone(),
            interval: found.map(|found| found.0),
            verdict: found.map_or(Verdict::Undecided, |found| found.1),
            count: pairs.len(),
        }
    }

    fn decide(&self, pairs: &[Pair]) -> Option<(Interval, Verdict)> {
        let [wide, narrow] = intervals(pairs)?;
        let region = |(low, high)| Region::new(low, high).ok();
        let claim = Claim {
            confirm: region(self.confirm)?,
            refute: self.refute.and_then(region),
        };
        let zone = Zone::of_share(self.zone).ok()?;
        Some((wide, claim.judge(&wide, &narrow, &zone)))
    }
}

/// The 95 % and the 90 % interval of other over base.
fn intervals(pairs: &[Pair]) -> Option<[Interval; 2]> {
    let logs = log_ratios(pairs).ok()?;
    let bootstrap = Bootstrap {
        resamples: RESAMPLES,
        ..Bootstrap::default()
    };
    let both = bootstrap
        .intervals(&logs, hodges_lehmann, [0.95, 0.90])
        .ok()?;
    Some(both.map(|interval| interval.map(exp)))
}

/// The 95 % interval of numbers above 0; `None` for fewer than six.
pub fn interval(values: &[f64]) -> Option<Interval> {
    let pair = |value: &f64| Pair {
        base: 1.0,
        other: *value,
    };
    let pairs: Vec<Pair> = values.iter().map(pair).collect();
    intervals(&pairs).map(|both| both[0])
}

pub(super) type Runs<'a> = BTreeMap<(&'a str, u64), &'a Record>;

/// What the rules of an experiment come to, by records of it; of several runs of one arm and
/// replicate the last one counts, and only those of its present description.
pub fn judge(experiment: &Experiment, records: &[Record]) -> Vec<Evidence> {
    let configs: BTreeMap<String, u64> = experiment
        .arms
        .iter()
        .map(|arm| (arm.key(), arm.hash))
        .collect();
    let mut runs = Runs::new();
    for record in records {
        if record.experiment == experiment.name && configs.get(&record.arm) == Some(&record.config)
        {
            runs.insert((&record.arm, record.replicate), record);
        }
    }
    let rules = experiment.rules.iter();
    rules.map(|rule| rule.judge(experiment, &runs)).collect()
}

fn region(table: &mut Table, key: &str) -> Result<Option<(f64, f64)>> {
    let Some(numbers) = table.numbers(key)? else {
        return Ok(None);
    };
    match numbers.as_slice() {
        &[low, high] if low <= high => Ok(Some((low, high))),
        _ => Err(table.error(key, "two numbers, the smaller first, are expected")),
    }
}

/// The base arm of `arm`: what the words name, with the other factors, the load and the layout as
/// `arm` has them where the words leave a choice.
fn partner(table: &Table, arms: &[Arm], words: &str, arm: &Arm, other: &str) -> Result<String> {
    let mut found = Experiment::named(arms, words).map_err(|error| table.error("base", error))?;
    if found.len() > 1 {
        let named = |name: &str| words.contains(&format!("{name}="));
        let same = |base: &&Arm| {
            let mut both = base.factors.iter().zip(&arm.factors);
            both.all(|(base, own)| base == own || named(&base.0))
        };
        found.retain(same);
    }
    if found.len() > 1 {
        found.retain(|base| base.load_name == arm.load_name);
    }
    if found.len() > 1 {
        found.retain(|base| base.layout_name == arm.layout_name);
    }
    if let [base] = found.as_slice() {
        return Ok(base.key());
    }
    let count = found.len();
    let what = format!("'{words}' names {count} arms beside '{other}'; one is needed");
    Err(table.error("base", what))
}
