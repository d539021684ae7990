//! `lab measure`: the real data path on this machine.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use lab::experiment::Read;
use lab::measure::{
    self, Block, Comparing, Measuring, Medium, Places, Recorded, Stand, Study, evidence, pending,
    rounds, studies, study, tables,
};
use lab::stats::{Comparison, Interval, Noise};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::command::{OUTPUT, REPLICATES, RESULTS, SEED, failed, number};
use super::run::open;
use crate::args::{Arguments, Error, Flag};
use crate::commands::Session;

/// `--folder`
pub(super) const FOLDER: Flag = Flag::value(
    "folder",
    "Path",
    "Where lab measure makes its images on a disk; the directory of the results unless given.",
);
/// `--quick`
pub(super) const QUICK: Flag = Flag::switch(
    "quick",
    "Let lab measure only try whether all can be measured: slices too short for verdicts.",
);

/// Where memory is a folder.
const MEMORY: &str = "/dev/shm";
/// What is enough to see that something runs.
const QUICK_SLICE_NS: u64 = 3_000_000;
const QUICK_ROUNDS: u64 = 2;
/// The bytes of a quick study.
const QUICK_SIZE: u64 = 8 << 20;

pub(super) fn measured(
    names: &[String],
    arguments: &Arguments,
    session: &mut Session,
) -> Result<(), Error> {
    let mut chosen = match names {
        [] => studies().map_err(failed)?,
        names => {
            let named = names.iter().map(|name| study(name).map_err(failed));
            named.collect::<Result<_, _>>()?
        }
    };
    if arguments.has(&QUICK) {
        for study in &mut chosen {
            study.slice_ns = QUICK_SLICE_NS;
            study.rounds = QUICK_ROUNDS;
            study.size = QUICK_SIZE;
        }
    }
    let output = arguments.value(&OUTPUT).unwrap_or(RESULTS);
    let (file, found) = open(output, session)?;
    let beside = PathBuf::from(output).parent().map(PathBuf::from);
    let beside = beside.filter(|folder| !folder.as_os_str().is_empty());
    let folder = arguments.value(&FOLDER).map(PathBuf::from).or(beside);
    let signals = Signals::new([SIGHUP, SIGINT, SIGTERM]);
    let mut run = Run {
        places: Places {
            program: PathBuf::from("/proc/self/exe"),
            memory: PathBuf::from(MEMORY),
            file: folder.unwrap_or_else(|| PathBuf::from(".")),
        },
        file,
        output,
        found,
        arguments,
        begun: Instant::now(),
        signals: signals
            .map_err(|error| Error::failed("Cannot wait for signals").because(error))?,
        is_over: false,
    };
    for study in &chosen {
        for medium in &study.media {
            run.study(study, *medium, session)?;
        }
        if run.is_over {
            return Err(Error::failed(format!(
                "interrupted; what was measured is in {output}, and the same command goes on"
            )));
        }
    }
    if arguments.has(&QUICK) {
        session.line("These were tries: nothing can be concluded from them.")?;
        return Ok(());
    }
    for study in &chosen {
        run.sum_up(study, session)?;
    }
    session.line(&format!(
        "{:.0} s; the lines are in {output}. Next: ashlar lab report {output}",
        run.begun.elapsed().as_secs_f64()
    ))?;
    Ok(())
}

struct Run<'a> {
    places: Places,
    file: File,
    output: &'a str,
    found: Read,
    arguments: &'a Arguments,
    begun: Instant,
    signals: Signals,
    /// A signal came.
    is_over: bool,
}

