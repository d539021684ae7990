//! A short run of a job on a described stack, to hold beside its prediction.
//!
//! It goes through what users' requests go through (`stack`: mapping, mirrors, loops, networks), in
//! virtual time. A random job is run until it is in its stride and then for [`COUNTED`] requests; a
//! stream, which has other speeds in other zones, is looked at in [`PLACES`] places of its region.

use crate::error::Result;
use crate::layout::Layout;
use crate::stack::{self, Plan};
use crate::workload::fio::{Job, Pattern};

/// Requests that count, and those before them that fill queues and caches.
const COUNTED: u64 = 10_000;
const BEFORE: u64 = 2_000;
/// Where a long stream is looked at, and requests at each place: those that count and the others.
const PLACES: u64 = 6;
const COUNTED_STREAM: u64 = 1_500;
const BEFORE_STREAM: u64 = 500;
/// More answers than expected, by this factor, and a run ends whatever its time says.
const BEYOND: u64 = 4;
/// Runs at most, where what was expected was far off.
const TRIES: usize = 12;

/// What was seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial {
    /// Requests answered per second.
    pub per_second: f64,
    /// The mean time from issue to answer, in nanoseconds.
    pub response_ns: f64,
    /// Requests that counted.
    pub counted: u64,
}

/// Runs `job` on `layout`; `expected` is how many requests per second to plan the run for. Where it
/// was far off the run is repeated with what was seen.
pub fn trial(layout: &Layout, job: &Job, expected: f64, seed: u64) -> Result<Trial> {
    let bytes = job.block[0].max(job.block[1]);
    let most = job.size / bytes;
    let place = BEFORE_STREAM + COUNTED_STREAM;
    if job.pattern == Pattern::Random || job.processes > 1 || most < PLACES * place {
        return once(layout, job, expected, (BEFORE, COUNTED), seed);
    }
    let (mut time, mut waited, mut counted) = (0.0, 0.0, 0);
    for number in 0..PLACES {
        let mut part = job.clone();
        part.offset += number * (most / PLACES) * bytes;
        part.size = most / PLACES * bytes;
        let seed = seed.wrapping_add(number);
        let found = once(
            layout,
            &part,
            expected,
            (BEFORE_STREAM, COUNTED_STREAM),
            seed,
        )?;
        time += found.counted as f64 / found.per_second.max(1e-9);
        waited += found.response_ns * found.counted as f64;
        counted += found.counted;
    }
    Ok(Trial {
        per_second: counted as f64 / time.max(1e-9),
        response_ns: waited / (counted as f64).max(1.0),
        counted,
    })
}

fn once(
    layout: &Layout,
    job: &Job,
    mut expected: f64,
    (before, counted): (u64, u64),
    seed: u64,
) -> Result<Trial> {
    for _ in 1..TRIES {
        let found = run(layout, job, expected, (before, counted), seed)?;
        if found.counted == 0 {
            // All answers there may be came before the time to count them.
            expected *= BEYOND as f64;
        } else if found.counted < counted / 2 {
            expected = found.per_second;
        } else {
            return Ok(found);
        }
    }
    run(layout, job, expected, (before, counted), seed)
}

fn run(
    layout: &Layout,
    job: &Job,
    expected: f64,
    (before, counted): (u64, u64),
    seed: u64,
) -> Result<Trial> {
    let time = |requests: u64| (requests as f64 * 1e9 / expected.max(1e-3)) as u64;
    let mut job = job.clone();
    job.time_based = true;
    job.ramp = time(before);
    job.runtime = Some(time(counted));
    let mut model = stack::build(layout, seed)?;
    let plan = Plan {
        jobs: &[job],
        seed,
        requests_max: Some((before + counted) * BEYOND),
    };
    let found = stack::run(model.as_mut(), &plan)?;
    let all = found.all();
    Ok(Trial {
        per_second: found.per_second(),
        response_ns: all.mean().unwrap_or(0.0),
        counted: all.count(),
    })
}

#[cfg(test)]
mod tests;
