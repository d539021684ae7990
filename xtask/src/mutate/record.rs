//! `docs/mutations.md`: what came of the areas the last time, kept by the command.
//!
//! The reasons of survivors are written by hand; a survivor of the same name keeps its reason, also
//! when its line has moved. The document is read back before it is written, so that a run over one
//! area leaves the others as they are.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::arguments::Part;
use super::generated::{Outcomes, split};

/// Where it is, from the root.
pub(super) const PLACE: &str = "docs/mutations.md";
/// The reason of a survivor that has none yet.
const OPEN: &str = "**nobody has looked at it yet**";
const SURVIVORS: &str = "## Survivors";
/// What stands above the table, and its head.
const HEAD: &str = include_str!("record/head.md");

/// What is known of an area.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    revision: String,
    numbers: Vec<u32>,
    of: u32,
    outcomes: Outcomes,
}

/// What is known of all areas.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    rows: BTreeMap<String, Row>,
    /// By the name of a survivor, without its line.
    reasons: BTreeMap<String, String>,
}

impl Record {
    /// Reads what [`Record::text`] wrote.
    pub(super) fn parse(text: &str) -> Self {
        let mut record = Self::default();
        let mut area = String::new();
        for line in text.lines() {
            if let Some((name, row)) = row(line) {
                record.rows.insert(name, row);
            } else if let Some(name) = line.strip_prefix("### ") {
                name.clone_into(&mut area);
            } else if let Some((name, reason)) = survivor(line)
                && let Some(row) = record.rows.get_mut(&area)
            {
                row.outcomes.survived.push(name.to_owned());
                record.reasons.insert(key(name), reason.to_owned());
            }
        }
        record
    }

    /// The survivors of an area, if it was looked at.
    pub(super) fn survivors(&self, area: &str) -> Option<&[String]> {
        Some(&self.rows.get(area)?.outcomes.survived)
    }

    /// Adds a part that was run at `revision`. A part of the same cut of the same commit is added
    /// to what is there; anything else replaces it.
    pub(super) fn add(&mut self, area: &str, revision: &str, part: Part, new: Outcomes) {
        let fits = |row: &&mut Row| {
            row.of == part.of && row.revision == revision && !row.numbers.contains(&part.number)
        };
        if let Some(row) = self.rows.get_mut(area).filter(fits) {
            row.numbers.push(part.number);
            row.outcomes.caught += new.caught;
            row.outcomes.timeout += new.timeout;
            row.outcomes.unviable += new.unviable;
            row.outcomes.survived.extend(new.survived);
            return;
        }
        let row = Row {
            revision: revision.to_owned(),
            numbers: vec![part.number],
            of: part.of,
            outcomes: new,
        };
        self.rows.insert(area.to_owned(), row);
    }

    /// The survivors of an area were made again at `revision`: `new` came of them.
    pub(super) fn again(&mut self, area: &str, revision: &str, new: Outcomes) {
        let Some(row) = self.rows.get_mut(area) else {
            return;
        };
        let first = row.revision.split(' ').next().unwrap_or_default();
        row.revision = if first == revision {
            revision.to_owned()
        } else {
            format!("{first} (survivors {revision})")
        };
        // A name may stand for several places of a function, of which tests found some before.
        let all = row.outcomes.viable();
        row.outcomes.survived = new.survived;
        row.outcomes.caught = all - row.outcomes.timeout - row.outcomes.survived.len();
    }

    /// The document.
    pub(super) fn text(&self) -> String {
        let mut text = HEAD.to_owned();
        for (name, row) in &self.rows {
            writeln!(text, "{}", line(name, row)).expect("a string takes all");
        }
        writeln!(text, "\n{SURVIVORS}").expect("a string takes all");
        for (name, row) in &self.rows {
            if row.outcomes.survived.is_empty() {
                continue;
            }
            writeln!(text, "\n### {name}\n").expect("a string takes all");
            let mut survived = row.outcomes.survived.clone();
            survived.sort();
            for survivor in survived {
                let reason = self
                    .reasons
                    .get(&key(&survivor))
                    .map_or(OPEN, String::as_str);
                writeln!(text, "- `{survivor}`: {reason}").expect("a string takes all");
            }
        }
        text
    }
}

fn line(name: &str, row: &Row) -> String {
    let Outcomes {
        caught,
        timeout,
        unviable,
        survived,
    } = &row.outcomes;
    let viable = row.outcomes.viable();
    let mut numbers = row.numbers.clone();
    numbers.sort_unstable();
    let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
    let found = 100.0 * (caught + timeout) as f64 / viable.max(1) as f64;
    format!(
        "| {name} | {} | {} of {} | {} | {unviable} | {caught} | {timeout} | {} | {found:.1} % |",
        row.revision,
        numbers.join("+"),
        row.of,
        viable + unviable,
        survived.len(),
    )
}

/// A line of the table. Survivors follow below.
fn row(line: &str) -> Option<(String, Row)> {
    let cells: Vec<&str> = line.strip_prefix("| ")?.split(" | ").collect();
    let [name, revision, part, _, unviable, caught, timeout, ..] = cells[..] else {
        return None;
    };
    let (numbers, of) = part.split_once(" of ")?;
    let numbers = numbers.split('+').map(|number| number.parse().ok());
    let row = Row {
        revision: revision.to_owned(),
        numbers: numbers.collect::<Option<_>>()?,
        of: of.parse().ok()?,
        outcomes: Outcomes {
            caught: caught.parse().ok()?,
            timeout: timeout.parse().ok()?,
            unviable: unviable.parse().ok()?,
            survived: Vec::new(),
        },
    };
    Some((name.to_owned(), row))
}

/// A survivor and its reason.
fn survivor(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("- `")?.split_once("`: ")
}

/// What a survivor is called wherever its line is.
fn key(name: &str) -> String {
    let (file, what) = split(name);
    format!("{file}: {what}")
}

#[cfg(test)]
mod tests;
