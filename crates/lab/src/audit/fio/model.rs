//! A fio run as the rules see it: bytes, seconds, nanoseconds.

use crate::audit::printed::{Printed, Range};

/// Everything that was printed of a run.
#[derive(Debug, Default)]
pub(in crate::audit) struct Run {
    pub(in crate::audit) jobs: Vec<Job>,
    /// The lines at the end that sum up the jobs of a group, in order of groups.
    pub(in crate::audit) groups: Vec<Summary>,
}

/// A job, or a group of jobs that was printed as one.
#[derive(Debug, Default)]
pub(in crate::audit) struct Job {
    pub(in crate::audit) name: String,
    pub(in crate::audit) line: usize,
    /// The group it belongs to.
    pub(in crate::audit) group: u64,
    /// Processes in it.
    pub(in crate::audit) processes: Option<f64>,
    /// Requests that a process may have under way.
    pub(in crate::audit) depth: Option<f64>,
    pub(in crate::audit) directions: Vec<Direction>,
    /// Shares of requests by latency, in percent: they add up to everything.
    pub(in crate::audit) shares: Vec<Printed>,
}

/// Reads, writes or trims of a job.
#[derive(Debug, Default)]
pub(in crate::audit) struct Direction {
    pub(in crate::audit) name: String,
    pub(in crate::audit) line: usize,
    /// Bytes of a request, if all are alike.
    pub(in crate::audit) block: Option<f64>,
    pub(in crate::audit) bytes: Option<Printed>,
    /// The same once more, in other units.
    pub(in crate::audit) bytes_again: Option<Printed>,
    /// Bytes per second.
    pub(in crate::audit) bandwidth: Option<Printed>,
    pub(in crate::audit) bandwidth_again: Option<Printed>,
    pub(in crate::audit) rate: Option<Printed>,
    /// Seconds.
    pub(in crate::audit) time: Option<Printed>,
    pub(in crate::audit) requests: Option<Printed>,
    pub(in crate::audit) submission: Option<Latency>,
    pub(in crate::audit) completion: Option<Latency>,
    pub(in crate::audit) total: Option<Latency>,
    /// Percent and nanoseconds.
    pub(in crate::audit) percentiles: Vec<(f64, Printed)>,
    /// Bytes per second by interval.
    pub(in crate::audit) bandwidth_samples: Option<Samples>,
    pub(in crate::audit) rate_samples: Option<Samples>,
}

/// Nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(in crate::audit) struct Latency {
    pub(in crate::audit) smallest: Printed,
    pub(in crate::audit) largest: Printed,
    pub(in crate::audit) mean: Printed,
    pub(in crate::audit) deviation: Printed,
    pub(in crate::audit) count: Option<Printed>,
}

#[derive(Debug, Clone, Copy)]
pub(in crate::audit) struct Samples {
    pub(in crate::audit) smallest: Printed,
    pub(in crate::audit) largest: Printed,
    pub(in crate::audit) mean: Printed,
    pub(in crate::audit) deviation: Printed,
    pub(in crate::audit) count: Option<Printed>,
}

/// A line like `READ: bw=…, io=…, run=…`.
#[derive(Debug)]
pub(in crate::audit) struct Summary {
    pub(in crate::audit) name: String,
    pub(in crate::audit) group: u64,
    /// Bandwidths in bytes per second: of the group, of its slowest and its fastest job, each
    /// perhaps once more in other units.
    pub(in crate::audit) bandwidths: Vec<Printed>,
    pub(in crate::audit) bytes: Vec<Printed>,
    /// Seconds: of the shortest and of the longest job.
    pub(in crate::audit) times: Vec<Printed>,
}

impl Direction {
    /// Requests per second as volume, time and block have it; else by requests, bandwidth, print.
    pub(in crate::audit) fn true_rate(&self) -> Option<Range> {
        let time = self.time.map(Printed::range)?;
        if let Some(requests) = self.requests {
            return Some(requests.range().by(time));
        }
        let bytes = self.bytes.map(Printed::range)?;
        Some(bytes.by(time).by(Range::exact(self.block?)))
    }
}
