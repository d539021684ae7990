//! The volume: commands are looked up, split, and answered when their last part is.
//!
//! One loop drives all disks in the order of their times, so that disks on one bus ask for it in
//! the right order. Parts are known by their place in a slab; nothing is allocated per command once
//! the slabs have grown.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use dm::table::{Hint, Leaf as Found, Table};

use super::stateful::{Asked, Holds, Stateful};
use crate::disk::drive::{Answer, Command, Model, Operation, Served, Spent};

const BLOCK: u64 = 512;

/// What a device of the table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leaf {
    Disk(usize),
    Stateful(usize),
}

/// A command and its open parts.
#[derive(Debug, Clone, Copy)]
struct Whole {
    tag: u64,
    open: u32,
    served: Served,
}

/// A part at a disk.
#[derive(Debug, Clone, Copy)]
struct Part {
    submitted_ns: u64,
    owner: Owner,
}

/// Who waits for a part.
#[derive(Debug, Clone, Copy)]
enum Owner {
    Whole(u32),
    /// A device with a state; `asked` is its own number of what it asked.
    Stateful {
        device: u32,
        asked: u32,
    },
}

/// A layout's volume on its disks.
#[derive(Debug)]
pub(super) struct Volume {
    disks: Vec<Box<dyn Model>>,
    /// When each disk has something to do; `u64::MAX` for never.
    wakes: Vec<u64>,
    table: Table,
    leaves: Vec<Leaf>,
    hint: Hint,
    stateful: Vec<Box<dyn Stateful>>,
    mapping_ns: u64,
    /// Parts that are looked up and not at their leaves yet; one thread looks up.
    mapped: VecDeque<(u64, Leaf, Command)>,
    mapper_free_ns: u64,
    wholes: Vec<Whole>,
    idle_wholes: Vec<u32>,
    parts: Vec<Part>,
    idle_parts: Vec<u32>,
    /// Timers of devices with a state: when, which device, which key.
    timers: BinaryHeap<Reverse<(u64, usize, u64)>>,
    asked: Vec<Asked>,
    done: VecDeque<Answer>,
    serial: u64,
    spent: Spent,
}

impl Volume {
    pub(super) fn new(
        disks: Vec<Box<dyn Model>>,
        table: Table,
        leaves: Vec<Leaf>,
        stateful: Vec<Box<dyn Stateful>>,
        mapping_ns: u64,
    ) -> Self {
        let mut volume = Self {
            wakes: vec![u64::MAX; disks.len()],
            disks,
            table,
            leaves,
            hint: Hint::default(),
            stateful,
            mapping_ns,
            mapped: VecDeque::new(),
            mapper_free_ns: 0,
            wholes: Vec::new(),
            idle_wholes: Vec::new(),
            parts: Vec::new(),
            idle_parts: Vec::new(),
            timers: BinaryHeap::new(),
            asked: Vec::new(),
            done: VecDeque::new(),
            serial: 0,
            spent: Spent::default(),
        };
        for device in 0..volume.stateful.len() {
            volume.stateful[device].start();
            volume.carry_out(0, device);
        }
        volume
    }

    fn next(&self) -> u64 {
        let mut next = self.wakes.iter().copied().min().unwrap_or(u64::MAX);
        if let Some(&(at, ..)) = self.mapped.front() {
            next = next.min(at);
        }
        if let Some(Reverse((at, ..))) = self.timers.peek() {
            next = next.min(*at);
        }
        next
    }

    /// Does what is due until `now_ns`, in the order of time.
    fn advance(&mut self, now_ns: u64) {
        loop {
            let next = self.next();
            if next > now_ns {
                return;
            }
            for disk in 0..self.disks.len() {
                if self.wakes[disk] == next {
                    self.harvest(next, disk);
                }
            }
            while let Some(Reverse((at, device, key))) = self.timers.peek().copied()
                && at <= next
            {
                self.timers.pop();
                self.stateful[device].timer(next, key);
                self.carry_out(next, device);
            }
            while let Some(&(at, leaf, command)) = self.mapped.front()
                && at <= next
            {
                self.mapped.pop_front();
                self.give(next, leaf, command);
            }
        }
    }

    /// Takes the answers of a disk that are there.
    fn harvest(&mut self, now_ns: u64, disk: usize) {
        while let Some(answer) = self.disks[disk].answer(now_ns) {
            let number = answer.tag as usize;
            let part = self.parts[number];
            self.idle_parts.push(number as u32);
            self.spent.disk_ns += answer.at_ns - part.submitted_ns;
            self.spent.parts += 1;
            match part.owner {
                Owner::Whole(whole) => self.part_done(now_ns, whole, answer.served()),
                Owner::Stateful { device, asked } => {
                    let device = device as usize;
                    self.stateful[device].answered(now_ns, asked);
                    self.carry_out(now_ns, device);
                }
            }
        }
        self.wakes[disk] = self.disks[disk].wake().unwrap_or(u64::MAX);
    }

    /// Gives a part to its leaf.
    fn give(&mut self, now_ns: u64, leaf: Leaf, command: Command) {
        match leaf {
            Leaf::Disk(disk) => self.ask(now_ns, disk, Owner::Whole(command.tag as u32), command),
            Leaf::Stateful(device) => {
                self.stateful[device].request(now_ns, command);
                self.carry_out(now_ns, device);
            }
        }
    }

