//! What one request of the kernel means for the device, step by step.
//!
//! A file may be read and written at any byte; a device only in whole blocks. A job rounds a read
//! outwards and hands back the middle, and cuts a write (or a zeroed range) into a first block, a
//! middle and a last block, of which the outer ones are read, changed and written back. The steps
//! of a job run one after another; a job is pure, `session` moves its requests. Each step of a
//! write that must be durable (a file opened with `O_SYNC` or `O_DSYNC`) is written with FUA.

use block::{Buffer, BufferPool, Durability, Operation, Range, Request, Unmap};

use crate::fuse::gate::Claim;

/// What is changed.
#[derive(Debug)]
enum Change {
    /// These bytes are written.
    Data(Buffer),
    /// Zeros; the space may be given back or not.
    Zeroes(Unmap),
}

#[derive(Debug)]
enum Plan {
    Read {
        buffer: Buffer,
    },
    Change {
        change: Change,
        durability: Durability,
        next: u64,
        stage: Stage,
    },
    Sync,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The next step begins at `next`.
    Begin,
    /// The block at `next` is being read.
    Reading,
    /// The range up to this byte is being written.
    Writing(u64),
}

/// One request of the kernel under way.
#[derive(Debug)]
pub(crate) struct Job {
    /// The kernel's number.
    pub(crate) unique: u64,
    /// The bytes the kernel named.
    range: Range,
    block: u64,
    plan: Plan,
}

/// What a job wants next.
#[derive(Debug)]
pub(crate) enum Next {
    /// This request is to be answered by the device.
    Submit(Request),
    /// All is done. A read hands over its buffer; the bytes asked for begin at `skip`.
    Done { data: Buffer, skip: usize },
}

impl Job {
    /// Reads `range`, which lies within the device, through a buffer of `pool`.
    pub(crate) fn read(unique: u64, range: Range, block: u32, pool: &BufferPool) -> Self {
        let block = u64::from(block);
        debug_assert!(!range.is_empty(), "something is read");
        let buffer = pool.get(outer(range, block).len() as usize);
        Self {
            unique,
            range,
            block,
            plan: Plan::Read { buffer },
        }
    }

    /// Writes `data` at byte `start`; with FUA it is durable when the job is done.
    pub(crate) fn write(
        unique: u64,
        start: u64,
        data: Buffer,
        durability: Durability,
        block: u32,
    ) -> Self {
        let range = Range::new(start, data.len() as u64);
        Self::change(unique, range, block, Change::Data(data), durability)
    }

    /// Zeroes `range`.
    pub(crate) fn zero(unique: u64, range: Range, unmap: Unmap, block: u32) -> Self {
        let change = Change::Zeroes(unmap);
        Self::change(unique, range, block, change, Durability::Volatile)
    }

    /// Makes durable what was answered.
    pub(crate) fn sync(unique: u64) -> Self {
        Self {
            unique,
            range: Range::EMPTY,
            block: 1,
            plan: Plan::Sync,
        }
    }

    fn change(
        unique: u64,
        range: Range,
        block: u32,
        change: Change,
        durability: Durability,
    ) -> Self {
        let plan = Plan::Change {
            change,
            durability,
            next: range.start(),
            stage: Stage::Begin,
        };
        Self {
            unique,
            range,
            block: u64::from(block),
            plan,
        }
    }

    /// The length that the kernel asked for, in bytes.
    pub(crate) fn len(&self) -> u32 {
        self.range.len() as u32
    }

    /// Whether this is a write (whose answer names a length).
    pub(crate) fn is_write(&self) -> bool {
        matches!(
            self.plan,
            Plan::Change {
                change: Change::Data(_),
                ..
            }
        )
    }

    /// Whether this is a read (whose answer carries data).
    pub(crate) fn is_read(&self) -> bool {
        matches!(self.plan, Plan::Read { .. })
    }

    /// What a change must claim at the gate before its first step.
    pub(crate) fn claim(&self) -> Option<(Range, Claim)> {
        let Plan::Change { .. } = self.plan else {
            return None;
        };
        let whole = self.range.is_aligned(self.block);
        Some((
            outer(self.range, self.block),
            if whole { Claim::Whole } else { Claim::Partial },
        ))
    }

