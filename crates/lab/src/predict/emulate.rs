//! The answer to a question: the emulated disks, run in virtual time.
//!
//! One loop over all disks and the arrivals, in the order of time; requests are cut into parts as
//! the volume lies, and are done when the last part is. The platters' phases, the places and the
//! gaps come from a seed, so that an answer is the same on every machine.

use std::collections::BTreeMap;

use block::sim::Random;

use super::predictor::READ_RUN;
use super::subject::{Arrivals, Disk, Load, Medium, Pattern, Shape, Volume};
use crate::disk::capped::Capped;
use crate::disk::drive::{Command, Drive, Model, Operation};
use crate::disk::flash::Flash;
use crate::disk::link::Linked;
use crate::disk::rotation::{Angle, CIRCLE};
use crate::disk::server::Server;
use crate::error::{Error, Kind, Result};
use crate::stats::real::ln;

/// Requests under way above which an open load is more than the volume can take.
const OUTSTANDING_MAX: usize = 20_000;

/// What was seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// Requests answered per second.
    pub per_second: f64,
    /// The mean time from arrival to answer, in nanoseconds.
    pub response_ns: f64,
    /// The standard error of that mean as ten parts of the run tell it, relative to the mean.
    pub error: f64,
}

/// Runs the load on the volume.
pub fn run(volume: &Volume, load: &Load, seed: u64) -> Result<Outcome> {
    let mut run = Run::new(volume, load, seed)?;
    run.start();
    while run.answered < load.warm_up + load.counted {
        if run.requests.len() > OUTSTANDING_MAX {
            return Err(Error::new(
                Kind::Impossible,
                format!("{OUTSTANDING_MAX} requests wait: more comes than the volume can do"),
            ));
        }
        run.step();
    }
    Ok(run.outcome())
}

/// The mean gap of an open load that is `thousandths` of what the volume does with `load`.
pub fn gap_ns(volume: &Volume, load: &Load, thousandths: u64, seed: u64) -> Result<u64> {
    let outcome = run(volume, load, seed)?;
    Ok((1e12 / (outcome.per_second * thousandths as f64)) as u64)
}

/// A request under way.
#[derive(Debug, Clone, Copy)]
struct Request {
    arrival_ns: u64,
    parts: usize,
    /// The leg of a mirror that it reads.
    leg: Option<usize>,
}

struct Run<'a> {
    volume: &'a Volume,
    load: &'a Load,
    disks: Vec<Box<dyn Model>>,
    /// Reads under way on each leg of a mirror.
    reading: Vec<usize>,
    /// Where the newest reads of each leg that followed each other began and ended.
    runs: Vec<(u64, u64)>,
    requests: BTreeMap<u64, Request>,
    places: Random,
    gaps: Random,
    next_tag: u64,
    cursor: u64,
    now_ns: u64,
    next_arrival_ns: Option<u64>,
    answered: u64,
    begin_ns: u64,
    batches: [f64; 10],
}

/// The disk as a model whose platter starts anywhere.
fn model(disk: &Disk, random: &mut Random) -> Result<Box<dyn Model>> {
    let phase = Angle::new(random.below(CIRCLE));
    let model: Box<dyn Model> = match &disk.medium {
        Medium::Drive(profile) => Box::new(Drive::new((**profile).clone(), phase)?),
        Medium::Capped(cap) => Box::new(Capped::new(*cap)?),
        Medium::Flash(flash) => Box::new(Flash::new(*flash)?),
        Medium::Server(server) => Box::new(Server::new(*server, random.number())?),
    };
    Ok(match disk.link {
        Some(link) => Box::new(Linked::new(model, link)?),
        None => model,
    })
}

impl<'a> Run<'a> {
    fn new(volume: &'a Volume, load: &'a Load, seed: u64) -> Result<Self> {
        let mut random = Random::new(seed ^ 0x00a5_1a12);
        let disks = volume
            .disks
            .iter()
            .map(|disk| model(disk, &mut random))
            .collect::<Result<_>>()?;
        Ok(Self {
            volume,
            load,
            disks,
            reading: vec![0; volume.pieces.len()],
            runs: vec![(0, 0); volume.pieces.len()],
            requests: BTreeMap::new(),
            places: random.fork(),
            gaps: random.fork(),
            next_tag: 0,
            cursor: 0,
            now_ns: 0,
            next_arrival_ns: None,
            answered: 0,
            begin_ns: 0,
            batches: [0.0; 10],
        })
    }

    fn start(&mut self) {
        match self.load.arrivals {
            Arrivals::Closed { depth } => {
                for _ in 0..depth {
                    self.issue();
                }
            }
            _ => self.next_arrival_ns = Some(0),
        }
    }

    /// Goes on to the next event and does all that is due then.
    fn step(&mut self) {
        let wake = self.disks.iter().filter_map(Model::wake).min();
        let next = match (wake, self.next_arrival_ns) {
            (Some(wake), Some(arrival)) => wake.min(arrival),
            (wake, arrival) => wake.or(arrival).expect("something is under way"),
        };
        self.now_ns = self.now_ns.max(next);
        for disk in 0..self.disks.len() {
            while let Some(answer) = self.disks[disk].answer(self.now_ns) {
                self.part_done(answer.tag);
            }
        }
        if self.next_arrival_ns.is_some_and(|at| at <= self.now_ns) {
            self.next_arrival_ns = Some(self.now_ns + self.gap());
            self.issue();
        }
    }

