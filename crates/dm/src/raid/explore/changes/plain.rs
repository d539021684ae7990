//! A volume without a state: what is asked goes to its disks in pieces.

use std::collections::BTreeMap;

use block::sim::{Disk, Random, Ticket};
use block::{Buffer, Completion, Operation, Range, Request};

use super::text::Text;

/// One that is in use.
pub(super) struct Plain {
    pub(super) text: Text,
    pub(super) disks: Vec<Disk>,
    /// Pieces in flight: which request, and where in it.
    flying: BTreeMap<(usize, Ticket), (u64, u64)>,
    /// What was asked, and how many pieces have not answered.
    asked: BTreeMap<u64, (usize, Completion)>,
    pub(super) done: Vec<Completion>,
}

impl Plain {
    pub(super) fn new(text: Text, disks: Vec<Disk>) -> Self {
        Self {
            text,
            disks,
            flying: BTreeMap::new(),
            asked: BTreeMap::new(),
            done: Vec::new(),
        }
    }

    pub(super) fn submit(&mut self, request: Request) {
        let pieces: Vec<(usize, Range)> = match request.operation {
            Operation::Flush => {
                let disks = self.text.legs.iter().map(|leg| leg.data);
                disks.map(|disk| (disk, Range::EMPTY)).collect()
            }
            _ => self.text.pieces(request.range),
        };
        assert!(!pieces.is_empty(), "it lies somewhere");
        let (tag, mut at) = (request.tag, 0);
        let is_write = request.operation.is_write();
        let count = pieces.len();
        for (disk, range) in pieces {
            let run = at as usize..(at + range.len()) as usize;
            let buffer = match request.operation {
                Operation::Read => Buffer::zeroed(run.len()),
                Operation::Write => Buffer::copy_of(&request.buffer[run]),
                _ => Buffer::zeroed(0),
            };
            let piece = Request {
                tag,
                operation: request.operation,
                range,
                durability: request.durability,
                buffer,
            };
            let ticket = self.disks[disk].begin(piece);
            self.flying.insert((disk, ticket), (tag, at));
            at += range.len();
        }
        let mut answer = request.complete(Ok(()));
        if is_write {
            answer.buffer = Buffer::zeroed(0);
        }
        self.asked.insert(tag, (count, answer));
    }

    /// Lets one disk answer; whether there was anything.
    pub(super) fn step(&mut self, random: &mut Random) -> bool {
        if self.flying.is_empty() {
            return false;
        }
        let index = random.index(self.flying.len());
        let (disk, ticket) = *self.flying.keys().nth(index).expect("there are so many");
        let (tag, at) = self.flying.remove(&(disk, ticket)).expect("it flies");
        let piece = self.disks[disk].finish(ticket);
        let (left, answer) = self.asked.get_mut(&tag).expect("it was asked");
        let place = at as usize..at as usize + piece.buffer.len();
        if answer.buffer.len() >= place.end {
            answer.buffer[place].copy_from_slice(&piece.buffer);
        }
        if piece.result.is_err() {
            answer.result = piece.result;
        }
        *left -= 1;
        if *left == 0 {
            let (_, answer) = self.asked.remove(&tag).expect("it was asked");
            self.done.push(answer);
        }
        true
    }

    /// Answers all writes in flight, which the disks have not done: a mistake.
    pub(super) fn forget(&mut self, random: &mut Random) -> Vec<(usize, Ticket)> {
        let is_write = |(_, answer): &(usize, Completion)| answer.buffer.is_empty();
        while self.asked.values().any(|asked| !is_write(asked)) {
            self.step(random);
        }
        let answers = std::mem::take(&mut self.asked).into_values();
        self.done.extend(answers.map(|(_, answer)| answer));
        std::mem::take(&mut self.flying).into_keys().collect()
    }

    /// Its disks, of which the process that used it is killed.
    pub(super) fn kill(mut self, random: &mut Random) -> Vec<Disk> {
        for disk in &mut self.disks {
            for ticket in disk.in_flight().collect::<Vec<_>>() {
                match random.below(3) {
                    0 => disk.abandon(ticket),
                    1 => disk.interrupt(ticket),
                    _ => drop(disk.finish(ticket)),
                }
            }
        }
        self.disks
    }
}
