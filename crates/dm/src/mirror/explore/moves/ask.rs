//! What the volume is asked, by the table that counts now.

use block::sim::{Discards, Random};
use block::{Buffer, Durability, Operation, Range, Request, Unmap};

use super::run::Run;
use super::shape::SOURCE;
use crate::explore::{Content, Expected, SECTOR};

/// Requests in flight at most.
pub(super) const DEPTH: usize = 5;
/// Sectors of one request at most, but for a few.
const LENGTH: u64 = 4;

/// A request in flight.
pub(super) struct Asked {
    pub(super) what: What,
    pub(super) range: Range,
    /// Pieces of it that were not answered, by tag.
    pub(super) parts: Vec<Part>,
    /// What was read.
    pub(super) bytes: Vec<u8>,
    pub(super) error: Option<block::Error>,
}

/// What one piece is asked of it.
pub(super) struct Part {
    pub(super) tag: u64,
    piece: usize,
    /// In the volume.
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
    /// Asks the volume for something.
    pub(super) fn ask(&mut self, random: &mut Random) {
        let sectors = self.shape.sectors();
        let most = if random.chance(1, 8) { sectors } else { LENGTH };
        let len = 1 + random.below(most.min(sectors));
        let mut start = random.below(sectors - len + 1);
        if let Some(running) = self.shape.running(self.described)
            && random.chance(1, 2)
        {
            // Most happens where something is copied, and there at the beginning.
            let piece = self.shape.piece(running);
            let sector = random.below(piece.len() / SECTOR);
            let sector = random.below(sector + 1);
            start = (piece.start() / SECTOR + sector).min(sectors - len);
        }
        let range = Range::new(start * SECTOR, len * SECTOR);
        let durability = match random.below(5) {
            0 => Durability::Fua,
            _ => Durability::Volatile,
        };
        let discards = self.shape.discards == Discards::ReadZeroes;
        match random.below(16) {
            0..=3 => self.read(range),
            4 | 5 => {
                let what = What::Flush(self.model.answered());
                self.submit(what, Operation::Flush, range, (Durability::Volatile, &[]));
            }
            _ if self.model.is_busy(range) => {}
            6 if !discards => {
                let volatile = (Durability::Volatile, &[][..]);
                self.submit(What::Advice, Operation::Discard, range, volatile);
            }
            6 => self.zero(range, Operation::Discard, Durability::Volatile),
            7 => {
                let unmap = [Unmap::Allowed, Unmap::Forbidden][random.index(2)];
                self.zero(range, Operation::WriteZeroes(unmap), durability);
            }
            _ => {
                let bytes = self.model.issue(range, Content::Bytes);
                let what = What::Write(durability);
                self.submit(what, Operation::Write, range, (durability, &bytes));
            }
        }
    }

    pub(super) fn read(&mut self, range: Range) {
        let what = What::Read(self.model.expected(true));
        self.submit(what, Operation::Read, range, (Durability::Volatile, &[]));
    }

    fn zero(&mut self, range: Range, operation: Operation, durability: Durability) {
        self.model.issue(range, Content::Zeros);
        let what = What::Write(durability);
        self.submit(what, operation, range, (durability, &[]));
    }

    /// Asks each piece for its part; a flush concerns all of them.
    fn submit(
        &mut self,
        what: What,
        operation: Operation,
        range: Range,
        (durability, bytes): (Durability, &[u8]),
    ) {
        let is_flush = operation == Operation::Flush;
        let range = if is_flush { Range::EMPTY } else { range };
        let mut asked = Asked {
            what,
            range,
            parts: Vec::new(),
            bytes: vec![0; range.len() as usize],
            error: None,
        };
        let mut requests = Vec::new();
        for piece in 0..self.shape.count {
            let whole = self.shape.piece(piece);
            let Some(part) = range
                .intersection(whole)
                .or(is_flush.then_some(Range::EMPTY))
            else {
                continue;
            };
            self.next_tag += 1;
            let tag = self.next_tag;
            let place = Range::new(part.start().saturating_sub(whole.start()), part.len());
            let buffer = match operation {
                Operation::Read => Buffer::zeroed(part.len() as usize),
                Operation::Write => {
                    let at = (part.start() - range.start()) as usize;
                    Buffer::copy_of(&bytes[at..][..part.len() as usize])
                }
                _ => Buffer::empty(),
            };
            let request = Request {
                tag,
                operation,
                range: place,
                durability,
                buffer,
            };
            asked.parts.push(Part {
                tag,
                piece,
                range: part,
            });
            requests.push((piece, request));
        }
        self.open.push(asked);
        for (piece, request) in requests {
            self.submit_part(piece, request);
        }
    }

    fn submit_part(&mut self, piece: usize, request: Request) {
        if self.shape.running(self.described) != Some(piece) {
            let side = self.described.side(piece);
            return self.window(piece, side).begin(request);
        }
        if request.operation == Operation::Write {
            let write = (request.range.start(), request.buffer.to_vec());
            self.activity.writes.borrow_mut().push(write);
        }
        self.machine().submit(0, request);
    }

    /// Whether a part may fail, since something does on which it stands.
    pub(super) fn may_fail(&self, part: &Part) -> bool {
        match self.described.side(part.piece) {
            SOURCE => self.source_fails,
            _ => self.target_gone,
        }
    }
}