    /// The first step. Requests carry `tag`.
    pub(crate) fn begin(&mut self, tag: u64, pool: &BufferPool) -> Next {
        let range = outer(self.range, self.block);
        match &mut self.plan {
            Plan::Read { buffer } => {
                Next::Submit(Request::read(tag, range.start(), std::mem::take(buffer)))
            }
            Plan::Sync => Next::Submit(Request::flush(tag)),
            Plan::Change { .. } => self.change_step(tag, pool),
        }
    }

    /// The step after the device did the last one and gave `buffer` back.
    pub(crate) fn advance(&mut self, tag: u64, mut buffer: Buffer, pool: &BufferPool) -> Next {
        match &mut self.plan {
            Plan::Read { .. } => {
                let skip = (self.range.start() % self.block) as usize;
                assert!(
                    buffer.len() >= skip + self.range.len() as usize,
                    "blocks hold what was asked for"
                );
                buffer.truncate(skip + self.range.len() as usize);
                Next::Done { data: buffer, skip }
            }
            Plan::Sync => Next::Done {
                data: Buffer::empty(),
                skip: 0,
            },
            Plan::Change {
                stage: Stage::Reading,
                ..
            } => self.write_back(tag, buffer),
            Plan::Change { next, stage, .. } => {
                let Stage::Writing(end) = *stage else {
                    unreachable!("a step was under way")
                };
                *next = end;
                *stage = Stage::Begin;
                self.change_step(tag, pool)
            }
        }
    }

    /// Begins the piece of a change at `next`: a part of a block, or as many whole ones as follow.
    fn change_step(&mut self, tag: u64, pool: &BufferPool) -> Next {
        let (end, block) = (self.range.end(), self.block);
        let Plan::Change {
            change,
            durability,
            next,
            stage,
        } = &mut self.plan
        else {
            unreachable!()
        };
        debug_assert!(*next <= end, "no more is written than was asked for");
        if *next == end {
            return Next::Done {
                data: Buffer::empty(),
                skip: 0,
            };
        }
        let whole_end = end - end % block;
        if !next.is_multiple_of(block) || *next >= whole_end {
            *stage = Stage::Reading;
            let start = *next - *next % block;
            return Next::Submit(Request::read(tag, start, pool.get(block as usize)));
        }
        *stage = Stage::Writing(whole_end);
        debug_assert!(
            *next < whole_end && whole_end <= end,
            "whole blocks are written"
        );
        let range = Range::new(*next, whole_end - *next);
        Next::Submit(match change {
            Change::Zeroes(unmap) => Request::bare(tag, Operation::WriteZeroes(*unmap), range),
            Change::Data(data) if range == self.range => Request {
                tag,
                operation: Operation::Write,
                range,
                durability: *durability,
                buffer: std::mem::take(data),
            },
            Change::Data(data) => {
                // Part of an unaligned write: its bytes lie anywhere in memory, so they move.
                let from = (range.start() - self.range.start()) as usize;
                let mut piece = pool.get(range.len() as usize);
                piece.copy_from_slice(&data[from..from + range.len() as usize]);
                Request::write(tag, range.start(), *durability, piece)
            }
        })
    }

    /// The block at `next` was read: changes its part and writes it.
    fn write_back(&mut self, tag: u64, mut buffer: Buffer) -> Next {
        let (all, block) = (self.range, self.block);
        let Plan::Change {
            change,
            durability,
            next,
            stage,
        } = &mut self.plan
        else {
            unreachable!()
        };
        let start = *next - *next % block;
        debug_assert_eq!(buffer.len() as u64, block, "one block was read");
        let piece = Range::new(start, block)
            .intersection(all)
            .expect("the block is touched");
        let inside = (piece.start() - start) as usize..(piece.end() - start) as usize;
        match change {
            Change::Zeroes(_) => buffer[inside].fill(0),
            Change::Data(data) => {
                let from = (piece.start() - all.start()) as usize;
                buffer[inside].copy_from_slice(&data[from..from + piece.len() as usize]);
            }
        }
        assert!(piece.end() > *next, "each step gets on");
        *stage = Stage::Writing(piece.end());
        Next::Submit(Request::write(tag, start, *durability, buffer))
    }
}

/// The whole blocks that `range` touches.
fn outer(range: Range, block: u64) -> Range {
    let start = range.start() - range.start() % block;
    let outer = Range::new(start, range.end().next_multiple_of(block) - start);
    debug_assert!(outer.is_aligned(block), "whole blocks are named");
    debug_assert!(
        range.is_empty() || outer.intersection(range) == Some(range),
        "the blocks hold the range"
    );
    outer
}

#[cfg(test)]
mod tests;
