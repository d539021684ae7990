//! Contestants that are measured in turn.
//!
//! Every round measures each contestant once; who begins moves by one from round to round, so that
//! nobody always runs into the cache that another has warmed. One round before the first is not
//! counted.

use super::goal::Goal;
use super::stats::{Estimate, median, ratio};

/// What a measurement says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// Seconds of one run; less is better.
    Seconds,
    /// Operations in a second; more is better.
    PerSecond,
    /// Bytes in a second; more is better.
    BytesPerSecond,
    /// Bytes; less is better.
    Bytes,
    /// How often something happened.
    Count,
    /// Hundredths.
    Percent,
    /// What its case says.
    Number,
}

impl Unit {
    pub(super) fn name(self) -> &'static str {
        match self {
            Unit::Seconds => "s",
            Unit::PerSecond => "/s",
            Unit::BytesPerSecond => "B/s",
            Unit::Bytes => "B",
            Unit::Count => "times",
            Unit::Percent => "%",
            Unit::Number => "",
        }
    }

    /// A value as people read it.
    pub(super) fn shown(self, value: f64) -> String {
        match self {
            Unit::Seconds if value < 0.001 => format!("{:.1} us", value * 1e6),
            Unit::Seconds if value < 1.0 => format!("{:.2} ms", value * 1e3),
            Unit::Seconds => format!("{value:.2} s"),
            Unit::PerSecond => format!("{value:.0} /s"),
            Unit::BytesPerSecond => format!("{:.0} MiB/s", value / f64::from(1 << 20)),
            Unit::Bytes => format!("{:.1} MiB", value / f64::from(1 << 20)),
            Unit::Count => format!("{value:.0} times"),
            Unit::Percent => format!("{value:.2} %"),
            Unit::Number if value.fract() == 0.0 => format!("{value}"),
            Unit::Number => format!("{value:.3}"),
        }
    }
}

/// One way of doing the thing, measured once at each call.
pub(super) struct Contestant<'a> {
    pub(super) name: String,
    pub(super) measure: Box<dyn FnMut() -> Result<f64, String> + 'a>,
}

impl<'a> Contestant<'a> {
    pub(super) fn new(
        name: impl Into<String>,
        measure: impl FnMut() -> Result<f64, String> + 'a,
    ) -> Self {
        Contestant {
            name: name.into(),
            measure: Box::new(measure),
        }
    }
}

/// What was found: our median, and for each peer its median and the ratio of ours to it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub(super) case: String,
    pub(super) unit: Unit,
    pub(super) rounds: usize,
    pub(super) ours: f64,
    pub(super) peers: Vec<(String, f64, Estimate)>,
    pub(super) goal: Goal,
}

impl Row {
    /// The row with what it should show.
    pub(super) fn meant(mut self, goal: Goal) -> Self {
        self.goal = goal;
        self
    }
}

/// Measures `ours` (the first) against the others.
pub(super) fn contest(
    case: &str,
    unit: Unit,
    rounds: usize,
    mut contestants: Vec<Contestant<'_>>,
) -> Result<Row, String> {
    let mut values = vec![Vec::with_capacity(rounds); contestants.len()];
    for round in 0..=rounds {
        for turn in 0..contestants.len() {
            let who = (round + turn) % contestants.len();
            let contestant = &mut contestants[who];
            let value = (contestant.measure)()
                .map_err(|error| format!("{case}: {}: {error}", contestant.name))?;
            if round > 0 {
                values[who].push(value);
            }
        }
    }
    let (ours, theirs) = values.split_first().ok_or("a contest needs a contestant")?;
    let names = contestants
        .iter()
        .skip(1)
        .map(|contestant| contestant.name.clone());
    let peer = |(name, values): (String, &Vec<f64>)| (name, median(values), ratio(ours, values));
    Ok(Row {
        case: case.to_owned(),
        unit,
        rounds,
        ours: median(ours),
        peers: names.zip(theirs).map(peer).collect(),
        goal: Goal::None,
    })
}

#[cfg(test)]
mod tests;
