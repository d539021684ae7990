//! The tables and figures of the seed documents, number by number, beside what the lab found.
//!
//! ```text
//!   seeds.toml    table ─ row: what, the seed's number, where it comes from here
//!                              arm and metric of an experiment, perhaps over a base arm's,
//!                              perhaps a volume by a time
//! ```
//!
//! A number without an arm has no counterpart yet; its row says which claim waits for it. The error
//! is that of the emulation against the seed's number, and is no verdict: the seeds' machines are
//! not described well enough to be emulated, so that ratios within a table say more than numbers.

use std::fmt::Write;

use super::runs::{Seen, of, seen};
use super::text::{escaped, number};
use crate::error::Result;
use crate::experiment::{Comparison, Experiment, Read};
use crate::settings::Table;
use crate::stats::Interval;

const TEXT: &str = include_str!("seeds.toml");

/// A table or figure of a seed.
#[derive(Debug)]
struct Published {
    seed: String,
    title: String,
    note: String,
    rows: Vec<Entry>,
}

/// One number of it.
#[derive(Debug)]
struct Entry {
    what: String,
    unit: String,
    /// From and to; the same for a plain number, `None` for a figure without numbers.
    value: Option<(f64, f64)>,
    claim: Option<String>,
    source: Option<Source>,
}

/// What the lab has beside it.
#[derive(Debug)]
struct Source {
    experiment: String,
    arm: String,
    base: Option<String>,
    metric: String,
    /// The number is this, divided by the metric: a rate of a volume.
    per: Option<f64>,
    times: f64,
}

/// The columns beside the seed's own number.
#[derive(Debug, Default)]
struct Found {
    predicted: Option<Interval>,
    emulated: Option<Interval>,
    /// What ran: replicates, first seed, configuration, depth reached, hits.
    origin: String,
    outstanding: Option<f64>,
    hits: Option<f64>,
}

/// What numbers of the lab are taken from.
pub(super) struct Lab<'a> {
    pub(super) experiments: &'a [Experiment],
    pub(super) results: &'a Read,
    /// What formulas say of each experiment's arms, in the order of the experiments.
    pub(super) compared: &'a [Vec<Comparison>],
}

/// The sections of all seeds.
pub(super) fn sections(lab: &Lab<'_>) -> Result<String> {
    let mut out = String::from(
        "<section id=\"seeds\"><h2>The documents' tables and figures</h2><p>Each number as it was \
         printed, and what came of the same question here. The error compares the emulation with \
         the printed number. It is no verdict: no document describes its machine completely, so \
         that ratios within a table say more than the numbers. A row without a number here names \
         the claim that it belongs to. What was measured on a real machine has <a \
         href=\"#measured\">a section of its own</a>.</p>",
    );
    for table in read(TEXT)? {
        show(&mut out, &table, lab);
    }
    out.push_str("</section>");
    Ok(out)
}

fn read(text: &str) -> Result<Vec<Published>> {
    let mut all = Table::parse("seeds.toml", text)?;
    let tables = all.tables("table")?;
    all.finish()?;
    tables.into_iter().map(published).collect()
}

fn published(mut table: Table) -> Result<Published> {
    let unit = table.text("unit")?.unwrap_or_default();
    let experiment = table.text("experiment")?;
    let rows = table.tables("rows")?.into_iter();
    let rows = rows.map(|row| entry(row, &unit, experiment.as_deref()));
    let found = Published {
        seed: table.need_text("seed")?,
        title: table.need_text("title")?,
        note: table.text("note")?.unwrap_or_default(),
        rows: rows.collect::<Result<_>>()?,
    };
    table.finish()?;
    Ok(found)
}

