//! Which requests the loader makes: those of a study's load, or of a job of fio.

use block::sim::Random;

use super::spec::{Load, Operation, Order};
use crate::error::{Error, Kind, Result};
use crate::workload::fio::{Direction, Job, Requests};

/// A request: what it does, and its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) operation: Operation,
    pub(super) at: u64,
}

/// Whatever decides what is asked next.
pub(super) trait Source {
    /// The next request of the slot `tag` of those under way.
    fn next(&mut self, tag: u64) -> Asked;
}

/// A study's load, on a region of a device.
pub(super) struct Blocks<'a> {
    load: &'a Load,
    region: (u64, u64),
    random: Random,
    next: u64,
}

impl<'a> Blocks<'a> {
    /// Of a region: where its bytes begin, and how many they are.
    pub(super) fn new(load: &'a Load, region: (u64, u64), seed: u64) -> Self {
        Self {
            load,
            region,
            random: Random::new(seed),
            next: 0,
        }
    }
}

impl Source for Blocks<'_> {
    fn next(&mut self, _: u64) -> Asked {
        let size = u64::from(self.load.size);
        let (start, length) = self.region;
        let block = match self.load.order {
            Order::Random => self.random.below(length / size),
            Order::Sequential => {
                self.next += 1;
                self.next % (length / size)
            }
        };
        Asked {
            operation: self.load.operation,
            at: start + block * size,
        }
    }
}

/// A job, again and again; each slot belongs to one of its processes.
pub(super) struct JobSource(Vec<Requests>);

impl JobSource {
    /// Fails where a process of the job has nothing to do.
    pub(super) fn new(job: &Job) -> Result<Self> {
        let mut job = job.clone();
        job.time_based = true;
        let of = |process| {
            let requests = Requests::new(&job, process);
            requests.map_err(|error| Error::new(Kind::Impossible, error.to_string()))
        };
        Ok(Self((0..job.processes).map(of).collect::<Result<_>>()?))
    }
}

impl Source for JobSource {
    fn next(&mut self, tag: u64) -> Asked {
        let process = (tag % self.0.len() as u64) as usize;
        let request = self.0[process].next().expect("a job that begins again");
        Asked {
            operation: match request.direction {
                Direction::Read => Operation::Read,
                Direction::Write => Operation::Write,
            },
            at: request.offset,
        }
    }
}
