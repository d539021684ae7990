//! `lab advise`: which layout of given disks suits a load.

use lab::advise::{Advice, Choice, Wish, advise, chart, page};
use lab::disk::catalog;
use lab::layout::Disk;
use lab::settings::size;
use lab::workload::fio::parse_on;
use serde::Serialize;

use super::command::{JSON, OUTPUT, SEED, failed, number};
use crate::args::{Arguments, Error, Flag};
use crate::commands::Session;
use crate::commands::explain::workload;
use crate::output::json::{Between, Thousandths, line};

/// `--workload`
pub(super) const WORKLOAD: Flag = Flag::value(
    "workload",
    "Load|File",
    "Of advise: what is asked of the volume: a job file of fio with one job, RW:SIZE[:KEY=VALUE \
     ...] as in randread:4k:depth=32, or a name (oltp, lookup, vm, stream, ingest, log).",
);
/// `--disks`
pub(super) const DISKS: Flag = Flag::value(
    "disks",
    "Profile[xN],...",
    "Of advise: the disks that there are: drives of the catalogue (lab disk list), profiles \
     FILE.toml of `lab calibrate', cap:iops=600:size=1T, flash:size=500G or FILE.toml:NAME, and \
     how many of each.",
);
/// `--size`
pub(super) const SIZE: Flag = Flag::value(
    "size",
    "Size",
    "Of advise: the size of the volume; unless given half of what the smallest disk holds.",
);
/// `--top`
pub(super) const TOP: Flag = Flag::value(
    "top",
    "Number",
    "Of advise: how many layouts are shown beside those on the Pareto front; 10 unless given.",
);
/// `--emulate`
pub(super) const EMULATE: Flag = Flag::value(
    "emulate",
    "Number",
    "Of advise: how many of the best are checked by emulation; 3 unless given.",
);

/// Rows shown, and layouts emulated, unless told otherwise.
const ROWS: u64 = 10;
const EMULATED: u64 = 3;
/// Disks of one kind at most.
const COUNT_MAX: usize = 64;

pub(super) fn advised(
    words: &[String],
    arguments: &Arguments,
    session: &mut Session,
) -> Result<(), Error> {
    if let Some(word) = words.first() {
        let what = format!("lab advise: '{word}' is one word too many");
        return Err(Error::usage(what));
    }
    let (Some(word), Some(listed)) = (arguments.value(&WORKLOAD), arguments.value(&DISKS)) else {
        return Err(Error::usage(
            "lab advise: say what is asked and of which disks, as in --workload oltp --disks \
             wd800bd-likex4",
        ));
    };
    let disks = disks(listed)?;
    let bytes = wanted(arguments, &disks)?;
    let mut jobs = parse_on(&workload(word)?, bytes)
        .map_err(|error| Error::failed(format!("workload {word}: {error}")))?;
    if jobs.len() > 1 {
        let names: Vec<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
        return Err(Error::failed(format!(
            "workload {word} has {} jobs ({}); advice is for one: keep that one in the file",
            jobs.len(),
            names.join(", ")
        )));
    }
    let wish = Wish {
        disks,
        size: bytes,
        job: jobs.remove(0),
    };
    let emulated = number(arguments, &EMULATE)?.unwrap_or(EMULATED) as usize;
    let seed = number(arguments, &SEED)?.unwrap_or(1);
    let advice = advise(&wish, emulated, seed).map_err(failed)?;
    let asked = format!(
        "{word} on {listed}, a volume of {} MiB. {} layouts were predicted.",
        bytes >> 20,
        advice.choices.len()
    );
    let command = format!("ashlar {}", arguments.line());
    if let Some(path) = arguments.value(&OUTPUT) {
        save(path, &advice, &asked, &command)?;
    }
    if arguments.has(&JSON) {
        for choice in &advice.choices {
            session.print(&line(&chosen(&advice, choice)))?;
        }
        return Ok(());
    }
    session.line(&asked)?;
    let rows = number(arguments, &TOP)?.unwrap_or(ROWS) as usize;
    table(&advice, rows, session)?;
    for sentence in advice.words() {
        session.line(&sentence)?;
    }
    for (name, why) in &advice.without {
        session.line(&format!("- {name}: {why}"))?;
    }
    if let Some(path) = arguments.value(&OUTPUT) {
        session.line(&format!("The chart is in {path}."))?;
    }
    Ok(())
}

/// The disks of a list: `wd800bd-likex4,flash:size=500G`.
fn disks(listed: &str) -> Result<Vec<Disk>, Error> {
    let mut disks = Vec::new();
    for word in listed
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty())
    {
        let (name, count) = counted(word);
        if !(1..=COUNT_MAX).contains(&count) {
            let what = format!("lab advise: --disks {word}: 1 to {COUNT_MAX} of a kind");
            return Err(Error::usage(what));
        }
        let disk = Disk::from_word(name, None).map_err(failed)?;
        disks.extend(std::iter::repeat_n(disk, count));
    }
    if disks.is_empty() {
        return Err(Error::usage("lab advise: --disks names no disk"));
    }
    Ok(disks)
}

