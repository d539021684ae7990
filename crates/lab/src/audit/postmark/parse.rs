//! Reads the program's reports.

use super::check::replay;
use crate::audit::printed::Printed;
use crate::workload::InputError;
use crate::workload::postmark::{Counts, Settings};

/// A count and its rate per second.
#[derive(Debug, Clone, Copy)]
pub(in crate::audit) struct Counted {
    pub(in crate::audit) count: Printed,
    pub(in crate::audit) rate: Printed,
}

/// A verbose report; numbers in the order in which they are printed.
#[derive(Debug, Clone, Copy)]
pub(in crate::audit) struct Verbose {
    pub(in crate::audit) total: Printed,
    pub(in crate::audit) mixed: Printed,
    /// Transactions per second.
    pub(in crate::audit) transactions: Printed,
    pub(in crate::audit) created: Counted,
    pub(in crate::audit) created_alone: Counted,
    pub(in crate::audit) created_mixed: Counted,
    pub(in crate::audit) read: Counted,
    pub(in crate::audit) appended: Counted,
    pub(in crate::audit) deleted: Counted,
    pub(in crate::audit) deleted_alone: Counted,
    pub(in crate::audit) deleted_mixed: Counted,
    /// Bytes, and bytes per second.
    pub(in crate::audit) bytes_read: Counted,
    pub(in crate::audit) bytes_written: Counted,
}

/// A report, and what the text says it was made with.
#[derive(Debug)]
pub(in crate::audit) struct Printout {
    pub(in crate::audit) settings: Option<Settings>,
    /// What those settings do, if they are not too large to try.
    pub(in crate::audit) counts: Option<Counts>,
    pub(in crate::audit) kind: Kind,
}

#[derive(Debug)]
pub(in crate::audit) enum Kind {
    Verbose(Box<Verbose>),
    /// Thirteen numbers.
    Terse(Box<[Printed; 13]>),
}

/// Reads all reports in `text`.
pub(in crate::audit) fn parse(text: &str) -> Result<Vec<Printout>, InputError> {
    let lines: Vec<&str> = text.lines().collect();
    let configuration = |line: &str| line.split_whitespace().next() == Some("set");
    let mut settings = None;
    if lines.iter().any(|line| configuration(line)) {
        let only = lines
            .iter()
            .map(|line| if configuration(line) { *line } else { "" });
        let only: Vec<&str> = only.collect();
        settings = Some(Settings::parse(&only.join("\n"))?);
    }
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let kind = if line.trim() == "Time:" && is_verbose(&lines[index..]) {
            Kind::Verbose(Box::new(verbose(&lines, index)?))
        } else if let Some(numbers) = terse(index + 1, line, &lines[..index]) {
            Kind::Terse(Box::new(numbers))
        } else {
            continue;
        };
        found.push(Printout {
            settings: settings.clone(),
            counts: None,
            kind,
        });
    }
    // Once for all reports of the text.
    if let (Some(settings), false) = (&settings, found.is_empty()) {
        let counts = replay(settings);
        for printout in &mut found {
            printout.counts = counts;
        }
    }
    Ok(found)
}

fn is_verbose(lines: &[&str]) -> bool {
    lines
        .iter()
        .take(4)
        .any(|line| line.contains("seconds of transactions"))
}

fn verbose(lines: &[&str], start: usize) -> Result<Verbose, InputError> {
    let mut at = start + 1;
    // The next line that is not empty or a heading must have `label`.
    let mut next = |label: &str| -> Result<Counted, InputError> {
        while lines
            .get(at)
            .is_some_and(|line| line.trim().is_empty() || matches!(line.trim(), "Files:" | "Data:"))
        {
            at += 1;
        }
        let number = at + 1;
        let line = lines.get(at).copied().unwrap_or_default();
        at += 1;
        counted(number, line, label)
            .ok_or_else(|| InputError::new(number, label, "this line of the report is expected"))
    };
    Ok(Verbose {
        total: next("seconds total")?.count,
        mixed: next("seconds of transactions")?.count,
        transactions: counted(start + 3, lines[start + 2], "seconds of transactions")
            .ok_or_else(|| InputError::new(start + 3, "seconds of transactions", "expected"))?
            .rate,
        created: next("created")?,
        created_alone: next("Creation alone:")?,
        created_mixed: next("Mixed with transactions:")?,
        read: next("read")?,
        appended: next("appended")?,
        deleted: next("deleted")?,
        deleted_alone: next("Deletion alone:")?,
        deleted_mixed: next("Mixed with transactions:")?,
        bytes_read: next("read")?,
        bytes_written: next("written")?,
    })
}

/// `54911 created (10982 per second)`, `Creation alone: 30000 files (30000 per second)`,
/// `13.61 megabytes read (2.72 megabytes per second)`, `5 seconds total`.
fn counted(number: usize, line: &str, label: &str) -> Option<Counted> {
    let line = line.trim();
    let (head, tail) = line.split_once('(').unwrap_or((line, ""));
    let head = match label.strip_suffix(':') {
        Some(_) => head
            .trim()
            .strip_prefix(label)?
            .trim()
            .strip_suffix("files")?,
        None => head.trim().strip_suffix(label)?,
    };
    let count = amount(number, head)?;
    let rate = match label {
        "seconds total" => count,
        _ => amount(number, tail.trim_end().strip_suffix("per second)")?)?,
    };
    Some(Counted { count, rate })
}

/// A number, perhaps with a unit of bytes.
fn amount(line: usize, text: &str) -> Option<Printed> {
    let (number, unit) = Printed::read(line, text)?;
    match unit.trim() {
        "" => Some(number.counted()),
        "bytes" => Some(number),
        "kilobytes" => Some(number.times(1024.0)),
        "megabytes" => Some(number.times(1048576.0)),
        _ => None,
    }
}

/// Thirteen numbers in a line behind one that says that files were deleted.
fn terse(number: usize, line: &str, before: &[&str]) -> Option<[Printed; 13]> {
    let words: Vec<&str> = line.split_whitespace().collect();
    if words.len() != 13 {
        return None;
    }
    let above = before.iter().rev().find(|line| !line.trim().is_empty())?;
    if !above.starts_with("Deleting") {
        return None;
    }
    let numbers: Option<Vec<Printed>> = words
        .iter()
        .map(|word| Printed::whole(number, word))
        .collect();
    numbers?.try_into().ok()
}
