//! What an arm does: jobs of fio on the volume, or a program on a file system on it.

use super::record::Values;
use crate::disk::drive::Model;
use crate::disk::error::Result;
use crate::filesystem::{Class, Elevator, FileSystem, Journaling, Options, postmark};
use crate::layout::Layout;
use crate::settings::Table;
use crate::stack::{self, Plan};
use crate::workload::fio::{self, Job};
use crate::workload::postmark::Settings;
use block::sim::Random;

/// Answers of one run of jobs at most, so that no run takes long.
const REQUESTS_MAX: u64 = 4_000_000;
/// The file system begins its life at some moment of these nanoseconds.
const START_NS: u64 = 10_000_000_000;

/// What an arm does.
#[derive(Debug, Clone)]
pub enum Work {
    /// fio's jobs, in a closed loop or at their rate.
    Jobs {
        /// The jobs.
        jobs: Vec<Job>,
        /// Answers after which a run ends.
        requests_max: u64,
    },
    /// `PostMark` on ext3, as the first study ran it.
    PostMark {
        /// What `PostMark` is told.
        settings: Box<Settings>,
        /// The file system and its kernel.
        options: Box<Options>,
    },
}

/// A load of a file: fio's options, or a study's test.
#[derive(Debug)]
pub(super) struct Load {
    pub(super) name: String,
    table: Table,
    options: Vec<(String, String)>,
    requests_max: u64,
    postmark: Option<(Settings, Options, String)>,
}

impl Load {
    pub(super) fn read(name: String, mut table: Table) -> Result<Self> {
        let requests_max = table.count("requests")?.unwrap_or(REQUESTS_MAX);
        let postmark = match table.count("postmark")? {
            None => None,
            Some(test) => Some(postmark_of(test, &mut table)?),
        };
        let options = table.rest()?;
        if let Some((name, _)) = options.first().filter(|_| postmark.is_some()) {
            return Err(table.error(name, "PostMark has memory, read_ahead and no_journal"));
        }
        Ok(Self {
            name,
            options,
            requests_max: requests_max.min(REQUESTS_MAX),
            postmark,
            table,
        })
    }

    /// What it is on a layout, and how people would write it.
    pub(super) fn on(&self, layout: &Layout) -> Result<(Work, String)> {
        if let Some((settings, options, text)) = &self.postmark {
            let work = Work::PostMark {
                settings: Box::new(settings.clone()),
                options: Box::new(options.clone()),
            };
            return Ok((work, text.clone()));
        }
        let all = layout.size().to_string();
        let mut text = format!("[{}]\n", self.name);
        for (key, value) in &self.options {
            let value = if value == "all" { &all } else { value };
            text.push_str(&[key, "=", value, "\n"].concat());
        }
        let jobs = fio::parse(&text);
        let jobs = jobs.map_err(|error| self.table.error(error.field(), error.problem()))?;
        let requests_max = self.requests_max;
        Ok((Work::Jobs { jobs, requests_max }, text))
    }
}

fn postmark_of(test: u64, table: &mut Table) -> Result<(Settings, Options, String)> {
    let settings = match test {
        1 => Settings::pm1(),
        2 => Settings::pm2(),
        3 => Settings::pm3(),
        _ => return Err(table.error("postmark", "1, 2 or 3 is expected: a test of the study")),
    };
    let mut options = Options::default();
    if let Some(bytes) = table.bytes("memory")? {
        options.memory_bytes = bytes;
    }
    if let Some(bytes) = table.bytes("read_ahead")? {
        options.read_ahead_bytes = bytes;
    }
    if table.truth("no_journal")? {
        options.journaling = Journaling::None;
    }
    let text = format!("PostMark Test {test} on\n{options:?}\n");
    Ok((settings, options, text))
}

impl Work {
    /// Runs it once; the seed decides phases and draws.
    pub(super) fn run(&self, layout: &Layout, seed: u64) -> Result<Values> {
        match self {
            Self::Jobs { jobs, requests_max } => {
                let mut model = stack::build(layout, seed)?;
                let plan = Plan {
                    jobs,
                    seed,
                    requests_max: Some(*requests_max),
                };
                let outcome = stack::run(model.as_mut(), &plan)?;
                Ok(super::record::of_jobs(&outcome))
            }
            Self::PostMark { settings, options } => {
                // In front of each drive a queue that sorts, as kernels have it.
                let sort = |disk| -> Box<dyn Model> { Box::new(Elevator::new(disk, 1)) };
                let volume = stack::build_behind(layout, seed, sort)?;
                let mut system = FileSystem::new(volume, Options::clone(options))?;
                system.sleep(Random::new(seed).below(START_NS));
                let outcome = postmark::run(&mut system, settings)?;
                Ok(of_postmark(&outcome))
            }
        }
    }
}

fn of_postmark(outcome: &postmark::Outcome) -> Values {
    let seconds = |ns: u64| (ns as f64 / 1e6).round() / 1e3;
    let (account, counts) = (&outcome.account, &outcome.report.counts);
    let bytes = (counts.bytes_read + counts.bytes_written) as f64;
    let pages = account.hits + account.misses;
    let mut values = Values::new();
    let mut add = |name: &str, value: f64| values.insert(name.to_owned(), value);
    add("elapsed_s", seconds(outcome.elapsed_ns));
    add(
        "megabytes",
        (bytes * 1e6 / outcome.elapsed_ns.max(1) as f64).round() / 1e3,
    );
    add("processor_s", seconds(account.processor_ns));
    add(
        "hits_percent",
        (account.hits as f64 * 1e4 / pages.max(1) as f64).round() / 1e2,
    );
    add("commits", account.commits as f64);
    for class in Class::ALL {
        let name = class.name().replace(' ', "_") + "_s";
        add(&name, seconds(account.class(class).waited_ns));
    }
    values
}