fn entry(mut row: Table, unit: &str, experiment: Option<&str>) -> Result<Entry> {
    let value = match row.numbers("range")?.as_deref() {
        None => row.number("value")?.map(|value| (value, value)),
        Some(&[low, high]) => Some((low, high)),
        Some(_) => return Err(row.error("range", "two numbers are expected")),
    };
    let source = match row.text("arm")? {
        None => None,
        Some(arm) => {
            let own = row.text("experiment")?.or(experiment.map(str::to_owned));
            Some(Source {
                experiment: own.ok_or_else(|| row.missing("experiment"))?,
                arm,
                base: row.text("base")?,
                metric: row.need_text("metric")?,
                per: row.number("per")?,
                times: row.number("times")?.unwrap_or(1.0),
            })
        }
    };
    let entry = Entry {
        what: row.need_text("what")?,
        unit: row.text("unit")?.unwrap_or_else(|| unit.to_owned()),
        value,
        claim: row.text("claim")?,
        source,
    };
    row.finish()?;
    Ok(entry)
}

impl Source {
    fn of(&self, value: f64) -> f64 {
        self.per.map_or(value, |per| per / value.max(1e-12)) * self.times
    }

    fn turned(&self, found: Interval) -> Interval {
        let (one, other) = (self.of(found.low), self.of(found.high));
        Interval {
            low: one.min(other),
            estimate: self.of(found.estimate),
            high: one.max(other),
        }
    }

    fn found(&self, lab: &Lab<'_>) -> Found {
        let mut all = lab.experiments.iter().zip(lab.compared);
        let Some((experiment, compared)) = all.find(|(one, _)| one.name == self.experiment) else {
            return Found::default();
        };
        let arms = seen(experiment, &lab.results.records);
        let one = |words: &str| arms.iter().find(|seen| seen.arm.is_named(words));
        let Some(arm) = one(&self.arm) else {
            return Found::default();
        };
        let base = self.base.as_deref().map(one);
        let values: Vec<f64> = match base {
            None => arm.values(&self.metric),
            Some(base) => {
                let base = base
                    .map(|seen| seen.values(&self.metric))
                    .unwrap_or_default();
                let both = arm.values(&self.metric).into_iter().zip(base);
                both.map(|(value, base)| value / base.max(1e-12)).collect()
            }
        };
        let values: Vec<f64> = values.into_iter().map(|value| self.of(value)).collect();
        // Of ratios only the emulation's is shown: a prediction of both says no more.
        let single = self.base.is_none();
        let key = arm.arm.key();
        let formula = compared.iter().find(|one| single && one.arm == key);
        let formula = formula.and_then(|one| one.predicted_of(&self.metric));
        Found {
            predicted: formula.map(|found| self.turned(found)),
            emulated: of(&values),
            origin: self.origin(experiment, arm),
            outstanding: some(arm.mean("outstanding")),
            hits: some(arm.mean("hits_percent")),
        }
    }

    fn origin(&self, experiment: &Experiment, arm: &Seen<'_>) -> String {
        let over = self
            .base
            .as_ref()
            .map_or_else(String::new, |base| format!(" over {base}"));
        format!(
            "<a href=\"#x-{name}\">{name}</a>: {}{}<br><small>{} runs from seed {}, configuration \
             {:016x}</small>",
            escaped(&arm.name),
            escaped(&over),
            arm.runs.len(),
            arm.seed(),
            arm.arm.hash,
            name = escaped(&experiment.name),
        )
    }
}

fn some(value: f64) -> Option<f64> {
    (value > 0.0).then_some(value)
}

fn show(out: &mut String, table: &Published, lab: &Lab<'_>) {
    let found: Vec<Found> = table
        .rows
        .iter()
        .map(|row| row.source.as_ref().map(|source| source.found(lab)))
        .map(Option::unwrap_or_default)
        .collect();
    let _ = write!(
        out,
        "<h3>Document {}: {}</h3>",
        escaped(&table.seed),
        escaped(&table.title)
    );
    if !table.note.is_empty() {
        let _ = write!(out, "<p>{}</p>", escaped(&table.note));
    }
    // A column that nothing is in is left out.
    let columns: Vec<&Column> = COLUMNS
        .iter()
        .filter(|column| found.iter().any(|found| (column.of)(found).is_some()))
        .collect();
    out.push_str(
        "<div class=\"scroll\"><table class=\"numbers\"><thead><tr><th scope=\"col\">Number</th>\
         <th scope=\"col\">Printed</th>",
    );
    for column in &columns {
        let _ = write!(out, "<th scope=\"col\">{}</th>", column.name);
        if column.name == EMULATED {
            out.push_str("<th scope=\"col\">Error</th>");
        }
    }
    out.push_str("<th scope=\"col\">Comes from</th></tr></thead><tbody>");
    for (row, found) in table.rows.iter().zip(&found) {
        line(out, row, found, &columns);
    }
    out.push_str("</tbody></table></div>");
    commands(out, table, lab);
}

