//! Replays measured requests, and says how far the model is off.
//!
//! A trace holds what a real drive did: each request, how long it took, and how long the host then
//! thought before the next one; one was outstanding at a time. The model is given the same
//! requests with the same think times after *its* completions. What is compared are the
//! distributions of the response times, since the platter's phase of the day is not in the trace.
//!
//! The measure is the *demerit figure* of Ruemmler and Wilkes (1994): the root of the mean square
//! of the horizontal distance between the two distributions, which for equally many requests is
//! that of the sorted times. Square roots are exact; the sums are of integers.

use super::drive::{Answer, Command, Drive, Operation, Served};
use super::import;
use crate::error::{Error, Kind, Result};

/// Requests of a trace, at most.
const REQUESTS_MAX: usize = 10_000_000;

/// What the real drive's cache did, as far as it was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Seen {
    /// The data was in the cache (or nothing is known).
    Hit,
    /// It was not.
    Miss,
    /// A write with two disconnections.
    Double,
    /// A write with three.
    Triple,
}

/// One measured request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Read or write.
    pub operation: Operation,
    /// What the cache did.
    pub seen: Seen,
    /// First block.
    pub start: u64,
    /// Blocks of 512 bytes.
    pub count: u32,
    /// Measured response time.
    pub response_ns: u64,
    /// From its completion until the next request was issued.
    pub think_ns: u64,
}

/// What the model did with one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Modelled response time.
    pub response_ns: u64,
    /// Where the data came from or went to.
    pub served: Served,
}

/// How far the modelled times are from the measured ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// Requests.
    pub count: usize,
    /// Mean of the measured times.
    pub measured_mean_ns: f64,
    /// Mean of the modelled times.
    pub modelled_mean_ns: f64,
    /// The demerit figure.
    pub demerit_ns: f64,
}

impl Comparison {
    /// Compares equally many times; both lists are sorted. Nothing is 0 apart.
    pub fn of(measured_ns: &mut [u64], modelled_ns: &mut [u64]) -> Self {
        assert_eq!(
            measured_ns.len(),
            modelled_ns.len(),
            "each request has two times"
        );
        measured_ns.sort_unstable();
        modelled_ns.sort_unstable();
        let count = measured_ns.len();
        let mean = |times: &[u64]| {
            let sum: u128 = times.iter().map(|&time| u128::from(time)).sum();
            sum as f64 / count.max(1) as f64
        };
        let squares: u128 = measured_ns
            .iter()
            .zip(modelled_ns.iter())
            .map(|(&real, &model)| {
                let distance = u128::from(real.abs_diff(model));
                distance * distance
            })
            .sum();
        Self {
            count,
            measured_mean_ns: mean(measured_ns),
            modelled_mean_ns: mean(modelled_ns),
            demerit_ns: (squares as f64 / count.max(1) as f64).sqrt(),
        }
    }

    /// By how much the modelled mean is off, relative to the measured one.
    pub fn mean_error(&self) -> f64 {
        self.modelled_mean_ns / self.measured_mean_ns - 1.0
    }
}

/// Reads a trace: per line R or W, what the cache did, first block, blocks, response time and
/// think time in microseconds. A line that is cut short is an error that names it.
pub fn parse(name: &str, text: &str) -> Result<Vec<Request>> {
    let mut requests = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        if requests.len() == REQUESTS_MAX {
            return Err(Error::new(
                Kind::Syntax,
                format!("{name}: over {REQUESTS_MAX} requests"),
            ));
        }
        let wrong =
            |field: &str| Error::new(Kind::Syntax, format!("{name} line {}: {field}", number + 1));
        requests.push(request(line).map_err(wrong)?);
    }
    Ok(requests)
}

fn request(line: &str) -> std::result::Result<Request, &'static str> {
    let mut fields = line.split_whitespace();
    let mut next = |missing: &'static str| fields.next().ok_or(missing);
    let operation = match next("the line is empty")? {
        "R" => Operation::Read,
        "W" => Operation::Write,
        _ => return Err("the first field is neither R nor W"),
    };
    let seen = match next("what the cache did is missing")? {
        "Hit" => Seen::Hit,
        "Miss" => Seen::Miss,
        "Doub" => Seen::Double,
        "Trip" => Seen::Triple,
        _ => return Err("the second field is none of Hit, Miss, Doub, Trip"),
    };
    let start = next("the first block is missing")?;
    let start = start
        .parse()
        .map_err(|_| "the first block is not a number")?;
    let count = next("the count of blocks is missing")?;
    let count = count
        .parse()
        .map_err(|_| "the count of blocks is not a number")?;
    let time = |text: &str| import::decimal_time(text, 3).ok_or("a time is not a number");
    let response_ns = time(next("the response time is missing")?)?;
    let think_ns = time(next("the think time is missing")?)?;
    if count == 0 {
        return Err("a request of 0 blocks");
    }
    Ok(Request {
        operation,
        seen,
        start,
        count,
        response_ns,
        think_ns,
    })
}

/// Replays `requests` on a drive, one at a time; fails if the drive has not all the blocks.
pub fn run(drive: &mut Drive, requests: &[Request]) -> Result<Vec<Outcome>> {
    let mut now_ns = 0;
    let mut outcomes = Vec::with_capacity(requests.len());
    for (number, request) in requests.iter().enumerate() {
        let end = request.start.checked_add(u64::from(request.count));
        if end.is_none_or(|end| end > drive.geometry().blocks()) {
            return Err(Error::new(
                Kind::Impossible,
                format!(
                    "request {} is for block {} and {} more, but {} has {} blocks",
                    number + 1,
                    request.start,
                    request.count - 1,
                    drive.profile().name,
                    drive.geometry().blocks()
                ),
            ));
        }
        drive.submit(
            now_ns,
            Command {
                tag: number as u64,
                operation: request.operation,
                start: request.start,
                count: request.count,
            },
        );
        let answer = wait(drive);
        outcomes.push(Outcome {
            response_ns: answer.at_ns - now_ns,
            served: answer.served(),
        });
        now_ns = answer.at_ns.saturating_add(request.think_ns);
    }
    Ok(outcomes)
}

/// The next answer of a drive that has something to answer.
fn wait(drive: &mut Drive) -> Answer {
    loop {
        let wake = drive.wake().expect("what is outstanding will be answered");
        if let Some(answer) = drive.answer(wake) {
            return answer;
        }
    }
}

/// Compares measured and modelled times of the requests that `class` accepts.
pub fn compare(
    requests: &[Request],
    outcomes: &[Outcome],
    class: impl Fn(usize) -> bool,
) -> Comparison {
    let chosen = || (0..requests.len()).filter(|&index| class(index));
    let mut measured: Vec<u64> = chosen().map(|index| requests[index].response_ns).collect();
    let mut modelled: Vec<u64> = chosen().map(|index| outcomes[index].response_ns).collect();
    Comparison::of(&mut measured, &mut modelled)
}

#[cfg(test)]
mod tests;
