//! What an arm does: jobs of fio on the volume, or a program on a file system on it.

use super::program::Running;
use super::record::Values;
use crate::error::Result;
use crate::layout::Layout;
use crate::settings::Table;
use crate::stack::{self, Plan};
use crate::workload::fio::{self, Job};

/// Answers of one run of jobs at most, so that no run takes long.
const REQUESTS_MAX: u64 = 4_000_000;

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
    /// A program on a file system.
    Program(Box<Running>),
}

/// A load of a file: fio's options, or a program's.
#[derive(Debug)]
pub(super) struct Load {
    pub(super) name: String,
    table: Table,
    options: Vec<(String, String)>,
    requests_max: u64,
    program: Option<Running>,
}

impl Load {
    pub(super) fn read(name: String, mut table: Table) -> Result<Self> {
        let requests_max = table.count("requests")?.unwrap_or(REQUESTS_MAX);
        let program = Running::read(&mut table)?;
        let options = table.rest()?;
        if let Some((name, _)) = options.first().filter(|_| program.is_some()) {
            return Err(table.error(name, "this program has no such setting"));
        }
        Ok(Self {
            name,
            options,
            requests_max: requests_max.min(REQUESTS_MAX),
            program,
            table,
        })
    }

    /// What it is on a layout, and how people would write it.
    pub(super) fn on(&self, layout: &Layout) -> Result<(Work, String)> {
        if let Some(running) = &self.program {
            let command = running.program.command().unwrap_or_default();
            let (program, options) = (&running.program, &running.options);
            let text = format!("{command}{program:?} on\n{options:?}\n");
            return Ok((Work::Program(Box::new(running.clone())), text));
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
            Self::Program(running) => running.run(layout, seed),
        }
    }
}
