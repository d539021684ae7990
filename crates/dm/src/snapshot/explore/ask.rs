//! What a running origin is asked.

use block::sim::Random;
use block::{Buffer, Durability, Operation, Range, Request, Unmap};

use super::fault::Activity;
use super::run::Run;
use crate::explore::{Content, Expected, SECTOR};

/// Requests in flight at most.
pub(super) const DEPTH: usize = 6;
/// Sectors of one request at most, but for a few.
const LENGTH: u64 = 5;
/// Sectors of these at most.
const LENGTH_MAX: u64 = 24;

/// A request in flight.
pub(super) struct Asked {
    pub(super) tag: u64,
    pub(super) face: usize,
    pub(super) what: What,
    pub(super) range: Range,
}

pub(super) enum What {
    Read(Expected),
    Write(Durability),
    Flush(Vec<u32>),
    /// A discard that does nothing.
    Advice,
}

impl Run {
    /// Asks some face for something.
    pub(super) fn ask(&mut self, random: &mut Random) {
        let there: Vec<usize> = (0..self.faces.len())
            .filter(|face| self.faces[*face].is_some())
            .collect();
        let face = match random.below(2) {
            0 => 0,
            _ => there[random.index(there.len())],
        };
        let info = self.info(face).clone();
        let sectors = info.size / SECTOR;
        let most = if random.chance(1, 8) {
            LENGTH_MAX
        } else {
            LENGTH
        };
        let len = 1 + random.below(most.min(sectors));
        let start = random.below(sectors - len + 1);
        let range = Range::new(start * SECTOR, len * SECTOR);
        let durability = match random.below(5) {
            0 => Durability::Fua,
            _ => Durability::Volatile,
        };
        match random.below(16) {
            0..=3 => self.read(face, range),
            4 | 5 => {
                let covered = self.oracle.answered(face);
                let tag = self.remember(face, What::Flush(covered), Range::EMPTY);
                self.world.submit(face, Request::flush(tag));
            }
            _ if info.read_only || self.oracle.model(face).is_busy(range) => {}
            6 if info.discard_granularity == 0 => {}
            6 if !info.discard_zeroes => {
                let tag = self.remember(face, What::Advice, range);
                let request = Request::bare(tag, Operation::Discard, range);
                self.world.submit(face, request);
            }
            6 => self.zero(face, range, Operation::Discard, Durability::Volatile),
            7 => {
                let unmap = [Unmap::Allowed, Unmap::Forbidden][random.index(2)];
                self.zero(face, range, Operation::WriteZeroes(unmap), durability);
            }
            _ => {
                let tag = self.write(face, range, Content::Bytes, durability);
                let bytes = Buffer::copy_of(&tag.1);
                let request = Request::write(tag.0, range.start(), durability, bytes);
                self.world.submit(face, request);
            }
        }
    }

    pub(super) fn read(&mut self, face: usize, range: Range) {
        let expected = self.oracle.model(face).expected(true);
        let tag = self.remember(face, What::Read(expected), range);
        let buffer = Buffer::zeroed(range.len() as usize);
        let request = Request::read(tag, range.start(), buffer);
        self.world.submit(face, request);
    }

    fn zero(&mut self, face: usize, range: Range, operation: Operation, durability: Durability) {
        let (tag, _) = self.write(face, range, Content::Zeros, durability);
        let request = Request {
            durability,
            ..Request::bare(tag, operation, range)
        };
        self.world.submit(face, request);
    }

    /// Takes note of a write that is about to be asked for.
    fn write(
        &mut self,
        face: usize,
        range: Range,
        content: Content,
        durability: Durability,
    ) -> (u64, Vec<u8>) {
        self.plain.clear();
        self.oracle.writes(face, range);
        let bytes = self.oracle.model(face).issue(range, content);
        (self.remember(face, What::Write(durability), range), bytes)
    }

    fn remember(&mut self, face: usize, what: What, range: Range) -> u64 {
        let tag = self.next_tag;
        self.next_tag += 1;
        if let Some(count) = self.activity.count(face, &what) {
            count.set(count.get() + 1);
        }
        self.open.push(Asked {
            tag,
            face,
            what,
            range,
        });
        tag
    }
}

impl Activity {
    pub(super) fn count(&self, face: usize, what: &What) -> Option<&std::cell::Cell<u32>> {
        match (face, what) {
            (0, What::Write(_) | What::Advice) => Some(&self.origin_writes),
            (0, What::Flush(_)) => Some(&self.origin_flushes),
            (_, What::Write(_) | What::Advice) => Some(&self.snapshot_writes),
            (_, What::Flush(_)) => Some(&self.snapshot_flushes),
            (_, What::Read(_)) => None,
        }
    }
}
