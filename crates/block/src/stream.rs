//! A whole range of a device, in order, into a sink.
//!
//! Several pieces are read ahead of the sink, and what the device knows to be zeros is not read
//! but said. A sink sees no gaps: each piece begins where the one before ended.
//!
//! Costs: up to [`DEPTH`] pieces of memory. The device is asked for its extents as the stream gets
//! there, so what changes behind its back may be seen or not.

use std::collections::VecDeque;

use crate::blocking::{DEPTH, PIECE};
use crate::{
    Buffer, BufferPool, Device, Driver, Error, ExtentKind, Info, Kind, Range, Request, Result,
};

/// Extents asked for at a time.
const EXTENTS: usize = 256;

/// Whether holes are read like everything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holes {
    /// What the device knows to be zeros is said, not read.
    Skip,
    /// Everything is read.
    Read,
}

/// What a sink is handed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// These bytes.
    Data(&'a [u8]),
    /// This many bytes that are all zero.
    Zeroes(u64),
}

/// Part of a stream, in its order.
enum Part {
    Zeroes(Range),
    Asked(Range),
    Read(Range, Buffer),
}

/// Hands `range` of `device` to `sink`, in order and without gaps, with the byte at which each
/// piece begins. Reads several pieces ahead. Ends with the first error of the device or the sink.
pub fn read_stream<E: From<Error>>(
    device: &dyn Device,
    range: Range,
    holes: Holes,
    mut sink: impl FnMut(u64, Piece<'_>) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let driver = Driver::new()?;
    let mut queue = device.open_queue(&driver)?;
    let pool = BufferPool::new(PIECE as usize * DEPTH);
    let mut done = Vec::new();
    let mut plan = Plan::new(device, range, holes)?;
    let mut window: VecDeque<Part> = VecDeque::with_capacity(DEPTH);
    loop {
        if window.len() < DEPTH
            && let Some(part) = plan.next_part()?
        {
            if let Part::Asked(piece) = part {
                let buffer = pool.get(piece.len() as usize);
                let request = Request::read(piece.start(), piece.start(), buffer);
                queue.submit(request);
            }
            window.push_back(part);
        } else if window.is_empty() {
            return Ok(());
        } else if matches!(window.front(), Some(Part::Asked(_))) {
            driver.wait(&mut [], None)?;
        }
        queue.poll(&mut done);
        for answer in done.drain(..) {
            answer.result?;
            let mut asked = window
                .iter_mut()
                .filter(|part| matches!(part, Part::Asked(piece) if piece.start() == answer.tag));
            let part = asked.next().expect("an answer belongs to a request");
            *part = Part::Read(
                Range::new(answer.tag, answer.buffer.len() as u64),
                answer.buffer,
            );
        }
        while let Some(part) = window.pop_front_if(|part| !matches!(part, Part::Asked(_))) {
            match part {
                Part::Zeroes(piece) => sink(piece.start(), Piece::Zeroes(piece.len()))?,
                Part::Read(piece, buffer) => sink(piece.start(), Piece::Data(&buffer))?,
                Part::Asked(_) => unreachable!("it stays in the window"),
            }
        }
    }
}

/// What of a range is still to be handed out, and what is known of it.
struct Plan<'a> {
    device: &'a dyn Device,
    left: Range,
    holes: Holes,
    /// Runs at the beginning of `left`: their end, and whether they are zeros.
    known: VecDeque<(u64, bool)>,
}

impl<'a> Plan<'a> {
    fn new(device: &'a dyn Device, range: Range, holes: Holes) -> Result<Self> {
        let Info { name, size, .. } = device.info();
        if range.end() > size {
            let what = format!("{name} ends at byte {size}, before byte {}", range.end());
            return Err(Error::new(Kind::InvalidRequest, what));
        }
        let mut known = VecDeque::new();
        if holes == Holes::Read {
            known.push_back((range.end(), false));
        }
        Ok(Self {
            device,
            left: range,
            holes,
            known,
        })
    }

    fn next_part(&mut self) -> Result<Option<Part>> {
        if self.left.is_empty() {
            return Ok(None);
        }
        if self.known.is_empty() {
            self.look()?;
        }
        let &(end, zeros) = self.known.front().expect("something is known");
        let start = self.left.start();
        let piece = if zeros {
            Range::new(start, end - start)
        } else {
            Range::new(start, end.min(start - start % PIECE + PIECE) - start)
        };
        if piece.end() == end {
            self.known.pop_front();
        }
        self.left = Range::new(piece.end(), self.left.end() - piece.end());
        Ok(Some(if zeros {
            Part::Zeroes(piece)
        } else {
            Part::Asked(piece)
        }))
    }

    /// Asks the device what the beginning of `left` is made of. Zeros are handed out in whole
    /// blocks, so zeros that share a block with data count as data.
    fn look(&mut self) -> Result<()> {
        debug_assert_eq!(self.holes, Holes::Skip);
        let info = self.device.info();
        let block = u64::from(info.logical_block);
        let mut at = self.left.start();
        let mut covered = at;
        for extent in self.device.extents(self.left, EXTENTS)? {
            let end = at.saturating_add(extent.len).min(self.left.end());
            let (zeros_from, zeros_to) = (at.next_multiple_of(block), end - end % block);
            if extent.kind != ExtentKind::Data && zeros_from < zeros_to {
                if covered < zeros_from {
                    self.known.push_back((zeros_from, false));
                }
                self.known.push_back((zeros_to, true));
                covered = zeros_to;
            }
            at = end;
        }
        let end = at.next_multiple_of(block).min(self.left.end());
        if covered < end {
            self.known.push_back((end, false));
        }
        if self.known.is_empty() {
            let what = format!("{} does not say what it is made of", info.name);
            return Err(Error::new(Kind::Io, what));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
