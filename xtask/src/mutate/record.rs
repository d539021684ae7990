//! `docs/mutations.md`: what came of the areas the last time, kept by the command.
//!
//! The reasons of survivors are written by hand; a survivor of the same name keeps its reason, also
//! when its line has moved. The document is read back before it is written, so that a run over one
//! area leaves the others as they are.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::arguments::Part;
use super::generated::{Made, split};

/// Where it is, from the root.
pub(super) const PLACE: &str = "docs/mutations.md";
/// The reason of a survivor that has none yet.
const OPEN: &str = "**nobody has looked at it yet**";
/// What stands instead of a number where only unit tests were asked.
const NOT_ASKED: &str = "not asked";
const SURVIVORS: &str = "## Survivors";
/// Reasons of what the last parts did not have, for when it is made again.
const OTHERS: &str = "## Looked at in other parts";
/// What stands above the table, and its head.
const HEAD: &str = include_str!("record/head.md");

/// What is known of an area.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    revision: String,
    numbers: Vec<u32>,
    of: u32,
    unviable: usize,
    caught: usize,
    timeout: usize,
    /// Found by integration and end-to-end tests, if they were asked.
    later: Option<usize>,
    survived: Vec<String>,
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
            } else if line == OTHERS {
                area.clear();
            } else if let Some((name, reason)) = survivor(line) {
                if let Some(row) = record.rows.get_mut(&area) {
                    row.survived.push(name.to_owned());
                }
                // One of several places of that name may have been looked at.
                if reason != OPEN {
                    record.reasons.insert(key(name), reason.to_owned());
                }
            }
        }
        record
    }

    /// The survivors of an area, if it was looked at.
    pub(super) fn survivors(&self, area: &str) -> Option<&[String]> {
        Some(&self.rows.get(area)?.survived)
    }

    /// Forgets what was added to an area since `before`, but for reasons.
    pub(super) fn set_back(&mut self, area: &str, before: &Self) {
        match before.rows.get(area) {
            Some(row) => self.rows.insert(area.to_owned(), row.clone()),
            None => self.rows.remove(area),
        };
    }

    /// Adds a part that was run at `revision`. A part of the same cut of the same commit is added
    /// to what is there; anything else replaces it.
    pub(super) fn add(&mut self, area: &str, revision: &str, part: Part, made: Made) {
        self.forget(&made);
        let fits = |row: &&mut Row| {
            row.of == part.of
                && row.revision == revision
                && row.later.is_some()
                && !row.numbers.contains(&part.number)
        };
        if let Some(row) = self.rows.get_mut(area).filter(fits) {
            row.numbers.push(part.number);
            row.caught += made.caught.len();
            row.timeout += made.timeout.len();
            // Where nothing more was asked, more survive: that is said, and no worse.
            let more = made.later.map_or(0, |later| later.len());
            row.later = row.later.map(|later| later + more);
            row.unviable += made.unviable.len();
            row.survived.extend(made.survived);
            return;
        }
        let row = Row {
            revision: revision.to_owned(),
            numbers: vec![part.number],
            of: part.of,
            unviable: made.unviable.len(),
            caught: made.caught.len(),
            timeout: made.timeout.len(),
            later: made.later.as_ref().map(Vec::len),
            survived: made.survived,
        };
        self.rows.insert(area.to_owned(), row);
    }

    /// What was found needs no reason.
    fn forget(&mut self, made: &Made) {
        let found = [&made.caught, &made.timeout].into_iter().chain(&made.later);
        for name in found.flatten() {
            if !made.survived.iter().any(|other| key(other) == key(name)) {
                self.reasons.remove(&key(name));
            }
        }
    }

    /// The survivors of an area were made again at `revision`: `made` came of them. Those that no
    /// longer exist, or compile, are not counted any more.
    pub(super) fn again(&mut self, area: &str, revision: &str, mut made: Made) {
        self.forget(&made);
        let Some(row) = self.rows.get_mut(area) else {
            return;
        };
        let first = row.revision.split(' ').next().unwrap_or_default();
        row.revision = if first == revision {
            revision.to_owned()
        } else {
            format!("{first} (survivors {revision})")
        };
        let found = made.later.as_deref().unwrap_or_default();
        let mut later = row.later.unwrap_or_default();
        for name in std::mem::take(&mut row.survived) {
            let is_it = |other: &String| key(other) == key(&name);
            // A name may stand for several places of a function, of which tests found some
            // before: while one of them survives, it is taken for this one.
            if let Some(at) = made.survived.iter().position(is_it) {
                row.survived.push(made.survived.remove(at));
            } else if found.iter().any(is_it) {
                later += 1;
            } else if made.timeout.iter().any(is_it) {
                row.timeout += 1;
            } else if made.caught.iter().any(is_it) {
                row.caught += 1;
            }
        }
        if made.later.is_some() {
            row.later = Some(later);
        }
    }

    /// The document.
    pub(super) fn text(&self) -> String {
        let mut text = HEAD.to_owned();
        for (name, row) in &self.rows {
            writeln!(text, "{}", line(name, row)).expect("a string takes all");
        }
        writeln!(text, "\n{SURVIVORS}").expect("a string takes all");
        for (name, row) in &self.rows {
            if row.survived.is_empty() {
                continue;
            }
            writeln!(text, "\n### {name}\n").expect("a string takes all");
            let mut survived = row.survived.clone();
            survived.sort();
            for survivor in survived {
                let reason = self
                    .reasons
                    .get(&key(&survivor))
                    .map_or(OPEN, String::as_str);
                writeln!(text, "- `{survivor}`: {reason}").expect("a string takes all");
            }
        }
        let names = self.rows.values().flat_map(|row| &row.survived);
        let shown: BTreeSet<String> = names.map(|name| key(name)).collect();
        let others = self
            .reasons
            .iter()
            .filter(|(name, _)| !shown.contains(*name));
        for (number, (name, reason)) in others.enumerate() {
            if number == 0 {
                writeln!(text, "\n{OTHERS}\n").expect("a string takes all");
            }
            writeln!(text, "- `{name}`: {reason}").expect("a string takes all");
        }
        text
    }
}

fn line(name: &str, row: &Row) -> String {
    let found = row.caught + row.timeout + row.later.unwrap_or_default();
    let viable = found + row.survived.len();
    let mut numbers = row.numbers.clone();
    numbers.sort_unstable();
    let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
    let later = row.later.map_or(NOT_ASKED.to_owned(), |n| n.to_string());
    format!(
        "| {name} | {} | {} of {} | {} | {} | {} | {later} | {} | {} | {:.1} % |",
        row.revision,
        numbers.join("+"),
        row.of,
        viable + row.unviable,
        row.unviable,
        row.caught,
        row.timeout,
        row.survived.len(),
        100.0 * found as f64 / viable.max(1) as f64,
    )
}

/// A line of the table. Survivors follow below.
fn row(line: &str) -> Option<(String, Row)> {
    let cells: Vec<&str> = line.strip_prefix("| ")?.split(" | ").collect();
    let [
        name,
        revision,
        part,
        _,
        unviable,
        caught,
        later,
        timeout,
        ..,
    ] = cells[..]
    else {
        return None;
    };
    let (numbers, of) = part.split_once(" of ")?;
    let numbers = numbers.split('+').map(|number| number.parse().ok());
    let row = Row {
        revision: revision.to_owned(),
        numbers: numbers.collect::<Option<_>>()?,
        of: of.parse().ok()?,
        unviable: unviable.parse().ok()?,
        caught: caught.parse().ok()?,
        timeout: timeout.parse().ok()?,
        later: later.parse().ok(),
        survived: Vec::new(),
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
