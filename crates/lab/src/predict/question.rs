//! A job of fio on a described stack, as a question to the predictor.
//!
//! ```text
//!   job     ─► load       pattern, region, mix, size, depth or rate
//!   layout  ─► parts      the segments that the region touches, in runs of one shape
//!                         linear … linear | striped | mirror
//! ```
//!
//! A volume whose region lies on one run of segments is predicted as it is. One of several runs is
//! predicted run by run, weighted by their share of the region, as if each request met one of them
//! alone: exact for a stream that goes through one after the other, too slow for random requests
//! that wait at disks of different runs at the same time.
//!
//! Job options for which there is no formula (Zipf, thinking, flushes, jobs that run together) are
//! refused by name: a number that passed over them would be wrong in silence.

use super::explain::{Estimate, Explanation, Uncertainty, around, explain, own_deviation};
use super::predictor::{Model, Prediction};
use super::subject::{Above, Arrivals, Load, Pattern, Volume};
use crate::error::{Error, Kind, Result};
use crate::layout::{Area, Layout, Segment};
use crate::workload::fio::{Arrival, Distribution, Job, Mix, Pattern as Order};

/// Bytes of a block.
const BLOCK: u64 = 512;
/// More outstanding requests than this change nothing but the time to count them.
const DEPTH_MAX: u64 = 1024;
/// The share of what a volume can do from which on a rate is taken for more than that.
const SATURATED: f64 = 0.98;
/// Rounds in which the length of a stream and its rate are made to agree.
const ROUNDS: usize = 2;

/// What is asked of the predictor.
#[derive(Debug, Clone)]
pub struct Question {
    above: Above,
    parts: Vec<Part>,
    runtime_ns: Option<u64>,
    /// The rate that the job keeps, if it has one: requests per second, and how they come.
    offered: Option<(u64, Arrival)>,
}

/// A run of segments of one shape, and what is asked of it.
#[derive(Debug, Clone)]
struct Part {
    share: f64,
    volume: Volume,
    load: Load,
}

impl Question {
    /// The question what `jobs` do on `layout`. `requests_max` is the most that are made; `seed`
    /// decides shuffled orders.
    pub fn new(
        layout: &Layout,
        jobs: &[Job],
        requests_max: Option<u64>,
        seed: u64,
    ) -> Result<Self> {
        let [job] = jobs else {
            return refused("several jobs in one run");
        };
        layout.validate()?;
        let (load, offered) = load_of(job, layout.size() / BLOCK, requests_max)?;
        let (parts, above) = parts(layout, &load, seed)?;
        Ok(Self {
            above,
            parts,
            runtime_ns: job.runtime,
            offered,
        })
    }

    /// How many runs of segments it is predicted by; their times are averaged.
    pub fn runs(&self) -> usize {
        self.parts.len()
    }

    /// Whether the job keeps a rate that the volume can keep up with, so that the response time is
    /// what it has to be judged by, and not the throughput.
    pub fn is_open(&self) -> Result<bool> {
        let Some((rate, _)) = self.offered else {
            return Ok(false);
        };
        Ok((rate as f64) < self.closed()?.per_second * SATURATED)
    }

    /// The prediction alone.
    pub fn predict(&self) -> Result<Prediction> {
        let mut all = Vec::new();
        for part in self.settled()? {
            let model = Model::new(&part.volume, &self.above, &part.load)?;
            all.push((part.share, model.predict().0));
        }
        Ok(mean_of(&all))
    }

    /// The prediction with its account.
    pub fn explain(&self, uncertainty: &Uncertainty) -> Result<Explanation> {
        let mut all = Vec::new();
        for part in self.settled()? {
            let told = explain(&part.volume, &self.above, &part.load, uncertainty)?;
            all.push((part.share, told));
        }
        Ok(Explanation::mixed(all))
    }

    /// The value with the interval of the predictor's own error, all parameters being certain.
    pub fn own_interval(&self, value: f64) -> Estimate {
        let own = |part: &Part| part.share * own_deviation(&part.load);
        around(value, self.parts.iter().map(own).sum())
    }

