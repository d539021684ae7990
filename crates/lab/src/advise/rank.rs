//! Predictions of candidates, in order; ties; the Pareto front; emulations of the best few.

use super::candidate::{Candidate, Wish, candidates};
use super::counted::{Counted, counted};
use crate::error::{Error, Kind, Result};
use crate::predict::{Estimate, Question, Trial, trial};

/// What candidates are ordered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Requests per second, the more the better.
    PerSecond,
    /// The mean response time, the less the better: requests come at a rate.
    Response,
}

/// A candidate with what it does.
#[derive(Debug, Clone)]
pub struct Choice {
    /// The layout.
    pub candidate: Candidate,
    /// Requests per second.
    pub per_second: Estimate,
    /// The mean response time in nanoseconds.
    pub response_ns: Estimate,
    /// What it is ordered by: [`Metric::PerSecond`] also where it cannot keep the rate.
    pub metric: Metric,
    /// Whether its value lies in the interval of the best one.
    pub tied: bool,
    /// Whether nothing else is at least as good in everything and better in something.
    pub front: bool,
    /// What was emulated.
    pub emulated: Option<Trial>,
}

/// The choices, the best first.
#[derive(Debug, Clone)]
pub struct Advice {
    /// All that could be predicted.
    pub choices: Vec<Choice>,
    /// Candidates that could not be, and why.
    pub without: Vec<(String, String)>,
    /// What the load costs arrays.
    pub counted: Vec<Counted>,
    /// Bytes of a request.
    pub request: u64,
}

/// Predicts all candidates of a wish, and emulates the best `emulated` ones; if any, arrays too.
pub fn advise(wish: &Wish, emulated: usize, seed: u64) -> Result<Advice> {
    let (mut choices, mut without) = (Vec::new(), Vec::new());
    for candidate in candidates(wish)? {
        match predicted(candidate.clone(), wish, seed) {
            Ok(choice) => choices.push(choice),
            Err(error) => without.push((candidate.name(), error.to_string())),
        }
    }
    if choices.is_empty() {
        let why = without.first().map_or("no candidate", |first| &first.1);
        return Err(Error::new(Kind::Unsupported, why));
    }
    choices.sort_by(Choice::better);
    let best = choices[0].clone();
    for choice in &mut choices {
        choice.tied = choice.is_tied(&best);
    }
    for index in 0..choices.len() {
        let beaten = choices.iter().any(|other| other.beats(&choices[index]));
        choices[index].front = !beaten;
    }
    for choice in choices.iter_mut().take(emulated) {
        let expected = choice.per_second.value;
        let found = trial(&choice.candidate.layout, &wish.job, expected, seed)?;
        choice.emulated = Some(found);
    }
    Ok(Advice {
        counted: counted(wish, &choices, (emulated > 0).then_some(seed))?,
        choices,
        without,
        request: wish.job.block[0].max(wish.job.block[1]),
    })
}

fn predicted(candidate: Candidate, wish: &Wish, seed: u64) -> Result<Choice> {
    let question = Question::new(
        &candidate.layout,
        std::slice::from_ref(&wish.job),
        None,
        seed,
    )?;
    let found = question.predict()?;
    let open = question.is_open()?;
    Ok(Choice {
        candidate,
        per_second: if open {
            Estimate::exact(found.per_second)
        } else {
            question.own_interval(found.per_second)
        },
        response_ns: question.own_interval(found.response_ns),
        metric: if open {
            Metric::Response
        } else {
            Metric::PerSecond
        },
        tied: false,
        front: false,
        emulated: None,
    })
}

impl Choice {
    /// Whoever keeps a rate comes before whoever does not; then by value, then by fewer disks.
    fn better(&self, other: &Self) -> std::cmp::Ordering {
        let late = |choice: &Self| choice.metric == Metric::PerSecond;
        let value = |choice: &Self| match choice.metric {
            Metric::PerSecond => -choice.per_second.value,
            Metric::Response => choice.response_ns.value,
        };
        late(self)
            .cmp(&late(other))
            .then(value(self).total_cmp(&value(other)))
            .then(self.candidate.disks.len().cmp(&other.candidate.disks.len()))
    }

