//! One server of queueing theory: requests in the order of arrival, each with a drawn time.
//!
//! It has no mechanics. What it is for is comparing stacks with closed forms, which speak of
//! exponential service, and drawing the line between what queueing explains and what heads do.

use std::collections::VecDeque;

use block::sim::Random;

use super::drive::{Answer, Command, Model, Served};
use crate::error::{Error, Kind, Result};
use crate::stats::real::ln;

/// How service times are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Law {
    /// All alike.
    Constant,
    /// Exponential.
    Exponential,
    /// Uniform from 0 to twice the mean.
    Uniform,
}

/// What a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerProfile {
    /// Blocks of 512 bytes.
    pub blocks: u64,
    /// Mean service time.
    pub mean_ns: u64,
    /// How it is drawn.
    pub law: Law,
}

/// A server.
#[derive(Debug, Clone)]
pub struct Server {
    profile: ServerProfile,
    random: Random,
    free_ns: u64,
    answers: VecDeque<Answer>,
    serial: u64,
    now_ns: u64,
}

impl Server {
    /// An idle server that draws by `seed`; fails if it has no blocks.
    pub fn new(profile: ServerProfile, seed: u64) -> Result<Self> {
        if profile.blocks == 0 {
            return Err(Error::new(Kind::Impossible, "a server of no blocks"));
        }
        Ok(Self {
            profile,
            random: Random::new(seed),
            free_ns: 0,
            answers: VecDeque::new(),
            serial: 0,
            now_ns: 0,
        })
    }

    fn draw(&mut self) -> u64 {
        let mean = self.profile.mean_ns;
        let share = ((self.random.number() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        match self.profile.law {
            Law::Constant => mean,
            Law::Exponential => (-ln(share) * mean as f64) as u64,
            Law::Uniform => (share * 2.0 * mean as f64) as u64,
        }
    }
}

impl Model for Server {
    fn blocks(&self) -> u64 {
        self.profile.blocks
    }

    fn submit(&mut self, now_ns: u64, command: Command) {
        assert!(now_ns >= self.now_ns, "time does not go back");
        self.now_ns = now_ns;
        self.free_ns = self.free_ns.max(now_ns) + self.draw();
        self.serial += 1;
        let answer = Answer::new(self.free_ns, self.serial, command.tag, Served::Medium);
        self.answers.push_back(answer);
    }

    fn wake(&self) -> Option<u64> {
        self.answers.front().map(|answer| answer.at_ns)
    }

    fn answer(&mut self, now_ns: u64) -> Option<Answer> {
        self.now_ns = self.now_ns.max(now_ns);
        let due = |answer: &&Answer| answer.at_ns <= now_ns;
        self.answers.front().filter(due)?;
        self.answers.pop_front()
    }
}
