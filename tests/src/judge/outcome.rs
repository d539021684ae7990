//! What two outcomes of one line differ in.

use std::collections::BTreeSet;

use super::bench::Outcome;
use super::neutral;

/// Commands whose standard output is a report, compared byte for byte.
const REPORTS: &[&str] = &[
    "pvs",
    "vgs",
    "lvs",
    "pvdisplay",
    "vgdisplay",
    "lvdisplay",
    "pvscan",
    "vgscan",
    "lvscan",
    "fullreport",
    "lvmdiskscan",
    "pvck",
    "lvmconfig",
    "config",
    "dumpconfig",
    "devtypes",
    "segtypes",
    "formats",
    "tags",
    "systemid",
    "lvmdevices",
];

/// With one of these stock prints the form of its command that comes nearest, and what it is for,
/// on its standard output.
const FORM_FOLLOWS: &[&str] = &[
    "Nearest similar command has syntax:",
    "Correct command syntax is:",
];

/// What differs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Difference {
    pub(super) what: What,
    /// A message, a field, codes.
    pub(super) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    /// One side did not end, or was killed.
    Hang,
    Code,
    /// Standard output of a report.
    Report,
    /// A message of stock's that we lack.
    Lacks,
    /// A line of the form of a command that stock shows, and that we lack.
    Form,
    /// A message of ours that stock lacks.
    Adds,
    /// A field of what is left on disks and in files.
    Field,
}

impl What {
    /// Whether it is about words only.
    pub(super) fn is_words(self) -> bool {
        matches!(self, Self::Lacks | Self::Form | Self::Adds)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Hang => "hang",
            Self::Code => "code",
            Self::Report => "report",
            Self::Lacks => "lacks",
            Self::Form => "form",
            Self::Adds => "adds",
            Self::Field => "field",
        }
    }
}

/// All in which they differ.
pub(super) fn compare(command: &str, stock: &Outcome, ours: &Outcome) -> Vec<Difference> {
    let mut all = Vec::new();
    let mut add = |what, text: String| all.push(Difference { what, text });
    if stock.is_hung || ours.is_hung || ours.code.is_none() {
        let shown = |outcome: &Outcome| match outcome.code {
            _ if outcome.is_hung => "not done".to_owned(),
            code => code.map_or("signal".to_owned(), |code| code.to_string()),
        };
        add(What::Hang, format!("{} -> {}", shown(stock), shown(ours)));
    } else if stock.code != ours.code {
        let shown = |code: Option<i32>| code.map_or("signal".to_owned(), |code| code.to_string());
        add(
            What::Code,
            format!("{} -> {}", shown(stock.code), shown(ours.code)),
        );
    }
    let shows_form = FORM_FOLLOWS.iter().any(|head| stock.stderr.contains(head));
    let is_report = REPORTS.contains(&command) && !shows_form;
    if is_report && stock.stdout != ours.stdout {
        add(What::Report, first_difference(&stock.stdout, &ours.stdout));
    }
    let said = |outcome: &Outcome| {
        let mut lines = neutral::lines(&outcome.stderr);
        if !is_report {
            lines.extend(neutral::lines(&outcome.stdout));
        }
        lines
    };
    let (theirs, here) = (said(stock), said(ours));
    let form = neutral::lines(if shows_form { &stock.stdout } else { "" });
    for line in unsaid(&theirs, &here) {
        let is_of_form = form.contains(line);
        let what = if is_of_form { What::Form } else { What::Lacks };
        add(what, line.clone());
    }
    for line in unsaid(&here, &theirs) {
        add(What::Adds, line.clone());
    }
    let paths: BTreeSet<&String> = stock.fields.keys().chain(ours.fields.keys()).collect();
    let is_other = |path: &String| {
        stock.fields.get(path) != ours.fields.get(path) && !is_set_aside(stock, ours, path)
    };
    let others: BTreeSet<&String> = paths.into_iter().filter(|path| is_other(path)).collect();
    for path in &others {
        let (there, here) = (stock.fields.get(*path), ours.fields.get(*path));
        // What differs in the text of a file is said of its values, where it is in those.
        let within = format!("{path}/");
        if !others.iter().any(|other| other.starts_with(&within)) {
            let shown = |value: Option<&String>| value.map_or("none".to_owned(), String::clone);
            let text = format!("{path}: {} -> {}", shown(there), shown(here));
            add(What::Field, text);
        }
    }
    all
}

/// Whether a value stands in the text of a metadata area that is set aside, here or there: nobody
/// reads it, and whether it is brought up to date before is no matter.
fn is_set_aside(stock: &Outcome, ours: &Outcome, path: &str) -> bool {
    let mut parts = path.splitn(3, '/');
    let (Some(disk), Some(area), Some(_)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let usage = format!("{disk}/{area}");
    [stock, ours].iter().any(|outcome| {
        let used = outcome.fields.get(&usage);
        used.is_some_and(|used| used == "Ignored")
    })
}

/// Lines whose words no line of the others has, whatever it says besides.
fn unsaid<'a>(lines: &'a BTreeSet<String>, others: &BTreeSet<String>) -> Vec<&'a String> {
    let words = |line: &str| line.trim_end_matches(['.', ',']).to_owned();
    let others: Vec<String> = others.iter().map(|line| words(line)).collect();
    let is_said = |line: &str| {
        let line = words(line);
        others
            .iter()
            .any(|other| other.contains(&line) || line.contains(other.as_str()))
    };
    lines.iter().filter(|line| !is_said(line)).collect()
}

fn first_difference(stock: &str, ours: &str) -> String {
    let mut here = ours.lines();
    for line in stock.lines() {
        let found = here.next();
        if found != Some(line) {
            let found = found.map_or("(end)", str::trim);
            return format!("{} -> {found}", line.trim());
        }
    }
    match here.next() {
        Some(line) => format!("(end) -> {line}"),
        None => "the end of the last line".to_owned(),
    }
}

#[cfg(test)]
mod tests;
