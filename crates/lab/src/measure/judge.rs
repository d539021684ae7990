//! What rounds come to: a table for each load, and evidence for claims.
//!
//! The median time of a request is compared with that of `native` in the same round, beside the
//! control: rates and means of slices this short are made by the few requests that met another
//! user of the disk. They are shown, and decide nothing. A control that is wider than the zone,
//! or beside 1, leaves everything undecided, except an effect ten times as large as whatever the
//! control may be: a machine that wavers by 6 % still sees a factor of three.

use super::record::{Block, Measuring, Recorded};
use super::spec::{CONTROL, Load, Medium, NATIVE, Relation, Rule, Study};
use crate::experiment::{self, Evidence};
use crate::stats::real::ln;
use crate::stats::{
    Better, Bootstrap, Comparison, Interval, Judge, Judgement, Noise, Pair, Verdict, Zone,
    hodges_lehmann,
};

/// What subjects are compared by.
const JUDGED: &str = "p50_us";
/// Resamples: ends of intervals move by a twentieth of their width with more.
const RESAMPLES: usize = 1_000;
/// How many times as large as the control an effect has to be where the control is not quiet.
const CLEAR: f64 = 10.0;
/// Above so many numbers, a normal distribution is as good as the binomial one.
const EXACT_MAX: usize = 500;
/// Rounds below which there is no interval.
const ROUNDS_MIN: usize = 6;

/// A number with its interval; none for fewer than six rounds.
pub type Cell = Option<Interval>;

/// One load on one medium: all subjects beside `native`.
#[derive(Debug, Clone)]
pub struct Comparing {
    /// Who measured it.
    pub measuring: Measuring,
    /// Where the images lay.
    pub medium: Medium,
    /// What was asked.
    pub load: Load,
    /// How many rounds.
    pub rounds: usize,
    /// The control's ratio of median times.
    pub control: Cell,
    /// What it says of the machine.
    pub noise: Option<Noise>,
    /// A line for each subject that was measured, in the order of the study.
    pub lines: Vec<Line>,
}

/// A subject under a load.
#[derive(Debug, Clone)]
pub struct Line {
    /// The subject.
    pub subject: String,
    /// Its median time over that of `native`; none for `native` itself.
    pub ratio: Cell,
    /// What that comes to.
    pub comparison: Option<Comparison>,
    /// Rounds to add where it is undecided.
    pub more: usize,
    /// Requests in a second.
    pub iops: Cell,
    /// The median time of a request, in microseconds.
    pub p50: Cell,
    /// The 99th percentile.
    pub p99: Cell,
    /// What the median is longer than that of `native`.
    pub added: Cell,
    /// Processor time of a request, in microseconds: process and the kernel's loop workers.
    pub cpu: Cell,
    /// What emulations are told that it adds to a request, in microseconds.
    pub states_us: Option<f64>,
}

/// Tables of the newest measurement of a study; of none, nothing.
pub fn tables(study: &Study, recorded: &Recorded) -> Vec<Comparing> {
    let Some(measuring) = recorded.latest(study) else {
        return Vec::new();
    };
    let mut tables = Vec::new();
    for medium in &study.media {
        for load in &study.loads {
            let blocks = recorded.rounds(measuring.id(), *medium, &load.name);
            if !blocks.is_empty() {
                let rounds = Rounds(blocks);
                tables.push(rounds.table(study, &measuring, (*medium, load)));
            }
        }
    }
    tables
}

/// What the rules of a study come to: by `own` measurements where there are enough, else by
/// `other` ones, whose machine and day are then said.
pub fn evidence(study: &Study, own: &Recorded, other: &Recorded) -> Vec<Evidence> {
    let rule = |rule: &Rule| {
        let found = judged(study, rule, own, "");
        let found = found.or_else(|| judged(study, rule, other, ", as it came with the program"));
        found.unwrap_or_else(|| told(study, rule, (String::new(), None, Verdict::Undecided, 0)))
    };
    study.rules.iter().map(rule).collect()
}

/// None if there are too few rounds.
fn judged(study: &Study, rule: &Rule, recorded: &Recorded, whose: &str) -> Option<Evidence> {
    let measuring = recorded.latest(study)?;
    let rounds = Rounds(recorded.rounds(measuring.id(), rule.medium, &rule.load));
    let (found, count) = rounds.related(rule)?;
    let control = rounds.judge(study.zone, CONTROL)?;
    let is_clear = control.noise == Noise::Quiet || rounds.is_clear(rule, &control);
    let day = super::machine::date(measuring.date);
    let mut beside = format!(" ({}, {day}{whose})", rule.medium.word());
    let verdict = if is_clear {
        decide(rule, &found)
    } else {
        Verdict::Undecided
    };
    if !is_clear {
        beside.push_str(&noise_words(control.noise, count));
    }
    Some(told(study, rule, (beside, Some(found), verdict, count)))
}

