//! The lab against what it is asked to reach: closed forms, measured drives, its own speed.
//!
//! Nobody else is measured: an example of `lab` works the numbers out and says what each should be,
//! one line each. Those of wall time depend on the machine; all others are the same on each.

use std::time::Duration;

use ::tests::Tool;

use super::super::contest::{Row, Unit};
use super::super::goal::Goal;
use super::super::run::{Bench, Effort, Table};
use super::load::example;

pub(super) const TABLE: Table = Table {
    name: "lab",
    about: "emulation and prediction against closed forms, measured drives and goals of speed",
    peers: &[],
    run,
};

/// The longest that all of it may take.
const TIME_MAX: Duration = Duration::from_mins(20);

fn run(bench: &Bench) -> Result<Vec<Row>, String> {
    let mut tool = Tool::new(example("ashlar-lab", "numbers")?).limit(TIME_MAX);
    if bench.effort == Effort::Smoke {
        tool = tool.arg("--quick");
    }
    let finished = tool.run();
    if finished.code != Some(0) {
        return Err(finished.to_string());
    }
    finished.text().lines().map(row).collect()
}

/// A line of the example.
fn row(line: &str) -> Result<Row, String> {
    let wrong = || format!("the example printed '{line}'");
    let mut fields = line.split('\t');
    let mut field = || fields.next().ok_or_else(wrong);
    let (case, unit, value, goal) = (field()?, field()?, field()?, field()?);
    let unit = match unit {
        "s" => Unit::Seconds,
        "/s" => Unit::PerSecond,
        "%" => Unit::Percent,
        "number" => Unit::Number,
        _ => return Err(wrong()),
    };
    Ok(Row {
        case: case.to_owned(),
        unit,
        rounds: 1,
        ours: value.parse().map_err(|_| wrong())?,
        peers: Vec::new(),
        goal: meant(goal).ok_or_else(wrong)?,
    })
}

fn meant(goal: &str) -> Option<Goal> {
    if let Some(limit) = goal.strip_prefix("<= ") {
        return limit.parse().ok().map(Goal::OursAtMost);
    }
    if let Some(limit) = goal.strip_prefix(">= ") {
        return limit.parse().ok().map(Goal::OursAtLeast);
    }
    let (low, high) = goal.split_once("..")?;
    Some(Goal::OursWithin(low.parse().ok()?, high.parse().ok()?))
}

#[cfg(test)]
mod tests;
