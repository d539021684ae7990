//! `cargo xtask compare`: command lines here and in stock LVM2, on disks that are the same.
//!
//! Each line is of a form that stock's help names, with values right and wrong; see `tests::judge`.
//! It fails where more lines differ than [`UNLISTED_PERCENT_MAX`] in ways that
//! `tests/src/judge/known.txt` does not list.

use std::path::Path;

use serde_json::{Value, json};
use tests::judge::{Campaign, Class, Report, document as page};

use crate::{Outcome, tidy};

/// Lines of a run that does not say how many.
const CASES: u64 = 2000;
/// How often the number of lines done is told.
const TOLD: u64 = 200;
/// How many lines of a hundred may differ in ways that are not listed.
const UNLISTED_PERCENT_MAX: f64 = 0.5;

const USAGE: &str = "\
usage: cargo xtask compare [--cases N] [--seed S] [--only COMMAND[,COMMAND]] [--at NUMBER]
                           [--line LINE] [--state STATE[,STATE]] [--json FILE]
       cargo xtask compare damaged [--cases N] [--seed S]
       cargo xtask compare document";

pub(super) fn run(arguments: &[String]) -> Outcome {
    let Some((campaign, json)) = read(arguments) else {
        return Outcome::Unusable(USAGE.into());
    };
    let report = campaign.run(|done, report| {
        if done.is_multiple_of(TOLD) {
            eprintln!("{done} lines, {} differ", report.unlisted);
        }
    });
    print!("{report}");
    if let Some(path) = json
        && let Err(error) = std::fs::write(Path::new(path), as_json(&report))
    {
        return Outcome::Unusable(format!("{path}: {error}"));
    }
    if report.unlisted_percent() <= UNLISTED_PERCENT_MAX {
        Outcome::Passed
    } else {
        println!("more than {UNLISTED_PERCENT_MAX} % differ");
        Outcome::Failed
    }
}

/// Writes the page that says what is known to differ.
pub(super) fn document() -> Outcome {
    let path = tidy::root().join("docs/lvm2-differences.md");
    match std::fs::write(&path, page()) {
        Ok(()) => Outcome::Passed,
        Err(error) => Outcome::Unusable(format!("{}: {error}", path.display())),
    }
}

fn read(arguments: &[String]) -> Option<(Campaign, Option<&str>)> {
    let mut json = None;
    let mut campaign = Campaign {
        cases: CASES,
        seed: 1,
        ..Campaign::default()
    };
    for pair in arguments.chunks(2) {
        let [name, value] = pair else {
            return None;
        };
        match name.as_str() {
            "--cases" => campaign.cases = value.parse().ok()?,
            "--seed" => campaign.seed = value.parse().ok()?,
            "--at" => campaign.at = Some(value.parse().ok()?),
            "--only" => campaign.only = Some(value.clone()),
            "--line" => campaign.line = Some(value.clone()),
            "--state" => campaign.state = Some(value.clone()),
            "--json" => json = Some(value.as_str()),
            _ => return None,
        }
    }
    Some((campaign, json))
}

fn as_json(report: &Report) -> String {
    let classes = report.classes.iter().map(as_class).collect::<Vec<_>>();
    let all = json!({
        "lines": report.lines,
        "states": report.states,
        "listed": report.listed,
        "unlisted": report.unlisted,
        "words": report.words,
        "classes": classes,
        "commands": report.commands,
        "reasons": report.reasons,
    });
    format!("{all:#}\n")
}

fn as_class((name, class): (&String, &Class)) -> Value {
    json!({"class": name, "lines": class.count, "example": class.example})
}