impl Run<'_> {
    /// Measures what is not there yet of a study on one medium.
    fn study(&mut self, study: &Study, medium: Medium, session: &mut Session) -> Result<(), Error> {
        if self.is_over {
            return Ok(());
        }
        let mut stand = match Stand::build(study, medium, &self.places) {
            Ok(stand) => stand,
            Err(error) => {
                session.fail_later(&format!(
                    "{} in {} cannot be measured: {error}",
                    study.name,
                    medium.word()
                ));
                return Ok(());
            }
        };
        for (name, why) in &stand.absent {
            let what = format!("{name} in {} cannot be measured: {why}", medium.word());
            session.tell(&what);
        }
        let head = self.head(study, medium, &stand);
        let count = number(self.arguments, &REPLICATES)?.unwrap_or(study.rounds);
        let seed = number(self.arguments, &SEED)?.unwrap_or(1);
        let todo = pending(
            study,
            medium,
            (head.id(), count, seed),
            &self.found.measured,
        );
        if todo.is_empty() {
            return Ok(());
        }
        let place = (study.name.as_str(), medium.word(), stand.words.as_str());
        session.line(&format!(
            "{} in {} ({}): {} rounds of {} and a control",
            place.0,
            place.1,
            place.2,
            todo.len(),
            stand.contestants.len()
        ))?;
        self.write(&head.to_line())?;
        self.found.measured.measuring.push(head.clone());
        let about = (head.id(), medium, study.slice_ns);
        let mut problem = None;
        let Self {
            file,
            found,
            signals,
            is_over,
            ..
        } = self;
        let mut keep = |block: &Block| {
            // One write for each round: an interruption cuts off one at most.
            problem = file.write_all(block.to_line().as_bytes()).err();
            found.measured.blocks.push(block.clone());
            *is_over = signals.pending().next().is_some();
            problem.is_none() && !*is_over
        };
        let done = rounds(&todo, about, &mut stand.contestants, &mut keep);
        if let Some(error) = problem {
            return Err(self.unwritable(&error));
        }
        done.map_err(failed)
    }

    fn head(&self, study: &Study, medium: Medium, stand: &Stand) -> Measuring {
        let mut settings = BTreeMap::new();
        settings.insert(
            "images".to_owned(),
            format!("{} MiB each", study.size >> 20),
        );
        let slice = format!(
            "{} ms of each subject in a round",
            study.slice_ns / 1_000_000
        );
        settings.insert("slice".to_owned(), slice);
        settings.insert(medium.word().to_owned(), stand.words.clone());
        let engine = std::env::var("ASHLAR_IO").unwrap_or_else(|_| "chosen by itself".to_owned());
        let absent =
            |(name, why): (&String, &String)| (format!("{name} in {}", medium.word()), why.clone());
        Measuring {
            experiment: study.name.clone(),
            config: study.hash,
            command: format!("ashlar {}", self.arguments.line()),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            revision: measure::revision().unwrap_or_default(),
            machine: measure::machine(),
            date: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| since.as_secs()),
            is_quick: self.arguments.has(&QUICK),
            place: format!("{}, engine {engine}", self.places.words()),
            settings,
            absent: stand.absent.iter().map(absent).collect(),
        }
    }

    fn write(&mut self, line: &str) -> Result<(), Error> {
        let written = self.file.write_all(line.as_bytes());
        written.map_err(|error| self.unwritable(&error))
    }

    fn unwritable(&self, error: &std::io::Error) -> Error {
        Error::failed(format!("{} cannot be written: {error}", self.output))
    }

    /// What the rounds came to, and what more would be needed.
    fn sum_up(&self, study: &Study, session: &mut Session) -> Result<(), Error> {
        session.line(&format!("\n{}", study.title))?;
        for table in tables(study, &self.found.measured) {
            show(&table, session)?;
        }
        for one in evidence(study, &self.found.measured, &Recorded::default()) {
            let verdict = match one.interval {
                None => "waits for more rounds".to_owned(),
                Some(found) => format!("{:?}: {}", one.verdict, words(&found)).to_lowercase(),
            };
            session.line(&format!(
                "  {} {}: {verdict}",
                one.rule.claim, one.rule.what
            ))?;
        }
        Ok(())
    }
}

fn show(table: &Comparing, session: &mut Session) -> Result<(), Error> {
    let quiet = match table.noise {
        None => "too few rounds for verdicts".to_owned(),
        Some(Noise::Quiet) => "quiet enough".to_owned(),
        Some(Noise::TooNoisy { more_pairs }) => {
            format!("too noisy: --replicates {}", table.rounds + more_pairs)
        }
        Some(Noise::Biased) => "the control differs from itself".to_owned(),
    };
    let control = table.control.as_ref().map_or_else(String::new, words);
    session.line(&format!(
        "  {}, {}: control {control}, {quiet}",
        table.load.words(),
        table.medium.word()
    ))?;
    for line in &table.lines {
        let cell = |cell: &Option<Interval>| cell.as_ref().map_or_else(|| "-".to_owned(), words);
        let verdict = match line.comparison {
            None => "",
            Some(Comparison::Better) => "faster",
            Some(Comparison::Worse) => "slower",
            Some(Comparison::Equivalent) => "equivalent",
            Some(Comparison::Undecided) => "undecided",
        };
        session.line(&format!(
            "    {:14} {:24} {verdict:10} median {:22} us, processor {:22} us",
            line.subject,
            cell(&line.ratio),
            cell(&line.p50),
            cell(&line.cpu),
        ))?;
    }
    Ok(())
}

fn words(found: &Interval) -> String {
    format!(
        "{:.3} ({:.3} to {:.3})",
        found.estimate, found.low, found.high
    )
}
