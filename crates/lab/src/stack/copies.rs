//! A mirror in virtual time: the machine that serves users, told the events of the emulation.
//!
//! Its legs are areas of disks; its log is in memory and says that all is in sync, so that nothing
//! is copied at the start. What the machine asks its legs is turned into commands, and their
//! buffers, which nobody fills, are kept for the answers.

use std::time::Duration;

use block::{Buffer, Durability, Info, Range, Request};
use dm::machine::{Event, EventOf, Machine, Step, Steps};
use dm::mirror::{Mirror, MirrorConfig, MirrorImage, Notice, Sync};

use crate::disk::drive::{Command, Operation};
use crate::layout::Area;

const BLOCK: u64 = 512;

/// What a mirror wants done.
#[derive(Debug)]
pub(super) enum Asked {
    /// The part with this tag is done.
    Done(u64),
    /// A timer.
    Timer { at_ns: u64, key: u64 },
    /// A command for a disk; `asked` comes back with the answer.
    Disk {
        disk: usize,
        asked: u32,
        command: Command,
    },
}

/// A mirror.
pub(super) struct Copies {
    machine: Mirror,
    steps: Steps<Notice>,
    legs: Vec<Area>,
    /// What legs were asked, by number.
    out: Vec<Option<(usize, Request)>>,
    idle: Vec<u32>,
    /// Commands since the start, and to which leg: what tells where reads go.
    reads: Vec<u64>,
}

impl std::fmt::Debug for Copies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "mirror of {:?}, reads {:?}", self.legs, self.reads)
    }
}

impl Copies {
    /// A mirror of `len` bytes on `legs`.
    pub(super) fn new(len: u64, region: u64, legs: Vec<Area>) -> dm::Result<Self> {
        let members = (0..legs.len()).map(|leg| MirrorImage::present(leg as u64, leg));
        let mut config = MirrorConfig::new("mirror", len, region, members.collect());
        config.sync = Sync::Assumed;
        let infos: Vec<Info> = (0..legs.len())
            .map(|leg| Info::new(format!("leg {leg}"), len))
            .collect();
        Ok(Self {
            machine: Mirror::new(config, &infos)?,
            steps: Steps::default(),
            reads: vec![0; legs.len()],
            legs,
            out: Vec::new(),
            idle: Vec::new(),
        })
    }

    fn event(&mut self, event: EventOf<Mirror>, now_ns: u64) {
        let now = Duration::from_nanos(now_ns);
        self.machine.event(event, now, &mut self.steps);
    }

    pub(super) fn start(&mut self) {
        self.event(Event::Start, 0);
    }

    pub(super) fn timer(&mut self, now_ns: u64, key: u64) {
        self.event(Event::Timer(key), now_ns);
    }

    /// A command for the mirror, in its own blocks.
    pub(super) fn request(&mut self, now_ns: u64, command: Command) {
        let range = Range::new(command.start * BLOCK, u64::from(command.count) * BLOCK);
        let buffer = || Buffer::zeroed(range.len() as usize);
        let request = match command.operation {
            Operation::Read => Request::read(command.tag, range.start(), buffer()),
            Operation::Write => {
                Request::write(command.tag, range.start(), Durability::Volatile, buffer())
            }
            Operation::WriteThrough => {
                Request::write(command.tag, range.start(), Durability::Fua, buffer())
            }
            Operation::Flush => Request::flush(command.tag),
        };
        self.event(Event::Request { face: 0, request }, now_ns);
    }

    /// A leg answered.
    pub(super) fn answered(&mut self, now_ns: u64, asked: u32) {
        let (leg, request) = self.out[asked as usize].take().expect("it was asked");
        self.idle.push(asked);
        let answer = request.complete(Ok(()));
        self.event(Event::Answer { leg, answer }, now_ns);
    }

    /// Takes what the machine wants done.
    pub(super) fn steps(&mut self, asked: &mut Vec<Asked>) {
        while let Some(step) = self.steps.pop() {
            match step {
                Step::Done(completion) => {
                    completion
                        .result
                        .expect("no leg of an emulated mirror fails");
                    asked.push(Asked::Done(completion.tag));
                }
                Step::Sub { leg, request } => asked.push(self.ask(leg, request)),
                Step::Timer { at, key } => asked.push(Asked::Timer {
                    at_ns: u64::try_from(at.as_nanos()).unwrap_or(u64::MAX),
                    key,
                }),
                Step::Started(result) => result.expect("a mirror without a log starts"),
                Step::Notice(_) | Step::Suspended | Step::Obeyed { .. } | Step::Stopped => {}
            }
        }
    }

    fn ask(&mut self, leg: usize, request: Request) -> Asked {
        let area = self.legs[leg];
        let operation = match request.operation {
            block::Operation::Read => {
                self.reads[leg] += 1;
                Operation::Read
            }
            block::Operation::Flush | block::Operation::Discard => Operation::Flush,
            block::Operation::Write | block::Operation::WriteZeroes(_) => {
                match request.durability {
                    Durability::Volatile => Operation::Write,
                    Durability::Fua => Operation::WriteThrough,
                }
            }
        };
        let command = Command {
            tag: 0,
            operation,
            start: (area.start + request.range.start()) / BLOCK,
            count: (request.range.len() / BLOCK) as u32,
        };
        let kept = Some((leg, request));
        let asked = if let Some(number) = self.idle.pop() {
            self.out[number as usize] = kept;
            number
        } else {
            self.out.push(kept);
            self.out.len() as u32 - 1
        };
        Asked::Disk {
            disk: area.disk,
            asked,
            command,
        }
    }
}
