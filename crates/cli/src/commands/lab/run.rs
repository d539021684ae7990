//! `lab run`: runs what has no line yet, and appends lines.

use std::fs::{File, OpenOptions};
use std::io::{IsTerminal, Read, Seek, SeekFrom, Write};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};
use lab::experiment::{self, Experiment, Options, Read as Found, Record, find, library};

use super::command::{OUTPUT, REPLICATES, RESULTS, SEED, failed, number};
use crate::args::{Arguments, Error};
use crate::commands::Session;

pub(super) fn run(
    names: &[String],
    arguments: &Arguments,
    session: &mut Session,
) -> Result<(), Error> {
    let experiments = chosen(names)?;
    let options = Options {
        seed: number(arguments, &SEED)?.unwrap_or(1),
        replicates: number(arguments, &REPLICATES)?,
        threads: std::thread::available_parallelism().map_or(1, usize::from),
    };
    if options.replicates == Some(0) {
        return Err(Error::usage("lab: --replicates: at least one is needed"));
    }
    let path = arguments.value(&OUTPUT).unwrap_or(RESULTS);
    let (mut file, found) = open(path, session)?;
    let finished = found.records;
    let pending = experiment::runs(&experiments, &options, &finished);
    if pending.is_empty() {
        return Ok(session.line(&format!("{path} has all of these runs already."))?);
    }
    let head = experiment::Session {
        command: format!("ashlar {}", arguments.line()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        machine: lab::measure::machine(),
        seed: options.seed,
    };
    let unwritable = |error| Error::failed(format!("{path} cannot be written: {error}"));
    file.write_all(head.to_line().as_bytes())
        .map_err(unwritable)?;
    let bar = progress(pending.len() as u64);
    let begin = Instant::now();
    let mut problem = None;
    let mut keep = |record: &Record| {
        bar.set_message(record.experiment.clone());
        bar.inc(1);
        // One write for each line: an interruption cuts off one line at most.
        problem = file.write_all(record.to_line().as_bytes()).err();
        problem.is_none()
    };
    let outcome = experiment::run(&pending, &options, &mut keep);
    bar.finish_and_clear();
    outcome.map_err(failed)?;
    if let Some(error) = problem {
        return Err(unwritable(error));
    }
    let (count, seconds) = (pending.len(), begin.elapsed().as_secs_f64());
    session.line(&format!(
        "{count} runs in {seconds:.1} s; their lines are in {path}. Next: ashlar lab report {path}"
    ))?;
    Ok(())
}

fn chosen(names: &[String]) -> Result<Vec<Experiment>, Error> {
    if names.is_empty() || names.iter().any(|name| name == "seeds") {
        return library().map_err(failed);
    }
    names
        .iter()
        .map(|name| find(name).map_err(failed))
        .collect()
}

/// Opens the results to append, and what they hold; a last line that was cut off is ended.
pub(super) fn open(path: &str, session: &mut Session) -> Result<(File, Found), Error> {
    let problem = |error| Error::failed(format!("{path} cannot be used: {error}"));
    let mut file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .open(path)
        .map_err(problem)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(problem)?;
    let text = String::from_utf8(bytes);
    let text = text.map_err(|_| Error::failed(format!("{path} is not text")))?;
    let found = experiment::read(path, &text).map_err(failed)?;
    for note in &found.notes {
        session.tell(note);
    }
    if !found.notes.is_empty() {
        let whole = text.rfind('\n').map_or(0, |at| at + 1);
        file.set_len(whole as u64).map_err(problem)?;
        file.seek(SeekFrom::End(0)).map_err(problem)?;
    } else if !text.is_empty() && !text.ends_with('\n') {
        file.write_all(b"\n").map_err(problem)?;
    }
    Ok((file, found))
}

fn progress(count: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(count);
    // The template is a constant; should it not be one, the bar's own style does.
    if let Ok(style) = ProgressStyle::with_template("  {bar:40} {pos} of {len}, {eta} left  {msg}")
    {
        bar.set_style(style);
    }
    bar
}