    fn is_tied(&self, best: &Self) -> bool {
        self.metric == best.metric
            && match self.metric {
                Metric::PerSecond => self.per_second.value >= best.per_second.low,
                Metric::Response => self.response_ns.value <= best.response_ns.high,
            }
    }

    /// Whether it is at least as good in everything and better in something.
    fn beats(&self, other: &Self) -> bool {
        let goods = |choice: &Self| {
            [
                choice.per_second.value,
                -choice.response_ns.value,
                choice.candidate.capacity as f64,
                -(choice.candidate.disks.len() as f64),
                f64::from(u8::from(choice.candidate.survives())),
            ]
        };
        let (own, its) = (goods(self), goods(other));
        let mut both = own.iter().zip(&its);
        both.all(|(own, its)| own >= its) && own.iter().zip(&its).any(|(own, its)| own > its)
    }

    /// What the emulation found of what it is ordered by, and the relative error of the prediction.
    pub fn emulated_text(&self) -> Option<(String, f64)> {
        let found = self.emulated?;
        let text = match self.metric {
            Metric::PerSecond => format!("{:.1}", found.per_second),
            Metric::Response => format!("{:.3} ms", found.response_ns / 1e6),
        };
        Some((text, self.error()?))
    }

    /// The relative error of the prediction, where it was emulated.
    pub fn error(&self) -> Option<f64> {
        let found = self.emulated?;
        Some(match self.metric {
            Metric::PerSecond => self.per_second.value / found.per_second.max(1e-9) - 1.0,
            Metric::Response => self.response_ns.value / found.response_ns.max(1e-9) - 1.0,
        })
    }
}

impl Advice {
    /// Megabytes (10^6) per second of so many requests.
    pub fn megabytes(&self, per_second: f64) -> f64 {
        per_second * self.request as f64 / 1e6
    }

    /// How many choices are tied with the best one, that one included.
    pub fn ties(&self) -> usize {
        self.choices.iter().filter(|choice| choice.tied).count()
    }

    /// What to take, in sentences.
    pub fn words(&self) -> Vec<String> {
        let best = &self.choices[0];
        let mut said = vec![format!(
            "Best by prediction: {}, as {}.",
            best.candidate.name(),
            best.candidate.command()
        )];
        let tied: Vec<&Choice> = self.choices[1..].iter().filter(|one| one.tied).collect();
        if tied.is_empty() {
            said.push("Nothing else comes within its 95 % interval.".to_owned());
        } else {
            said.push(format!(
                "{} more are tied with it: they lie within its 95 % interval, and the prediction \
                 does not tell them apart.",
                tied.len()
            ));
        }
        let few = tied.iter().min_by_key(|one| one.candidate.disks.len());
        let count = best.candidate.disks.len();
        if let Some(few) = few.filter(|few| few.candidate.disks.len() < count) {
            let (name, used) = (few.candidate.name(), few.candidate.disks.len());
            said.push(format!(
                "Of those, {name} needs {used} disks instead of {count}."
            ));
        }
        if !best.candidate.survives() {
            let safe = self.choices.iter().find(|one| one.candidate.survives());
            said.push(match safe {
                Some(safe) => format!(
                    "It does not survive the loss of a disk; the best that does is {}, with {:.0} \
                     instead of {:.0} requests per second.",
                    safe.candidate.name(),
                    safe.per_second.value,
                    best.per_second.value
                ),
                None => "It does not survive the loss of a disk; a mirror needs two.".to_owned(),
            });
        }
        said.extend(self.reordered());
        said.extend(self.counted.iter().map(Counted::words));
        said
    }

    /// Whether emulation puts the best few into another order.
    fn reordered(&self) -> Option<String> {
        let value = |choice: &Choice| {
            let found = choice.emulated?;
            Some(match choice.metric {
                Metric::PerSecond => -found.per_second,
                Metric::Response => found.response_ns,
            })
        };
        let seen = self.choices.iter().filter(|one| one.emulated.is_some());
        let first = seen.min_by(|a, b| {
            let (a, b) = (value(a).unwrap_or(0.0), value(b).unwrap_or(0.0));
            a.total_cmp(&b)
        })?;
        let best = self.choices[0].candidate.name();
        let name = first.candidate.name();
        (name != best).then(|| format!("Emulated, the best of these few is {name}."))
    }
}