/// What a control that is not quiet means.
pub(super) fn noise_words(noise: Noise, rounds: usize) -> String {
    match noise {
        Noise::Quiet => String::new(),
        Noise::TooNoisy { more_pairs } => {
            let all = rounds + more_pairs;
            format!("; too noisy: {more_pairs} more rounds are needed (--replicates {all})")
        }
        Noise::Biased => "; the control differs from itself: something else is at work".to_owned(),
    }
}

fn decide(rule: &Rule, found: &Interval) -> Verdict {
    let inside = |(low, high): (f64, f64)| low <= found.low && found.high <= high;
    let (low, high) = rule.confirm;
    let is_outside = found.high < low || high < found.low;
    if inside(rule.confirm) {
        Verdict::Confirmed
    } else if rule.refute.iter().any(|region| inside(*region))
        || (rule.refute.is_empty() && is_outside)
    {
        Verdict::Refuted
    } else {
        Verdict::Undecided
    }
}

/// As the table of claims shows it.
fn told(
    study: &Study,
    rule: &Rule,
    (beside, interval, verdict, count): (String, Cell, Verdict, usize),
) -> Evidence {
    let metric = match &rule.relation {
        Relation::Ratio => rule.metric.clone(),
        Relation::Difference => format!("added_{}", rule.metric),
        Relation::Steps(..) => "steps".to_owned(),
    };
    let base = matches!(rule.relation, Relation::Ratio).then(|| rule.base.clone());
    Evidence {
        experiment: study.name.clone(),
        rule: experiment::Rule {
            claim: rule.claim.clone(),
            what: format!("{}{beside}", rule.what),
            other: format!("{} {} {}", rule.other, rule.load, rule.medium.word()),
            base,
            metric,
            confirm: rule.confirm,
            refute: rule.refute.first().copied(),
            zone: study.zone,
            group: None,
        },
        interval,
        verdict,
        count,
    }
}

struct Rounds<'a>(Vec<&'a Block>);

impl Rounds<'_> {
    fn values(&self, subject: &str, metric: &str) -> Vec<f64> {
        let value = |block: &&Block| block.subjects.get(subject)?.get(metric).copied();
        self.0.iter().filter_map(value).collect()
    }

    /// The rounds that have all of these, as rows of their numbers.
    fn rows(&self, subjects: &[&str], metric: &str) -> Vec<Vec<f64>> {
        let row = |block: &&Block| {
            let value = |subject: &&str| block.subjects.get(*subject)?.get(metric).copied();
            subjects.iter().map(value).collect::<Option<Vec<f64>>>()
        };
        self.0.iter().filter_map(row).collect()
    }

    fn pairs(&self, other: &str, base: &str, metric: &str) -> Vec<Pair> {
        let rows = self.rows(&[other, base], metric);
        let pair = |row: Vec<f64>| Pair {
            base: row[1],
            other: row[0],
        };
        rows.into_iter().map(pair).collect()
    }

    fn judge(&self, zone: f64, subject: &str) -> Option<Judgement> {
        let judge = Judge {
            zone: Zone::of_share(zone).ok()?,
            better: Better::Lower,
            bootstrap: bootstrap(),
        };
        let control = self.pairs(CONTROL, NATIVE, JUDGED);
        judge
            .judge(&self.pairs(subject, NATIVE, JUDGED), &control)
            .ok()
    }

    /// The number that a rule is about, with its interval, and of how many rounds.
    fn related(&self, rule: &Rule) -> Option<(Interval, usize)> {
        let (other, base) = (rule.other.as_str(), rule.base.as_str());
        match &rule.relation {
            Relation::Ratio => {
                let pairs = self.pairs(other, base, &rule.metric);
                let logs = crate::stats::log_ratios(&pairs).ok()?;
                let found = centre(&logs)?;
                Some((found.map(crate::stats::real::exp), pairs.len()))
            }
            Relation::Difference => {
                let differences = self.differences(other, base, &rule.metric);
                Some((centre(&differences)?, differences.len()))
            }
            Relation::Steps(high, low) => {
                let rows = self.rows(&[other, base, high, low], &rule.metric);
                Some((steps(&rows)?, rows.len()))
            }
        }
    }

    fn differences(&self, other: &str, base: &str, metric: &str) -> Vec<f64> {
        let pairs = self.pairs(other, base, metric);
        pairs.iter().map(|pair| pair.other - pair.base).collect()
    }

    /// Whether the effect is many times as large as what the control may be.
    fn is_clear(&self, rule: &Rule, control: &Judgement) -> bool {
        let most = ln(control.control.high)
            .abs()
            .max(ln(control.control.low).abs());
        let mut subjects = vec![(rule.other.as_str(), rule.base.as_str())];
        if let Relation::Steps(high, low) = &rule.relation {
            subjects.push((high, low));
        }
        subjects.into_iter().all(|(other, base)| {
            let logs = crate::stats::log_ratios(&self.pairs(other, base, JUDGED));
            let found = logs.ok().and_then(|logs| centre(&logs));
            found.is_some_and(|found| {
                let least = found.low.abs().min(found.high.abs());
                !found.contains(0.0) && least > CLEAR * most
            })
        })
    }

    fn table(
        &self,
        study: &Study,
        measuring: &Measuring,
        (medium, load): (Medium, &Load),
    ) -> Comparing {
        let control = self.judge(study.zone, CONTROL);
        let known = |subject: &&super::spec::SubjectSpec| {
            self.0
                .iter()
                .any(|block| block.subjects.contains_key(&subject.name))
        };
        let line = |subject: &super::spec::SubjectSpec| {
            let name = subject.name.as_str();
            let other = (name != NATIVE)
                .then(|| self.judge(study.zone, name))
                .flatten();
            let cell = |metric: &str| middle(&self.values(name, metric));
            Line {
                subject: name.to_owned(),
                ratio: other.map(|found| found.ratio),
                comparison: other.map(|found| found.comparison),
                more: other.map_or(0, |found| found.more_pairs),
                iops: cell("iops"),
                p50: cell("p50_us"),
                p99: cell("p99_us"),
                added: (name != NATIVE)
                    .then(|| middle(&self.differences(name, NATIVE, JUDGED)))
                    .flatten(),
                cpu: middle(&self.processor(name)),
                states_us: subject.states_us,
            }
        };
        Comparing {
            measuring: measuring.clone(),
            medium,
            load: load.clone(),
            rounds: self.0.len(),
            control: control.map(|found| found.control),
            noise: control.map(|found| found.noise),
            lines: study.subjects.iter().filter(known).map(line).collect(),
        }
    }

    /// Processor time of a request: the process, and the kernel for its loop devices.
    fn processor(&self, subject: &str) -> Vec<f64> {
        let both = |block: &&Block| {
            let values = block.subjects.get(subject)?;
            Some(values.get("cpu_us")? + values.get("workers_us")?)
        };
        self.0.iter().filter_map(both).collect()
    }
}