    /// The parts with their arrivals and the length of their streams.
    fn settled(&self) -> Result<Vec<Part>> {
        let mut parts = self.parts.clone();
        if let (Some((rate, arrival)), true) = (self.offered, self.is_open()?) {
            let gap_ns = 1_000_000_000 / rate;
            for part in &mut parts {
                part.load.arrivals = match arrival {
                    Arrival::Even => Arrivals::Even { gap_ns },
                    Arrival::Poisson => Arrivals::Poisson { gap_ns },
                };
            }
        }
        let Some(runtime_ns) = self.runtime_ns else {
            return Ok(parts);
        };
        for part in &mut parts {
            if part.load.pattern != Pattern::Sequential {
                continue;
            }
            for _ in 0..ROUNDS {
                let (found, _) = Model::new(&part.volume, &self.above, &part.load)?.predict();
                let most = found.per_second * runtime_ns as f64 / 1e9 * part.share;
                part.load.counted = (most as u64).clamp(1, part.load.counted.max(1));
            }
        }
        Ok(parts)
    }

    /// What it does with all its requests outstanding all the time.
    fn closed(&self) -> Result<Prediction> {
        let mut all = Vec::new();
        for part in &self.parts {
            let model = Model::new(&part.volume, &self.above, &part.load)?;
            all.push((part.share, model.predict().0));
        }
        Ok(mean_of(&all))
    }
}

/// The mean of times, by share.
fn mean_of(all: &[(f64, Prediction)]) -> Prediction {
    let time: f64 = all
        .iter()
        .map(|(share, one)| share / one.per_second.max(1e-9))
        .sum();
    Prediction {
        per_second: 1.0 / time.max(1e-12),
        response_ns: all.iter().map(|(share, one)| share * one.response_ns).sum(),
    }
}

fn refused<T>(what: &str) -> Result<T> {
    let what = format!("{what} cannot be predicted; emulate it");
    Err(Error::new(Kind::Unsupported, what))
}

/// The load that a job is on a volume of so many blocks, with everything outstanding; and its rate.
fn load_of(
    job: &Job,
    blocks: u64,
    requests_max: Option<u64>,
) -> Result<(Load, Option<(u64, Arrival)>)> {
    let (bytes, reads) = match job.mix {
        Mix::Reads => (job.block[0], 1000),
        Mix::Writes => (job.block[1], 0),
        Mix::Both if job.block[0] == job.block[1] => {
            (job.block[0], u64::from(job.mix_percent) * 10)
        }
        Mix::Both => return refused("reads and writes of different sizes"),
    };
    if job.think > 0 {
        return refused("thinking between requests (thinktime)");
    }
    if job.flush_every.is_some() && job.mix != Mix::Reads {
        return refused("a job with flushes (fsync)");
    }
    let processes = u64::from(job.processes.max(1));
    if !bytes.is_multiple_of(BLOCK) || !job.offset.is_multiple_of(BLOCK) {
        return refused("requests of parts of a block");
    }
    let pattern = pattern_of(job)?;
    let mut size = job.size;
    if processes > 1 {
        if pattern == Pattern::Sequential {
            return refused("several streams at a time (numjobs)");
        }
        match job.offset_increment {
            0 => {}
            step if step == job.size => size *= processes,
            _ => return refused("processes on regions that overlap or have gaps"),
        }
    }
    let (start, region) = (job.offset / BLOCK, size / BLOCK);
    if region < bytes / BLOCK || start.checked_add(region).is_none_or(|end| end > blocks) {
        let what = format!(
            "job {} works on {size} bytes from byte {}, and the volume has {}; give a size",
            job.name,
            job.offset,
            blocks * BLOCK
        );
        return Err(Error::new(Kind::Impossible, what));
    }
    let moved = job.volume.unwrap_or(job.size).max(bytes) / bytes;
    let most = requests_max.unwrap_or(u64::MAX);
    let counted = if job.time_based {
        most
    } else {
        moved.min(most)
    };
    let depth = (u64::from(job.depth) * processes).min(DEPTH_MAX) as usize;
    let load = Load {
        pattern,
        region_start: start,
        region_blocks: region,
        reads,
        blocks: bytes / BLOCK,
        grain: bytes / BLOCK,
        arrivals: Arrivals::Closed { depth },
        warm_up: 0,
        counted,
    };
    let offered = job.rate.filter(|rate| *rate > 0);
    Ok((load, offered.map(|rate| (rate * processes, job.arrival))))
}

