//! What a running array is asked.

use block::sim::Random;
use block::{Buffer, Durability, Operation, Range, Request, Unmap};

use super::run::Run;
use crate::explore::{Content, Expected, SECTOR};

/// Sectors of one request at most.
const LENGTH: u64 = 7;
/// Sectors that are asked for again and again.
const HOT: u64 = 6;

/// A request in flight.
pub(super) struct Asked {
    pub(super) tag: u64,
    pub(super) what: What,
    pub(super) range: Range,
}

pub(super) enum What {
    Read(Expected),
    Write(Durability),
    Flush(Vec<u32>),
    /// A discard, which does nothing.
    Advice,
}

impl Run {
    fn submit(&mut self, request: Request) {
        self.observe();
        self.world.submit(0, request);
        self.follow_journal();
    }

    /// Asks for something.
    pub(super) fn ask(&mut self, random: &mut Random) {
        let is_hot = random.chance(1, 2);
        let sectors = self.shape.sectors();
        let (start, len) = if is_hot {
            (random.below(HOT.min(sectors)), 1 + random.below(3))
        } else {
            (random.below(sectors), 1 + random.below(LENGTH))
        };
        let range = self.shape.range(start, len);
        let durability = match random.below(5) {
            0 => Durability::Fua,
            _ => Durability::Volatile,
        };
        match random.below(16) {
            0..=3 => self.read(range),
            4 | 5 => {
                let what = What::Flush(self.known.model.answered());
                let tag = self.remember(what, Range::EMPTY);
                self.submit(Request::flush(tag));
            }
            _ if self.known.model.is_busy(range) => {}
            6 => {
                let tag = self.remember(What::Advice, range);
                self.submit(Request::bare(tag, Operation::Discard, range));
            }
            7 | 8 => {
                let unmap = [Unmap::Allowed, Unmap::Forbidden][random.index(2)];
                self.known.model.issue(range, Content::Zeros);
                let tag = self.remember(What::Write(durability), range);
                let request = Request::bare(tag, Operation::WriteZeroes(unmap), range);
                self.submit(Request {
                    durability,
                    ..request
                });
            }
            _ => {
                let bytes = self.known.model.issue(range, Content::Bytes);
                let tag = self.remember(What::Write(durability), range);
                let buffer = Buffer::copy_of(&bytes);
                self.submit(Request::write(tag, range.start(), durability, buffer));
            }
        }
    }

    pub(super) fn read(&mut self, range: Range) {
        let expected = self.known.model.expected(self.weak == 0);
        let tag = self.remember(What::Read(expected), range);
        let buffer = Buffer::zeroed(range.len() as usize);
        self.submit(Request::read(tag, range.start(), buffer));
    }

    fn remember(&mut self, what: What, range: Range) -> u64 {
        self.next_tag += 1;
        let tag = self.next_tag;
        self.count(&what, 1);
        self.open.push(Asked { tag, what, range });
        tag
    }

    /// Takes note that users ask for one more flush, or one less.
    pub(super) fn count(&self, what: &What, change: i32) {
        if let What::Flush(_) = what {
            let now = self.activity.flushes.get().checked_add_signed(change);
            let now = now.expect("what was answered was asked");
            self.activity.flushes.set(now);
        }
    }

    /// Reads all sectors once.
    pub(super) fn read_all(&mut self, random: &mut Random) -> Result<(), String> {
        self.resume();
        let (count, first) = (self.shape.sectors(), random.below(self.shape.sectors()));
        let mut at = 0;
        while at < count {
            let start = (first + at) % count;
            let len = 1 + random.below(2 * LENGTH);
            let range = self.shape.range(start, len.min(count - at));
            at += range.len() / SECTOR;
            self.read(range);
            self.look()?;
            while self.open.len() > 2 {
                self.step(random, 8);
                self.look()?;
            }
        }
        self.finish(random)
    }
}
