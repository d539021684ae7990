//! A program on a file system on the volume: the terms of Eq. 1, predicted and emulated.

use lab::component::Component;
use lab::filesystem::Options;
use lab::filesystem::postmark::Outcome;
use lab::predict::Estimate;
use lab::predict::files::{FilePrediction, Files, emulate};
use lab::workload::postmark::Short;
use serde::Serialize;

use super::command::{EMULATE, JSON, SEED};
use super::shown::{Stacked, heading, row, stacked};
use super::stack::Stack;
use crate::args::{Arguments, Error};
use crate::commands::Session;
use crate::output::json::{Between, Thousandths, line};

/// Nanoseconds of a second.
const SECOND: f64 = 1e9;

/// A line of the table: its name, its unit in the output of JSON, and both values.
struct Line {
    name: String,
    predicted: Estimate,
    emulated: Option<f64>,
}

/// Explains what `word` does to the volume.
pub(super) fn explained(
    word: &str,
    stack: &Stack,
    arguments: &Arguments,
    session: &mut Session,
) -> Result<(), Error> {
    let failed = |error: &dyn std::fmt::Display| Error::failed(format!("workload {word}: {error}"));
    let short = Short::parse(word).map_err(|error| failed(&error))?;
    let options = Options {
        memory_bytes: short.memory,
        ..Options::default()
    };
    let found = Files::new(&stack.layout, &short.settings, &options, SEED)
        .and_then(|files| files.predict())
        .map_err(|error| failed(&error))?;
    let seen = arguments
        .has(&EMULATE)
        .then(|| emulate(&stack.layout, &short.settings, &options, SEED))
        .transpose()
        .map_err(|error| failed(&error))?;
    let lines = lines(&found, seen.as_ref());
    if arguments.has(&JSON) {
        session.print(&json(word, stack, &short, &lines))?;
        return Ok(());
    }
    super::shown::volume(stack, session)?;
    session.line("")?;
    session.line(&format!(
        "{:<16} {word}: {} files of {} to {} bytes, {} transactions; ext3, {} MiB of memory",
        "load",
        short.settings.number,
        short.settings.size.0,
        short.settings.size.1,
        short.settings.transactions,
        short.memory >> 20,
    ))?;
    let others: &[&str] = if seen.is_some() { &["emulated"] } else { &[] };
    session.line(&heading(others))?;
    for line in &lines {
        session.line(&row(&line.name, line.predicted, 1.0, &[line.emulated]))?;
    }
    session.line(
        "- Eq. 1: what the caller waits for directories (T_DO), metadata (T_MO), free lists \
         (T_FL), file data (T_DFA) and the journal (T_J); with the processor it is the whole",
    )?;
    session.line(
        "- a new ext3 is assumed, with ordered data and no barriers; where the run nearly fits \
         into memory the prediction is several times too slow",
    )?;
    Ok(())
}

/// The whole, the terms, and what they are made of.
fn lines(found: &FilePrediction, seen: Option<&Outcome>) -> Vec<Line> {
    // Counts have no interval of their own.
    let exact = Estimate::exact;
    let seconds = |of: Estimate| of.in_units_of(SECOND);
    let line = |name: &str, predicted: Estimate, emulated: Option<f64>| Line {
        name: name.to_owned(),
        predicted,
        emulated,
    };
    let account = seen.map(|seen| &seen.account);
    let mut all = vec![
        line(
            "seconds",
            seconds(found.elapsed_ns),
            seen.map(|seen| seen.elapsed_ns as f64 / SECOND),
        ),
        line(
            "processor, s",
            exact(found.processor_ns / SECOND),
            account.map(|account| account.processor_ns as f64 / SECOND),
        ),
    ];
    for (class, term) in Component::ALL.into_iter().zip(found.terms) {
        let waited = account.map(|account| account.class(class).waited_ns as f64 / SECOND);
        all.push(line(&format!("{}, s", class.term()), seconds(term), waited));
    }
    let blocks = |class: Component, written: bool| {
        account.map(|account| {
            let tally = account.class(class);
            let bytes = if written {
                tally.written_bytes
            } else {
                tally.read_bytes
            };
            (bytes >> 12) as f64
        })
    };
    let data = Component::FileData;
    all.push(line(
        "data blocks written",
        exact(found.data_written),
        blocks(data, true),
    ));
    all.push(line(
        "data blocks read",
        exact(found.data_read),
        blocks(data, false),
    ));
    all.push(line(
        "log blocks written",
        exact(found.log_written),
        blocks(Component::Journal, true),
    ));
    all.push(line(
        "commits",
        exact(found.commits),
        account.map(|account| account.commits as f64),
    ));
    all
}

/// All of it, for programs.
#[derive(Serialize)]
struct Explained<'a> {
    #[serde(flatten)]
    stack: Stacked<'a>,
    workload: &'a str,
    memory: u64,
    files: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    what: &'a str,
    predicted: Between,
    emulated: Option<Thousandths>,
}

fn json(word: &str, stack: &Stack, short: &Short, lines: &[Line]) -> String {
    let rows = lines.iter().map(|line| Row {
        what: &line.name,
        predicted: line.predicted.into(),
        emulated: line.emulated.map(Thousandths),
    });
    line(&Explained {
        stack: stacked(stack),
        workload: word,
        memory: short.memory,
        files: rows.collect(),
    })
}