fn pattern_of(job: &Job) -> Result<Pattern> {
    if job.pattern == Order::Sequential {
        return Ok(Pattern::Sequential);
    }
    if job.random_percent < 100 {
        return refused("a pattern that is random in part (percentage_random)");
    }
    let region = job.size / BLOCK;
    match &job.distribution {
        Distribution::Uniform => Ok(Pattern::Random {
            hot_share: 0,
            hot_blocks: 0,
        }),
        Distribution::Zipf(_) => refused("a Zipf distribution"),
        Distribution::Zoned(zones) => {
            let hot = zones.first().filter(|hot| {
                zones.len() == 2 && hot.access_percent >= hot.size_percent && hot.size_percent < 100
            });
            let Some(hot) = hot else {
                return refused("zones other than a hot one and the rest");
            };
            // What is not for the hot part alone goes anywhere, the hot part included.
            let (access, size) = (u64::from(hot.access_percent), u64::from(hot.size_percent));
            Ok(Pattern::Random {
                hot_share: (access - size) * 1000 / (100 - size),
                hot_blocks: (region * size / 100).max(1),
            })
        }
    }
}

/// The runs of segments that the load's region touches, as volumes of their own.
fn parts(layout: &Layout, load: &Load, seed: u64) -> Result<(Vec<Part>, Above)> {
    let (first, last) = (load.region_start, load.region_start + load.region_blocks);
    let mut runs: Vec<(u64, Vec<Segment>)> = Vec::new();
    let mut at = 0;
    for segment in layout.segments(seed) {
        let (start, end) = (at, at + segment.len() / BLOCK);
        at = end;
        if end <= first || start >= last {
            continue;
        }
        let joined = runs.last_mut().is_some_and(|(_, run)| joins(run, &segment));
        if !joined {
            runs.push((start, vec![segment]));
        }
    }
    let alone = runs.len() == 1;
    if !alone && matches!(load.pattern, Pattern::Random { hot_share, .. } if hot_share > 0) {
        return refused("a hot part of a volume of segments of several kinds");
    }
    let (mut parts, mut above) = (Vec::new(), Above::default());
    for (start, run) in runs {
        let end = start + run.iter().map(Segment::len).sum::<u64>() / BLOCK;
        let (from, until) = (first.max(start), last.min(end));
        if until - from < load.blocks {
            continue;
        }
        let (volume, over) = Volume::described(&only(layout, run), seed)?;
        above = over;
        parts.push(Part {
            share: (until - from) as f64 / load.region_blocks as f64,
            volume,
            load: Load {
                region_start: from - start,
                region_blocks: until - from,
                ..*load
            },
        });
    }
    let all: f64 = parts.iter().map(|part| part.share).sum();
    for part in &mut parts {
        part.share /= all;
    }
    if parts.is_empty() {
        return refused("a region of which no segment holds a whole request");
    }
    Ok((parts, above))
}

/// Takes the segment into the run, if they are of one shape.
fn joins(run: &mut Vec<Segment>, next: &Segment) -> bool {
    let follows = |before: &[Area], share: u64, after: &[Area]| {
        let mut both = before.iter().zip(after);
        before.len() == after.len()
            && both.all(|(a, b)| a.disk == b.disk && a.start + share == b.start)
    };
    match (run.last_mut(), next) {
        (Some(Segment::Linear { .. }), Segment::Linear { .. }) => {
            run.push(next.clone());
            true
        }
        (
            Some(Segment::Striped { len, chunk, areas }),
            Segment::Striped {
                len: more,
                chunk: same,
                areas: after,
            },
        ) if chunk == same && follows(areas, *len / areas.len() as u64, after) => {
            *len += more;
            true
        }
        (
            Some(Segment::Mirror {
                len,
                legs,
                log: None,
                ..
            }),
            Segment::Mirror {
                len: more,
                legs: after,
                log: None,
                ..
            },
        ) if follows(legs, *len, after) => {
            *len += more;
            true
        }
        _ => false,
    }
}

/// The layout with these segments and the disks that they are on, in the order of their use.
fn only(layout: &Layout, mut segments: Vec<Segment>) -> Layout {
    let mut used: Vec<usize> = Vec::new();
    let mut number = |area: &mut Area| {
        let known = used.iter().position(|disk| *disk == area.disk);
        area.disk = known.unwrap_or_else(|| {
            used.push(area.disk);
            used.len() - 1
        });
    };
    for segment in &mut segments {
        segment.areas_mut().into_iter().for_each(&mut number);
    }
    Layout {
        disks: used
            .iter()
            .map(|disk| layout.disks[*disk].clone())
            .collect(),
        volume: segments,
        ..layout.clone()
    }
}

#[cfg(test)]
mod tests;