/// A column: its name, and what stands in it.
struct Column {
    name: &'static str,
    of: fn(&Found) -> Option<String>,
}

const EMULATED: &str = "Emulated";
const COLUMNS: [Column; 4] = [
    Column {
        name: "Predicted",
        of: |found| found.predicted.as_ref().map(shown),
    },
    Column {
        name: EMULATED,
        of: |found| found.emulated.as_ref().map(shown),
    },
    Column {
        name: "Outstanding",
        of: |found| found.outstanding.map(number),
    },
    Column {
        name: "Hits, %",
        of: |found| found.hits.map(number),
    },
];

fn shown(found: &Interval) -> String {
    format!(
        "{}<br><small>{}–{}</small>",
        number(found.estimate),
        number(found.low),
        number(found.high)
    )
}

fn line(out: &mut String, row: &Entry, found: &Found, columns: &[&Column]) {
    let printed = match row.value {
        None => "a picture".to_owned(),
        Some((low, high)) if low < high => format!("{low} to {high} {}", escaped(&row.unit)),
        Some((value, _)) => format!("{value} {}", escaped(&row.unit)),
    };
    let _ = write!(
        out,
        "<tr><th scope=\"row\">{}</th><td>{printed}</td>",
        escaped(&row.what)
    );
    for column in columns {
        let cell = (column.of)(found).unwrap_or_else(|| "–".to_owned());
        let _ = write!(out, "<td>{cell}</td>");
        if column.name == EMULATED {
            let error = error(row.value, found.emulated.as_ref());
            let _ = write!(out, "<td>{}</td>", error.unwrap_or_else(|| "–".to_owned()));
        }
    }
    let claim = row.claim.as_ref().map_or_else(String::new, |claim| {
        format!("<a href=\"#{0}\">{0}</a> ", escaped(claim))
    });
    let _ = write!(out, "<td>{claim}{}</td></tr>", found.origin);
}

/// How far the emulation is from the printed number, or from the nearer end of a range.
fn error(value: Option<(f64, f64)>, emulated: Option<&Interval>) -> Option<String> {
    let ((low, high), found) = (value?, emulated?.estimate);
    if low < high && (low..=high).contains(&found) {
        return Some("within".to_owned());
    }
    let near = if found < low { low } else { high };
    if near == 0.0 {
        return None;
    }
    let percent = (found / near - 1.0) * 100.0;
    let sign = if percent < 0.0 { "−" } else { "+" };
    Some(format!("{sign}{} %", number(percent.abs())))
}

/// What to type to have the numbers again.
fn commands(out: &mut String, table: &Published, lab: &Lab<'_>) {
    let mut names: Vec<&str> = table
        .rows
        .iter()
        .filter_map(|row| Some(row.source.as_ref()?.experiment.as_str()))
        .collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let Some(experiment) = lab.experiments.iter().find(|one| one.name == name) else {
            continue;
        };
        if let Some(command) = again(experiment, &seen(experiment, &lab.results.records)) {
            let _ = write!(out, "<p>Again: <code>{command}</code></p>");
        }
    }
}

/// What to type to have an experiment's numbers again.
pub(super) fn again(experiment: &Experiment, arms: &[Seen<'_>]) -> Option<String> {
    let seed = arms.iter().map(Seen::seed).min()?;
    let count = arms.iter().map(|seen| seen.runs.len()).max()?;
    Some(format!(
        "ashlar lab run {} --seed {seed} --replicates {count}",
        escaped(&experiment.name)
    ))
}

#[cfg(test)]
mod tests;
