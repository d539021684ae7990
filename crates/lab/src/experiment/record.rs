//! Results: one JSON line each, appended to a file.
//!
//! ```text
//!   {"kind":"session","command":"…","version":"…","machine":"…","seed":1}
//!   {"kind":"run","experiment":"…","arm":"…","replicate":0,"config":"…","values":{"iops":…}}
//! ```
//!
//! Run lines hold nothing of the machine or of the day, so that one seed gives the same bytes
//! twice. A line that cannot be read is told with its number; the last one may have been cut off
//! when a run was interrupted, and is then run again.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use crate::audit::json::{Node, Value};
use crate::disk::drive::Spent;
use crate::error::{Error, Kind, Result};
use crate::measure::Recorded;
use crate::stack::Outcome;

/// What was seen, by name.
pub(crate) type Values = BTreeMap<String, f64>;

/// One run of one arm.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename = "run")]
pub struct Record {
    /// The experiment.
    pub experiment: String,
    /// The arm, as [`super::Arm::key`] has it.
    pub arm: String,
    /// Which replicate, from 0.
    pub replicate: u64,
    /// Its seed.
    pub seed: u64,
    /// The hash of the arm's description.
    #[serde(serialize_with = "as_digits")]
    pub config: u64,
    /// What was seen, by name: `iops`, `megabytes`, `mean_us`, …
    pub values: BTreeMap<String, f64>,
}

/// What began to write to a file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(tag = "kind", rename = "session")]
pub struct Session {
    /// The command line.
    pub command: String,
    /// Of the program.
    pub version: String,
    /// What it ran on; virtual time does not depend on it.
    pub machine: String,
    /// The seed of the first replicate.
    pub seed: u64,
}

/// A file of results.
#[derive(Debug, Clone, Default)]
pub struct Read {
    /// Its sessions.
    pub sessions: Vec<Session>,
    /// Its runs.
    pub records: Vec<Record>,
    /// What was measured on real machines.
    pub measured: Recorded,
    /// What could not be read, and why it does no harm.
    pub notes: Vec<String>,
}

impl Record {
    /// The line, with its end.
    pub fn to_line(&self) -> String {
        line(self)
    }
}

impl Session {
    /// The line, with its end.
    pub fn to_line(&self) -> String {
        line(self)
    }
}

/// The values of an outcome of jobs.
pub(super) fn of_jobs(outcome: &Outcome) -> Values {
    let all = outcome.all();
    let us = |ns: f64| (ns / 10.0).round() / 100.0;
    let quantile = |q| us(all.quantile(q).unwrap_or(0) as f64);
    let each = |ns: u64| us(ns as f64 / outcome.answers.max(1) as f64);
    let three = |x: f64| (x * 1000.0).round() / 1000.0;
    let spent = &outcome.spent;
    let values = [
        ("iops", three(outcome.per_second())),
        ("megabytes", three(outcome.megabytes())),
        (
            "requests",
            (outcome.reads.count() + outcome.writes.count()) as f64,
        ),
        ("elapsed_s", three(outcome.elapsed_ns as f64 / 1e9)),
        ("outstanding", three(outcome.outstanding())),
        ("mean_us", us(all.mean().unwrap_or(0.0))),
        ("p50_us", quantile(0.5)),
        ("p99_us", quantile(0.99)),
        ("max_us", us(all.range().map_or(0, |range| range.1) as f64)),
        ("parts", spent.parts as f64),
        ("with_state", with_state(spent)),
        ("link_us", each(spent.link_ns)),
        ("loop_us", each(spent.loop_ns)),
        ("mapping_us", each(spent.mapping_ns)),
        ("seek_us", each(spent.seek_ns)),
        ("rotation_us", each(spent.rotation_ns)),
        ("transfer_us", each(spent.transfer_ns)),
        ("waiting_us", each(spent.other_disk_ns())),
    ];
    let owned = |(name, value): (&str, f64)| (name.to_owned(), value);
    values.into_iter().map(owned).collect()
}

/// Parts that disks were asked for, over those that are for the volume's own bytes: 1 where a
/// volume notes nothing for itself.
fn with_state(spent: &Spent) -> f64 {
    let own = spent.parts - spent.state_writes;
    (spent.parts as f64 / own.max(1) as f64 * 1e6).round() / 1e6
}

/// Reads a file of results; `name` is how messages call it. A line in the middle that is no result
/// is an error; the last one may be cut off.
pub fn read(name: &str, text: &str) -> Result<Read> {
    let mut found = Read::default();
    let count = text.lines().count();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let number = index + 1;
        match one(line, &mut found.measured) {
            Ok(Line::Measured) => {}
            Ok(Line::Session(session)) => found.sessions.push(session),
            Ok(Line::Run(record)) => found.records.push(record),
            Err(what) if number == count && !text.ends_with('\n') => {
                found.notes.push(format!(
                    "{name} line {number} was cut off ({what}); that run counts as not done"
                ));
            }
            Err(what) => {
                let what = format!("{name} line {number}: {what}; correct or delete the line");
                return Err(Error::new(Kind::Syntax, what));
            }
        }
    }
    Ok(found)
}

enum Line {
    Session(Session),
    Run(Record),
    /// It was taken to the measurements.
    Measured,
}

fn one(line: &str, measured: &mut Recorded) -> std::result::Result<Line, String> {
    let node = Node::parse(line).map_err(|error| {
        let field = error.field();
        format!("{field}: {}", error.problem())
    })?;
    let text = |name: &str| match node.get(name).map(|node| &node.value) {
        Some(Value::Text(text)) => Ok(text.clone()),
        _ => Err(format!("{name}: a text is expected")),
    };
    let number = |name: &str| match node.get(name).map(|node| &node.value) {
        Some(Value::Number(number)) => Ok(number.value),
        _ => Err(format!("{name}: a number is expected")),
    };
    match text("kind")?.as_str() {
        "session" => Ok(Line::Session(Session {
            command: text("command")?,
            version: text("version")?,
            machine: text("machine")?,
            seed: number("seed")? as u64,
        })),
        "run" => {
            let config = text("config")?;
            let config = u64::from_str_radix(&config, 16);
            let mut values = BTreeMap::new();
            let members = node.get("values").ok_or("values: is missing")?;
            for (name, value) in members.members() {
                let Value::Number(value) = &value.value else {
                    return Err(format!("values.{name}: a number is expected"));
                };
                values.insert(name.clone(), value.value);
            }
            Ok(Line::Run(Record {
                experiment: text("experiment")?,
                arm: text("arm")?,
                replicate: number("replicate")? as u64,
                seed: number("seed")? as u64,
                config: config.map_err(|_| "config: 16 hexadecimal digits are expected")?,
                values,
            }))
        }
        other if measured.take(other, &node)? => Ok(Line::Measured),
        other => Err(format!(
            "kind: '{other}' is neither run nor session nor measured"
        )),
    }
}

/// One line of a file of results, with its end.
pub(crate) fn line(result: &impl Serialize) -> String {
    let mut line = serde_json::to_string(result).expect("texts and numbers can be written");
    line.push('\n');
    line
}

/// A hash as its 16 digits: as a number it would be too large for most who read JSON.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
pub(crate) fn as_digits<S: Serializer>(hash: &u64, to: S) -> std::result::Result<S::Ok, S::Error> {
    to.collect_str(&format_args!("{hash:016x}"))
}