    fn ask(&mut self, now_ns: u64, disk: usize, owner: Owner, command: Command) {
        let part = Part {
            submitted_ns: now_ns,
            owner,
        };
        let number = if let Some(number) = self.idle_parts.pop() {
            self.parts[number as usize] = part;
            number
        } else {
            self.parts.push(part);
            self.parts.len() as u32 - 1
        };
        let tag = u64::from(number);
        self.disks[disk].submit(now_ns, Command { tag, ..command });
        self.wakes[disk] = self.disks[disk].wake().unwrap_or(u64::MAX);
    }

    /// Does what a device with a state asks for.
    fn carry_out(&mut self, now_ns: u64, device: usize) {
        let mut asked = std::mem::take(&mut self.asked);
        self.stateful[device].steps(now_ns, &mut asked);
        for one in asked.drain(..) {
            match one {
                Asked::Done(tag) => self.part_done(now_ns, tag as u32, Served::Medium),
                Asked::Timer { at_ns, key } => {
                    self.timers.push(Reverse((at_ns.max(now_ns), device, key)));
                }
                Asked::Disk {
                    disk,
                    asked,
                    command,
                    holds,
                } => {
                    if holds == Holds::State && is_write(command.operation) {
                        self.spent.state_writes += 1;
                    }
                    let device = device as u32;
                    self.ask(now_ns, disk, Owner::Stateful { device, asked }, command);
                }
            }
        }
        self.asked = asked;
    }

    fn part_done(&mut self, now_ns: u64, number: u32, served: Served) {
        let whole = &mut self.wholes[number as usize];
        whole.open -= 1;
        if served == Served::Medium {
            whole.served = served;
        }
        if whole.open == 0 {
            let (tag, served) = (whole.tag, whole.served);
            self.idle_wholes.push(number);
            self.serial += 1;
            let answer = Answer::new(now_ns, self.serial, tag, served);
            self.done.push_back(answer);
        }
    }

    fn open(&mut self, tag: u64) -> u32 {
        let whole = Whole {
            tag,
            open: 0,
            served: Served::Cache,
        };
        if let Some(number) = self.idle_wholes.pop() {
            self.wholes[number as usize] = whole;
            return number;
        }
        self.wholes.push(whole);
        self.wholes.len() as u32 - 1
    }

    /// Sends a part on its way after its lookup.
    fn send(&mut self, now_ns: u64, leaf: Leaf, command: Command) {
        if self.mapping_ns == 0 && self.mapped.is_empty() {
            self.give(now_ns, leaf, command);
            return;
        }
        self.mapper_free_ns = self.mapper_free_ns.max(now_ns) + self.mapping_ns;
        self.spent.mapping_ns += self.mapper_free_ns - now_ns;
        self.mapped.push_back((self.mapper_free_ns, leaf, command));
    }
}

impl Model for Volume {
    fn blocks(&self) -> u64 {
        self.table.size() / BLOCK
    }

    fn submit(&mut self, now_ns: u64, command: Command) {
        self.advance(now_ns);
        let number = self.open(command.tag);
        let tag = u64::from(number);
        if command.operation == Operation::Flush {
            self.wholes[number as usize].open = self.leaves.len() as u32;
            for index in 0..self.leaves.len() {
                let part = Command { tag, ..command };
                self.send(now_ns, self.leaves[index], part);
            }
            return;
        }
        let mut at = command.start * BLOCK;
        let end = at + u64::from(command.count) * BLOCK;
        assert!(at < end && end <= self.table.size(), "blocks of the volume");
        // The last part is counted before the first can be done.
        self.wholes[number as usize].open = 1;
        while at < end {
            let found = self.table.lookup(at, &mut self.hint);
            let len = found.len.min(end - at);
            let Found::Device { device, offset } = found.leaf else {
                unreachable!("layouts have no zeros and no errors");
            };
            at += len;
            if at < end {
                self.wholes[number as usize].open += 1;
            }
            let part = Command {
                tag,
                start: offset / BLOCK,
                count: (len / BLOCK) as u32,
                ..command
            };
            self.send(now_ns, self.leaves[device], part);
        }
    }

    fn wake(&self) -> Option<u64> {
        let answer = self.done.front().map_or(u64::MAX, |answer| answer.at_ns);
        Some(self.next().min(answer)).filter(|wake| *wake < u64::MAX)
    }

    fn answer(&mut self, now_ns: u64) -> Option<Answer> {
        if self.done.is_empty() {
            self.advance(now_ns);
        }
        self.done.pop_front()
    }

    fn account(&self, spent: &mut Spent) {
        spent.mapping_ns += self.spent.mapping_ns;
        spent.disk_ns += self.spent.disk_ns;
        spent.parts += self.spent.parts;
        spent.state_writes += self.spent.state_writes;
        for disk in &self.disks {
            disk.account(spent);
        }
    }
}

fn is_write(operation: Operation) -> bool {
    matches!(operation, Operation::Write | Operation::WriteThrough)
}