/// A word and the number behind its last x, unless a disk of the catalogue is called so.
fn counted(word: &str) -> (&str, usize) {
    let split = word.rsplit_once('x');
    let count = split.and_then(|(name, count)| Some((name.trim(), count.parse().ok()?)));
    match count {
        Some((name, count)) if !name.is_empty() && catalog::find(word).is_err() => (name, count),
        _ => (word, 1),
    }
}

/// Bytes of the volume.
fn wanted(arguments: &Arguments, disks: &[Disk]) -> Result<u64, Error> {
    if let Some(text) = arguments.value(&SIZE) {
        let found = size(text).filter(|size| *size >= 1 << 20);
        return found.ok_or_else(|| {
            Error::usage(format!(
                "lab advise: --size {text}: a size from 1M is expected"
            ))
        });
    }
    let mut least = u64::MAX;
    for disk in disks {
        least = least.min(disk.size().map_err(failed)?);
    }
    Ok((least / 2) >> 22 << 22)
}

fn save(path: &str, advice: &Advice, asked: &str, command: &str) -> Result<(), Error> {
    let kind = path.rsplit_once('.').map(|(_, kind)| kind);
    let text = match kind {
        Some("svg") => chart(advice, asked),
        Some("html" | "htm") => page(advice, asked, command),
        _ => {
            return Err(Error::usage(format!(
                "lab advise: --output {path}: a page (.html) or a chart (.svg) can be written"
            )));
        }
    };
    std::fs::write(path, text)
        .map_err(|error| Error::failed(format!("{path} cannot be written: {error}")))
}

fn table(advice: &Advice, rows: usize, session: &mut Session) -> Result<(), Error> {
    session.line(&format!(
        "{:<45} {:>10} {:<19} {:>8} {:>10} {:>8} {:>5} {:>8} {:>18}",
        "layout",
        "requests/s",
        "(95 %)",
        "MB/s",
        "ms",
        "GB",
        "disks",
        "survives",
        "emulated, error"
    ))?;
    for (index, choice) in advice.choices.iter().enumerate() {
        if index >= rows && !choice.front {
            continue;
        }
        let rate = choice.per_second;
        let interval = format!("({:.1} to {:.1})", rate.low, rate.high);
        let candidate = &choice.candidate;
        let emulated = choice
            .emulated_text()
            .map(|(value, error)| format!("{value} {:+.1} %", error * 100.0))
            .unwrap_or_default();
        let marks = [(choice.tied, " tied"), (choice.front, " front")];
        let marks: String = marks
            .iter()
            .filter_map(|(is, word)| is.then_some(*word))
            .collect();
        session.line(&format!(
            "{:<45} {:>10.1} {interval:<19} {:>8.2} {:>10.3} {:>8.1} {:>5} {:>8} {emulated:>18}\
             {marks}",
            candidate.name(),
            rate.value,
            advice.megabytes(rate.value),
            choice.response_ns.value / 1e6,
            candidate.capacity as f64 / 1e9,
            candidate.disks.len(),
            if candidate.survives() { "yes" } else { "no" },
        ))?;
    }
    Ok(())
}

/// A choice, for programs.
#[derive(Serialize)]
struct Chosen {
    layout: String,
    shape: &'static str,
    disks: usize,
    command: String,
    per_second: Between,
    megabytes: Thousandths,
    response_ns: Between,
    capacity: u64,
    survives: bool,
    tied: bool,
    front: bool,
    emulated: Option<Emulated>,
}

#[derive(Serialize)]
struct Emulated {
    per_second: Thousandths,
    response_ns: Thousandths,
    error: f64,
}

fn chosen(advice: &Advice, choice: &Choice) -> Chosen {
    let candidate = &choice.candidate;
    let emulated = choice.emulated.zip(choice.error());
    Chosen {
        layout: candidate.name(),
        shape: candidate.shape.word(),
        disks: candidate.disks.len(),
        command: candidate.command(),
        per_second: choice.per_second.into(),
        megabytes: Thousandths(advice.megabytes(choice.per_second.value)),
        response_ns: choice.response_ns.into(),
        capacity: candidate.capacity,
        survives: candidate.survives(),
        tied: choice.tied,
        front: choice.front,
        emulated: emulated.map(|(found, error)| Emulated {
            per_second: Thousandths(found.per_second),
            response_ns: Thousandths(found.response_ns),
            error,
        }),
    }
}
