//! `lab report`: verdicts, and the page.

use lab::experiment::{Row, library, read, rows};
use serde::Serialize;

use super::command::{JSON, OUTPUT, RESULTS, failed, text_of};
use crate::args::{Arguments, Error};
use crate::commands::Session;
use crate::output::json::line;

const PAGE: &str = "ashlar-lab.html";

pub(super) fn report(
    words: &[String],
    arguments: &Arguments,
    session: &mut Session,
) -> Result<(), Error> {
    let path = match words {
        [] => RESULTS,
        [path] => path,
        [_, word, ..] => {
            let what = format!("lab report: '{word}' is one word too many");
            return Err(Error::usage(what));
        }
    };
    let results = read(path, &text_of(path)?).map_err(failed)?;
    for note in &results.notes {
        session.tell(note);
    }
    let experiments = library().map_err(failed)?;
    let rows = rows(&experiments, &results).map_err(failed)?;
    if arguments.has(&JSON) {
        for row in &rows {
            session.print(&line(&claimed(row)))?;
        }
        if arguments.value(&OUTPUT).is_none() {
            return Ok(());
        }
    }
    let output = arguments.value(&OUTPUT).unwrap_or(PAGE);
    let page = lab::report::page(&experiments, &results).map_err(failed)?;
    std::fs::write(output, page)
        .map_err(|error| Error::failed(format!("{output} cannot be written: {error}")))?;
    if !arguments.has(&JSON) {
        let words = [
            "confirmed",
            "refuted",
            "equivalent",
            "undecided",
            "not run",
            "waits",
        ];
        let counts = words.map(|word| {
            let count = rows
                .iter()
                .filter(|row| row.standing.word() == word)
                .count();
            format!("{count} {word}")
        });
        session.line(&format!("{} claims: {}.", rows.len(), counts.join(", ")))?;
        session.line(&format!("The page is {output}."))?;
    }
    Ok(())
}

/// A claim and its evidence, for programs.
#[derive(Serialize)]
struct Claimed<'a> {
    claim: &'a str,
    seed: &'a str,
    text: &'a str,
    verdict: &'a str,
    reason: &'a str,
    evidence: Vec<Evidence<'a>>,
}

#[derive(Serialize)]
struct Evidence<'a> {
    experiment: &'a str,
    what: &'a str,
    arm: &'a str,
    base: Option<&'a str>,
    /// Its low end, the estimate, its high end.
    interval: Option<[f64; 3]>,
    replicates: usize,
}

fn claimed(row: &Row) -> Claimed<'_> {
    let evidence = row.evidence.iter().map(|one| Evidence {
        experiment: &one.experiment,
        what: &one.rule.what,
        arm: &one.rule.other,
        base: one.rule.base.as_deref(),
        interval: one
            .interval
            .map(|found| [found.low, found.estimate, found.high]),
        replicates: one.count,
    });
    Claimed {
        claim: &row.claim.id,
        seed: &row.claim.seed,
        text: &row.claim.text,
        verdict: row.standing.word(),
        reason: &row.reason,
        evidence: evidence.collect(),
    }
}
