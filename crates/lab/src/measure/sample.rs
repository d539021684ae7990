//! What one slice of a subject came to.

use crate::experiment::Values;
use crate::stats::{Histogram, SlopeTest};

/// Windows that a slice is cut into, to find where its steady part begins.
pub(super) const WINDOWS: u64 = 20;

/// A slice, less its beginning.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Requests answered in the steady part.
    pub answers: u64,
    /// How long that was, in nanoseconds.
    pub elapsed_ns: u64,
    /// Processor time of this process meanwhile: client, volume and server.
    pub cpu_ns: u64,
    /// Processor time of the kernel's loop workers for each request, in nanoseconds.
    pub workers_ns: f64,
    /// From asking to the answer, in nanoseconds.
    pub latency: Histogram,
    /// What was cut off at the beginning, in nanoseconds; half of the slice if it never was steady.
    pub cut_ns: u64,
    /// Whether the rest is steady by the rule.
    pub is_steady: bool,
}

/// A moment within a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Mark {
    pub(super) at_ns: u64,
    pub(super) cpu_ns: u64,
    /// Answers until then.
    pub(super) answers: usize,
}

impl Sample {
    /// Cuts the beginning off. `marks` begins with the start; latencies are in the order of
    /// answers.
    pub(super) fn cut(marks: &[Mark], latencies: &[u32], workers_ns: u64) -> Self {
        let rate = |pair: &[Mark]| {
            let ns = pair[1].at_ns.saturating_sub(pair[0].at_ns).max(1);
            (pair[1].answers - pair[0].answers) as f64 / ns as f64
        };
        let rates: Vec<f64> = marks.windows(2).map(rate).collect();
        let steady = SlopeTest::default().find(&rates);
        let start = steady.map_or(rates.len() / 2, |steady| steady.start);
        let (first, from, to) = (marks[0], marks[start], marks[marks.len() - 1]);
        let mut latency = Histogram::new();
        for ns in &latencies[from.answers..to.answers] {
            latency.add(u64::from(*ns));
        }
        Self {
            answers: latency.count(),
            elapsed_ns: to.at_ns - from.at_ns,
            cpu_ns: to.cpu_ns - from.cpu_ns,
            workers_ns: workers_ns as f64 / to.answers.max(1) as f64,
            latency,
            cut_ns: from.at_ns - first.at_ns,
            is_steady: steady.is_some(),
        }
    }

    /// Its numbers by name; of each request in microseconds.
    pub fn values(&self) -> Values {
        let answers = self.answers.max(1) as f64;
        let round = |x: f64| (x * 1000.0).round() / 1000.0;
        let quantile = |q| self.latency.quantile(q).unwrap_or(0) as f64 / 1e3;
        let iops = answers * 1e9 / self.elapsed_ns.max(1) as f64;
        let values = [
            ("iops", iops),
            ("mean_us", self.latency.mean().unwrap_or(0.0) / 1e3),
            ("p50_us", quantile(0.5)),
            ("p99_us", quantile(0.99)),
            ("cpu_us", self.cpu_ns as f64 / answers / 1e3),
            ("workers_us", self.workers_ns / 1e3),
            ("cut_ms", self.cut_ns as f64 / 1e6),
            ("steady", f64::from(u8::from(self.is_steady))),
            ("answers", self.answers as f64),
        ];
        let owned = |(name, value): (&str, f64)| (name.to_owned(), round(value));
        values.into_iter().map(owned).collect()
    }
}
