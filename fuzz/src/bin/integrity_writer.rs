//! Images with checksums whose metadata say anything, which are written: each starts or is refused,
//! answers what it is asked, ends, and what was written to it is read from what it left.
//!
//! ```text
//!   mode and block, sections, log2 of a bit, computed, how many patches, (place, byte), requests
//! ```
//!
//! Metadata are a valid superblock, with the patches in it, in the area behind it and in the
//! checksums: three bytes each, the first of which says where.
#![no_main]

use std::collections::VecDeque;
use std::time::Duration;

use block::{Access, Buffer, Completion, Durability, Info, Operation, Range, Request};
use dm::integrity::{Discards, Integrity, IntegrityConfig, Mode, Superblock};
use dm::machine::{Event, EventOf, Machine, Step, Steps};
use libfuzzer_sys::fuzz_target;

const BLOCKS: u64 = 64;
const META: usize = 1 << 20;
const PATCHES_MAX: u8 = 16;
const REQUESTS_MAX: usize = 16;
/// Answers at most: no request takes so many.
const ANSWERS_MAX: usize = 100_000;

fuzz_target!(|bytes: &[u8]| {
    let [kind, sections, log2_bit, computed, count, rest @ ..] = bytes else {
        return;
    };
    let log2_block = kind % 4;
    let block = 512_u64 << log2_block;
    let has_bitmap = kind >> 2 & 1 == 1;
    let sectors = BLOCKS << log2_block;
    let superblock = Superblock {
        version: 3,
        journal_sections: u32::from(1 + sections % 2),
        provided_sectors: sectors,
        log2_block,
        log2_bit: log2_bit % 8,
        recalculated: (kind >> 4 & 1 == 0).then_some(u64::from(*computed).min(sectors)),
        has_bitmap,
        has_padding: false,
    };
    let mut metadata = vec![0; META];
    if kind >> 5 & 1 == 0 {
        metadata[..Superblock::LEN].copy_from_slice(&superblock.encode());
    }
    let patches = usize::from(count % PATCHES_MAX).min(rest.len() / 4);
    let (patches, requests) = rest.split_at(4 * patches);
    for patch in patches.chunks_exact(4) {
        let place = usize::from(u16::from_le_bytes([patch[1], patch[2]]));
        let place = match patch[0] % 3 {
            0 => place % 64,
            1 => Superblock::LEN + place % 512,
            _ => Superblock::LEN + place,
        };
        metadata[place] = patch[3];
    }
    let mode = match kind >> 3 & 1 {
        0 => Mode::Journal,
        _ => Mode::Bitmap,
    };
    let devices = [vec![0x5a; (BLOCKS * block) as usize], metadata];
    let Some(mut world) = World::start((mode, block), devices) else {
        return;
    };
    for request in requests.chunks_exact(3).take(REQUESTS_MAX) {
        world.write(request[0], request[1], request[2]);
    }
    let (devices, written) = world.stop();
    let mut again = World::start((mode, block), devices).expect("what was stopped starts");
    for (number, byte) in written.iter().enumerate() {
        if let Some(byte) = byte {
            again.read(number as u64, *byte);
        }
    }
    again.stop();
});

/// A device with checksums, and its legs in memory, which answer at once.
struct World {
    machine: Integrity,
    block: u64,
    now: Duration,
    devices: [Vec<u8>; 2],
    events: VecDeque<EventOf<Integrity>>,
    done: Vec<Completion>,
    started: Option<bool>,
    is_stopped: bool,
    /// What is known to be in a block.
    written: Vec<Option<u8>>,
}

impl World {
    /// `None`: it is refused.
    fn start((mode, block): (Mode, u64), devices: [Vec<u8>; 2]) -> Option<Self> {
        let config = IntegrityConfig {
            name: "image".into(),
            access: Access::ReadWrite,
            mode,
            block: block as u32,
            discards: Discards::Refused,
            journal_sectors: None,
        };
        let infos = [0, 1].map(|leg: usize| Info::new("leg", devices[leg].len() as u64));
        let mut world = Self {
            machine: Integrity::new(config, &infos).expect("its legs suffice"),
            block,
            now: Duration::ZERO,
            devices,
            events: VecDeque::from([Event::Start]),
            done: Vec::new(),
            started: None,
            is_stopped: false,
            written: vec![None; BLOCKS as usize],
        };
        world.run();
        let started = world.started.expect("it starts or is refused");
        started.then_some(world)
    }

    /// Lets all happen that happens by itself.
    fn run(&mut self) {
        let mut answers = 0;
        while let Some(event) = self.events.pop_front() {
            answers += 1;
            assert!(answers < ANSWERS_MAX, "it comes to an end");
            self.now += Duration::from_millis(1);
            let mut steps = Steps::default();
            self.machine.event(event, self.now, &mut steps);
            while let Some(step) = steps.pop() {
                self.carry_out(step);
            }
        }
    }

    fn carry_out(&mut self, step: Step<std::convert::Infallible>) {
        match step {
            Step::Started(result) => self.started = Some(result.is_ok()),
            Step::Done(answer) => self.done.push(answer),
            Step::Sub { leg, request } => {
                let answer = self.answer(leg, request);
                self.events.push_back(Event::Answer { leg, answer });
            }
            // Nothing waits for a timer but bits that need not be set.
            Step::Timer { .. } | Step::Suspended | Step::Obeyed { .. } => {}
            Step::Notice(notice) => match notice {},
            Step::Stopped => self.is_stopped = true,
        }
    }

    fn answer(&mut self, leg: usize, mut request: Request) -> Completion {
        let range = request.range.start() as usize..request.range.end() as usize;
        match request.operation {
            Operation::Read => request.buffer.copy_from_slice(&self.devices[leg][range]),
            Operation::Write => self.devices[leg][range].copy_from_slice(&request.buffer),
            _ => {}
        }
        request.complete(Ok(()))
    }

    fn ask(&mut self, request: Request) -> Completion {
        self.events.push_back(Event::Request { face: 0, request });
        self.run();
        let answer = self.done.pop().expect("it is answered");
        assert!(self.done.is_empty(), "once");
        answer
    }

    fn write(&mut self, first: u8, count: u8, byte: u8) {
        let first = u64::from(first) % BLOCKS;
        let count = 1 + u64::from(count) % (BLOCKS - first);
        let bytes = Buffer::copy_of(&vec![byte; (count * self.block) as usize]);
        let request = Request::write(1, first * self.block, Durability::Volatile, bytes);
        let answer = self.ask(request);
        assert!(answer.result.is_ok(), "no disk failed: {:?}", answer.result);
        for block in first..first + count {
            self.written[block as usize] = Some(byte);
        }
        self.read(first, byte);
    }

    fn read(&mut self, number: u64, byte: u8) {
        let buffer = Buffer::zeroed(self.block as usize);
        let range = Range::new(number * self.block, self.block);
        let answer = self.ask(Request::read(2, range.start(), buffer));
        assert!(answer.result.is_ok(), "it was written: {:?}", answer.result);
        assert!(answer.buffer.iter().all(|read| *read == byte), "as it was");
    }

    fn stop(mut self) -> ([Vec<u8>; 2], Vec<Option<u8>>) {
        self.events.push_back(Event::Stop);
        self.run();
        assert!(self.is_stopped, "it ends");
        (self.devices, self.written)
    }
}
