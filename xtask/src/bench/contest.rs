//! Contestants that are measured in turn.
//!
//! Every round measures each contestant once; who begins moves by one from round to round, so that
//! nobody always runs into the cache that another has warmed. One round before the first is not
//! counted.

use super::stats::{Estimate, median, ratio};

/// What a measurement says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// Seconds of one run; less is better.
    Seconds,
    /// Operations or bytes in a second; more is better.
    #[expect(dead_code, reason = "the tables of exports will use it")]
    PerSecond,
}

impl Unit {
    pub(super) fn name(self) -> &'static str {
        match self {
            Unit::Seconds => "s",
            Unit::PerSecond => "/s",
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
    })
}

#[cfg(test)]
mod tests;
