//! A model at the other end of a network.
//!
//! ```text
//!   command ─► [ sender: rate ] ─ half a round trip ─► model
//!   answer  ◄─ half a round trip ─ [ sender: rate ] ◄─ model
//! ```
//!
//! Both directions send one message at a time, in order, at the same rate: a command with the data
//! that it writes, an answer with the data that it read, each with a header. Nothing is lost and
//! nothing waits for an acknowledgement, which is what a busy stream looks like.

use std::collections::{BTreeMap, VecDeque};

use super::drive::{Answer, Command, Model, Operation, Spent};
use crate::error::{Error, Kind, Result};

/// Bytes of a block.
const BLOCK: u64 = 512;

const SECOND_NS: u64 = 1_000_000_000;

/// What a network is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    /// Bytes per second in each direction.
    pub rate: u64,
    /// From one end to the other and back, for nothing.
    pub round_trip_ns: u64,
    /// Bytes that each message has besides its data.
    pub header: u64,
}

/// A model behind a network.
#[derive(Debug, Clone)]
pub struct Linked<M> {
    network: Network,
    model: M,
    /// When each direction is free.
    up_free_ns: u64,
    down_free_ns: u64,
    /// Commands under way, and when they arrive.
    coming: VecDeque<(u64, Command)>,
    /// What the model works on, by the tags that it knows: the real tag, and bytes to send back.
    serving: BTreeMap<u64, (u64, u64)>,
    /// Answers under way, in the order in which they arrive.
    going: VecDeque<Answer>,
    serial: u64,
    now_ns: u64,
    /// Spent under way, both ways.
    spent_ns: u64,
}

impl Network {
    /// Ethernet of `megabits` per second with TCP, without jumbo frames: 94 % of it is data.
    pub fn ethernet(megabits: u64, round_trip_ns: u64) -> Self {
        Self {
            rate: megabits * 1_000_000 / 8 * 94 / 100,
            round_trip_ns,
            header: 28,
        }
    }

    fn time_ns(&self, bytes: u64) -> u64 {
        let time = u128::from(self.header + bytes) * u128::from(SECOND_NS);
        (time / u128::from(self.rate)) as u64
    }
}

impl<M: Model> Linked<M> {
    /// Puts `model` behind a network; fails if that has no rate.
    pub fn new(model: M, network: Network) -> Result<Self> {
        if network.rate == 0 {
            return Err(Error::new(
                Kind::Impossible,
                "a network of 0 bytes per second",
            ));
        }
        Ok(Self {
            network,
            model,
            up_free_ns: 0,
            down_free_ns: 0,
            coming: VecDeque::new(),
            serving: BTreeMap::new(),
            going: VecDeque::new(),
            serial: 0,
            now_ns: 0,
            spent_ns: 0,
        })
    }

    /// What is behind the network.
    pub fn model(&self) -> &M {
        &self.model
    }

    /// Does what is due until `now_ns`, in the order of time.
    fn advance(&mut self, now_ns: u64) {
        loop {
            let arrival = self.coming.front().map(|&(at, _)| at);
            let next = match (arrival, self.model.wake()) {
                (Some(arrival), Some(wake)) => arrival.min(wake),
                (arrival, wake) => match arrival.or(wake) {
                    Some(next) => next,
                    None => break,
                },
            };
            if next > now_ns {
                break;
            }
            if arrival == Some(next) {
                let (_, command) = self.coming.pop_front().expect("it was just seen");
                self.model.submit(next, command);
            }
            while let Some(answer) = self.model.answer(next) {
                self.send_back(answer);
            }
        }
        self.now_ns = self.now_ns.max(now_ns);
    }

    fn send_back(&mut self, answer: Answer) {
        let (tag, bytes) = self
            .serving
            .remove(&answer.tag)
            .expect("what is answered was asked");
        let sent = self.down_free_ns.max(answer.at_ns) + self.network.time_ns(bytes);
        self.down_free_ns = sent;
        let at_ns = sent + self.network.round_trip_ns.div_ceil(2);
        self.spent_ns += at_ns - answer.at_ns;
        self.going
            .push_back(Answer::new(at_ns, answer.tag, tag, answer.served()));
    }
}

impl<M: Model> Model for Linked<M> {
    fn blocks(&self) -> u64 {
        self.model.blocks()
    }

    fn submit(&mut self, now_ns: u64, command: Command) {
        assert!(now_ns >= self.now_ns, "time does not go back");
        self.advance(now_ns);
        let bytes = u64::from(command.count) * BLOCK;
        let (up, down) = match command.operation {
            Operation::Read => (0, bytes),
            Operation::Write | Operation::WriteThrough => (bytes, 0),
            Operation::Flush => (0, 0),
        };
        let sent = self.up_free_ns.max(now_ns) + self.network.time_ns(up);
        self.up_free_ns = sent;
        self.serial += 1;
        self.serving.insert(self.serial, (command.tag, down));
        let arrival = sent + self.network.round_trip_ns / 2;
        self.spent_ns += arrival - now_ns;
        self.coming.push_back((
            arrival,
            Command {
                tag: self.serial,
                ..command
            },
        ));
    }

    fn wake(&self) -> Option<u64> {
        let times = [
            self.coming.front().map(|&(at, _)| at),
            self.model.wake(),
            self.going.front().map(|answer| answer.at_ns),
        ];
        times.into_iter().flatten().min()
    }

    fn answer(&mut self, now_ns: u64) -> Option<Answer> {
        self.advance(now_ns);
        self.going.front().filter(|answer| answer.at_ns <= now_ns)?;
        self.going.pop_front()
    }

    fn account(&self, spent: &mut Spent) {
        spent.link_ns += self.spent_ns;
        self.model.account(spent);
    }
}

#[cfg(test)]
mod tests;