fn bootstrap() -> Bootstrap {
    Bootstrap {
        resamples: RESAMPLES,
        ..Bootstrap::default()
    }
}

/// The median with the interval that holds it in 95 % of all cases, whatever the distribution: from
/// one of the numbers, in their order, to another (for 20 the sixth and the fifteenth).
fn middle(numbers: &[f64]) -> Cell {
    let count = numbers.len();
    if count < ROUNDS_MIN {
        return None;
    }
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let skipped = skipped(count);
    Some(Interval {
        low: sorted[skipped],
        estimate: crate::stats::median(&sorted)?,
        high: sorted[count - 1 - skipped],
    })
}

/// How many of so many numbers may lie beyond each end of that interval.
fn skipped(count: usize) -> usize {
    if count > EXACT_MAX {
        let half = count as f64 / 2.0;
        return (half - 1.96 * half.sqrt() / std::f64::consts::SQRT_2).max(0.0) as usize;
    }
    // How likely it is that so many of them lie below the median: a binomial distribution.
    let (mut skipped, mut exactly) = (0, 0.5_f64.powi(count as i32));
    let mut at_most = exactly;
    while at_most <= 0.025 {
        exactly *= (count - skipped) as f64 / (skipped + 1) as f64;
        skipped += 1;
        at_most += exactly;
    }
    skipped.saturating_sub(1)
}

/// The centre of numbers with its 95 % interval.
fn centre(numbers: &[f64]) -> Cell {
    if numbers.len() < ROUNDS_MIN {
        return None;
    }
    let found = bootstrap().intervals(numbers, hodges_lehmann, [0.95]);
    found.ok().map(|[found]| found)
}

/// How many times as large as a first difference another one is: centres of both over the same
/// rounds, and the rounds are what is drawn anew.
fn steps(rows: &[Vec<f64>]) -> Cell {
    if rows.len() < ROUNDS_MIN {
        return None;
    }
    let ratio = |drawn: &[f64]| {
        let of = |(high, low): (usize, usize)| {
            let row = |at: &f64| &rows[*at as usize];
            let each: Vec<f64> = drawn
                .iter()
                .map(|at| row(at)[high] - row(at)[low])
                .collect();
            hodges_lehmann(&each)
        };
        let (step, first) = (of((0, 1))?, of((2, 3))?);
        // A first step of nothing has no multiple.
        Some(if first.abs() < 1e-9 {
            f64::MAX.sqrt()
        } else {
            step / first
        })
    };
    let indices: Vec<f64> = (0..rows.len()).map(|at| at as f64).collect();
    let found = bootstrap().intervals(&indices, ratio, [0.95]);
    found.ok().map(|[found]| found)
}
