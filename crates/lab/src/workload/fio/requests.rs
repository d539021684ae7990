//! The requests of one process of a job, one after the other.

use super::distribution::{Distribution, Permutation, Zipf};
use super::job::{Arrival, Direction, Job, Mix, Pattern};
use crate::stats::real::ln;
use crate::workload::InputError;
use block::sim::Random;

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Read or write.
    pub direction: Direction,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
    /// Nanoseconds from the beginning before which it is not issued; 0 without a rate.
    pub not_before: u64,
    /// Whether a flush follows it.
    pub flush: bool,
}

/// The requests of a process. A job that is not time-based ends when its volume is moved; run time
/// and depth are for whoever issues them.
#[derive(Debug, Clone)]
pub struct Requests {
    job: Job,
    random: Random,
    start: u64,
    /// Places of the region: blocks of the larger of both sizes, at the smaller's alignment.
    places: u64,
    step: u64,
    zipf: Option<Zipf>,
    scatter: Permutation,
    /// Of this pass, and how many of its numbers are used.
    pass: Permutation,
    used: u64,
    next: u64,
    left: u64,
    writes: u32,
    now: u64,
}

impl Requests {
    /// The requests of process `process` of `job`, from 0.
    pub fn new(job: &Job, process: u32) -> Result<Self, InputError> {
        let refuse = |field: &str, problem: &str| Err(InputError::new(job.line, field, problem));
        let (small, large) = (
            job.block[0].min(job.block[1]),
            job.block[0].max(job.block[1]),
        );
        if small == 0 || job.size < large {
            return refuse("size", "smaller than a block");
        }
        if process >= job.processes {
            return refuse("numjobs", "there is no such process");
        }
        let end = u64::from(process).checked_mul(job.offset_increment);
        let start = end.and_then(|by| job.offset.checked_add(by));
        let Some(start) = start.filter(|start| start.checked_add(job.size).is_some()) else {
            return refuse(
                "offset",
                "the process works behind the last byte there can be",
            );
        };
        let places = (job.size - large) / small + 1;
        let mut random = Random::new(job.seed.wrapping_add(u64::from(process)));
        let zipf = match job.distribution {
            Distribution::Zipf(theta) => Some(Zipf::new(places, theta)),
            _ => None,
        };
        Ok(Self {
            scatter: Permutation::new(places, random.number()),
            pass: Permutation::new(places, random.number()),
            random,
            start,
            places,
            step: small,
            zipf,
            used: 0,
            next: 0,
            left: job.volume.unwrap_or(job.size),
            writes: 0,
            now: 0,
            job: job.clone(),
        })
    }

    fn direction(&mut self) -> Direction {
        let percent = u64::from(self.job.mix_percent);
        match self.job.mix {
            Mix::Reads => Direction::Read,
            Mix::Both if self.random.chance(percent, 100) => Direction::Read,
            Mix::Writes | Mix::Both => Direction::Write,
        }
    }

    fn place(&mut self) -> u64 {
        let random = self.job.random_percent;
        let follows = random < 100 && !self.random.chance(u64::from(random), 100);
        if self.job.pattern == Pattern::Sequential || follows {
            return self.next % self.places;
        }
        if let Some(zipf) = self.zipf {
            return self.scatter.of(zipf.draw(&mut self.random) - 1);
        }
        if let Distribution::Zoned(zones) = &self.job.distribution {
            let mut draw = self.random.below(100) as u32;
            let mut before = 0;
            for zone in zones {
                let end = before + zone.size_percent;
                if draw < zone.access_percent {
                    let [from, to] = [before, end].map(|percent| {
                        (u128::from(self.places) * u128::from(percent) / 100) as u64
                    });
                    let from = from.min(self.places - 1);
                    return from + self.random.below(to.saturating_sub(from).max(1));
                }
                draw -= zone.access_percent;
                before = end;
            }
        }
        if self.job.repeats {
            return self.random.below(self.places);
        }
        if self.used == self.places {
            self.used = 0;
            self.pass = Permutation::new(self.places, self.random.number());
        }
        self.used += 1;
        self.pass.of(self.used - 1)
    }

    /// When the next request may be issued.
    fn arrival(&mut self) -> u64 {
        let Some(rate) = self.job.rate.filter(|rate| *rate > 0) else {
            return 0;
        };
        let now = self.now;
        let mean = 1_000_000_000 / rate;
        let gap = match self.job.arrival {
            Arrival::Even => mean,
            Arrival::Poisson => {
                let share = ((self.random.number() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
                (-ln(share) * 1e9 / rate as f64) as u64
            }
        };
        self.now = now.saturating_add(gap);
        now
    }
}

impl Iterator for Requests {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        if self.left == 0 {
            if !self.job.time_based {
                return None;
            }
            self.left = self.job.volume.unwrap_or(self.job.size);
        }
        let direction = self.direction();
        let bytes = match direction {
            Direction::Read => self.job.block[0],
            Direction::Write => self.job.block[1],
        };
        let place = self.place();
        // The next in sequence begins where this one ends.
        self.next = place + bytes.div_ceil(self.step);
        self.left = self.left.saturating_sub(bytes);
        let mut flush = false;
        if let (Direction::Write, Some(every)) = (direction, self.job.flush_every) {
            self.writes += 1;
            flush = self.writes == every;
            self.writes %= every;
        }
        Some(Request {
            direction,
            offset: self.start + place * self.step,
            bytes,
            not_before: self.arrival(),
            flush,
        })
    }
}
