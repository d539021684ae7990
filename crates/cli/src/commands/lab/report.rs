//! `lab report`: verdicts, and the page.

use lab::experiment::{Row, library, read, rows};

use super::command::{JSON, OUTPUT, RESULTS, failed, quoted, text_of};
use crate::args::{Arguments, Error};
use crate::commands::Session;

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
            session.print(&line(row))?;
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

/// A claim and its evidence as JSON.
fn line(row: &Row) -> String {
    let evidence: Vec<String> = row
        .evidence
        .iter()
        .map(|one| {
            let interval = one.interval.map_or_else(
                || "null".to_owned(),
                |found| format!("[{},{},{}]", found.low, found.estimate, found.high),
            );
            format!(
                "{{\"experiment\":{},\"what\":{},\"arm\":{},\"base\":{},\"interval\":{interval},\
                 \"replicates\":{}}}",
                quoted(&one.experiment),
                quoted(&one.rule.what),
                quoted(&one.rule.other),
                one.rule
                    .base
                    .as_deref()
                    .map_or_else(|| "null".to_owned(), quoted),
                one.count
            )
        })
        .collect();
    format!(
        "{{\"claim\":{},\"seed\":{},\"text\":{},\"verdict\":{},\"reason\":{},\"evidence\":[{}]}}\n",
        quoted(&row.claim.id),
        quoted(&row.claim.seed),
        quoted(&row.claim.text),
        quoted(row.standing.word()),
        quoted(&row.reason),
        evidence.join(",")
    )
}