    fn gap(&mut self) -> u64 {
        let (mean, together) = match self.load.arrivals {
            Arrivals::Closed { .. } => return 0,
            Arrivals::Even { gap_ns } => return gap_ns,
            Arrivals::Poisson { gap_ns } => (gap_ns as f64, 0),
            Arrivals::Bursty { gap_ns, together } => (
                gap_ns as f64 * 1000.0 / (1000 - together.min(999)) as f64,
                together,
            ),
        };
        let uniform = ((self.gaps.number() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        if together > 0 && self.gaps.chance(together, 1000) {
            return 0;
        }
        (-ln(uniform) * mean) as u64
    }

    fn place(&mut self) -> u64 {
        let load = self.load;
        let (from, room) = (load.region_start, load.region_blocks);
        match load.pattern {
            Pattern::Sequential => {
                if self.cursor + load.blocks > room {
                    self.cursor = 0;
                }
                self.cursor += load.blocks;
                from + self.cursor - load.blocks
            }
            Pattern::Random {
                hot_share,
                hot_blocks,
            } => {
                let hot = self.places.chance(hot_share, 1000);
                let room = if hot { hot_blocks.min(room) } else { room };
                let slots = (room - load.blocks.min(room)) / load.grain + 1;
                from + self.places.below(slots) * load.grain
            }
        }
    }

    fn issue(&mut self) {
        let start = self.place();
        let read = self.places.chance(self.load.reads, 1000);
        let operation = if read {
            Operation::Read
        } else {
            Operation::Write
        };
        let tag = self.next_tag;
        self.next_tag += 1;
        let parts = self.volume.parts(start, self.load.blocks);
        let legs = self.volume.pieces.len();
        let mut leg = None;
        let parts = match (self.volume.shape, read) {
            (Shape::Mirror, true) => {
                let choice = self.leg(start);
                self.reading[choice] += 1;
                leg = Some(choice);
                vec![(choice, start, self.load.blocks)]
            }
            (Shape::Mirror, false) => (0..legs)
                .map(|leg| (leg, start, self.load.blocks))
                .collect(),
            _ => parts,
        };
        let request = Request {
            arrival_ns: self.now_ns,
            parts: parts.len(),
            leg,
        };
        self.requests.insert(tag, request);
        for (piece, inside, count) in parts {
            let piece = self.volume.pieces[piece];
            let command = Command {
                tag,
                operation,
                start: piece.start + inside,
                count: count as u32,
            };
            self.disks[piece.disk].submit(self.now_ns, command);
        }
    }

    /// The leg that reads from `start`: the one whose stream this goes on, for a while, else the
    /// first with the fewest reads.
    fn leg(&mut self, start: u64) -> usize {
        let runs = &self.runs;
        let stays = |leg: usize| runs[leg].1 == start && start - runs[leg].0 < READ_RUN;
        let goes_on = |leg: usize| runs[leg].1 == start;
        let legs = 0..self.reading.len();
        let choice = legs
            .min_by_key(|&leg| (!stays(leg), self.reading[leg], !goes_on(leg)))
            .unwrap_or(0);
        let begin = if stays(choice) {
            self.runs[choice].0
        } else {
            start
        };
        self.runs[choice] = (begin, start + self.load.blocks);
        choice
    }

    fn part_done(&mut self, tag: u64) {
        let request = self.requests.get_mut(&tag).expect("it is under way");
        request.parts -= 1;
        if request.parts > 0 {
            return;
        }
        let request = self.requests.remove(&tag).expect("it is under way");
        if let Some(leg) = request.leg {
            self.reading[leg] -= 1;
        }
        self.answered += 1;
        if self.answered == self.load.warm_up {
            self.begin_ns = self.now_ns;
        }
        if let Some(counted) = self.answered.checked_sub(self.load.warm_up + 1)
            && counted < self.load.counted
        {
            let batch = (counted * 10 / self.load.counted) as usize;
            self.batches[batch] += (self.now_ns - request.arrival_ns) as f64;
        }
        if matches!(self.load.arrivals, Arrivals::Closed { .. }) {
            self.issue();
        }
    }

    fn outcome(&self) -> Outcome {
        let counted = self.load.counted as f64;
        let means = self.batches.map(|sum| sum * 10.0 / counted);
        let mean = means.iter().sum::<f64>() / 10.0;
        let square: f64 = means.iter().map(|value| (value - mean).powi(2)).sum();
        let elapsed = (self.now_ns - self.begin_ns).max(1) as f64;
        Outcome {
            per_second: counted * 1e9 / elapsed,
            response_ns: mean,
            error: (square / 90.0).sqrt() / mean.max(1.0),
        }
    }
}

#[cfg(test)]
mod tests;
