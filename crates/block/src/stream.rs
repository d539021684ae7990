//! Ranges of a device, in order, into a sink.
//!
//! Several pieces are read ahead of the sink, also across the gap between two ranges, and what the
//! device knows to be zeros is not read but said. Within a range a sink sees no gaps: each piece
//! begins where the one before ended.
//!
//! Costs: up to [`DEPTH`] pieces of memory. The device is asked for its extents as the stream gets
//! there, so what changes behind its back may be seen or not.

use std::collections::VecDeque;
use std::time::Duration;

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

/// Part of a device, in the order of whoever reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Known to be zeros: it is not read.
    Zeroes(Range),
    /// To be read at once.
    Data(Range),
}

/// What became of a part.
pub(crate) enum Got<'a> {
    Data(&'a [u8]),
    Zeroes,
    Failed(Error),
}

/// Which parts of a device are read, and what is done with them.
pub(crate) trait Course {
    type Error: From<Error>;

    /// What is to be read next. `None` for now or for good.
    fn next_part(&mut self) -> std::result::Result<Option<Part>, Self::Error>;

    /// Takes a part, in the order in which they were asked for.
    fn take(&mut self, range: Range, got: Got<'_>) -> std::result::Result<(), Self::Error>;

    /// Called every [`LOOK`] at least, unless `take` takes longer.
    fn look(&mut self) -> std::result::Result<(), Self::Error> {
        Ok(())
    }

    /// Whether reads fail now: then there is one at a time.
    fn is_failing(&self) -> bool {
        false
    }
}

/// How long the device is waited for at a time.
const LOOK: Duration = Duration::from_millis(200);

/// A part that was asked for.
enum Asked {
    Zeroes(Range),
    Waiting(Range),
    Read(Range, Result<Buffer>),
}

/// Hands `range` of `device` to `sink`, in order and without gaps, with the byte at which each
/// piece begins. Reads several pieces ahead. Ends with the first error of the device or the sink.
pub fn read_stream<E: From<Error>>(
    device: &dyn Device,
    range: Range,
    holes: Holes,
    sink: impl FnMut(u64, Piece<'_>) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    read_ranges(device, &[range], holes, sink)
}

/// The same for several ranges, whole logical blocks each, one after the other.
pub fn read_ranges<E: From<Error>>(
    device: &dyn Device,
    ranges: &[Range],
    holes: Holes,
    sink: impl FnMut(u64, Piece<'_>) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let mut course = Stream {
        device,
        plan: Plan::new(device, Range::EMPTY, holes)?,
        ranges: ranges.iter(),
        holes,
        sink,
    };
    follow(device, &mut course)
}

struct Stream<'a, S> {
    device: &'a dyn Device,
    /// Of the range that is being read.
    plan: Plan<'a>,
    ranges: std::slice::Iter<'a, Range>,
    holes: Holes,
    sink: S,
}

impl<E, S> Course for Stream<'_, S>
where
    E: From<Error>,
    S: FnMut(u64, Piece<'_>) -> std::result::Result<(), E>,
{
    type Error = E;

    fn next_part(&mut self) -> std::result::Result<Option<Part>, E> {
        loop {
            if let Some(part) = self.plan.next_part()? {
                return Ok(Some(part));
            }
            let Some(range) = self.ranges.next() else {
                return Ok(None);
            };
            self.plan = Plan::new(self.device, *range, self.holes)?;
        }
    }

    fn take(&mut self, range: Range, got: Got<'_>) -> std::result::Result<(), E> {
        match got {
            Got::Data(bytes) => (self.sink)(range.start(), Piece::Data(bytes)),
            Got::Zeroes => (self.sink)(range.start(), Piece::Zeroes(range.len())),
            Got::Failed(error) => Err(error.into()),
        }
    }
}

/// Reads the parts of a course, several ahead, and hands them back in their order.
pub(crate) fn follow<C: Course>(
    device: &dyn Device,
    course: &mut C,
) -> std::result::Result<(), C::Error> {
    let driver = Driver::new()?;
    let mut queue = device.open_queue(&driver)?;
    let pool = BufferPool::new(PIECE as usize * DEPTH);
    let mut done = Vec::new();
    let mut window: VecDeque<Asked> = VecDeque::with_capacity(DEPTH);
    loop {
        course.look()?;
        let depth = if course.is_failing() { 1 } else { DEPTH };
        if window.len() < depth
            && let Some(part) = course.next_part()?
        {
            window.push_back(match part {
                Part::Data(piece) => {
                    let buffer = pool.get(piece.len() as usize);
                    queue.submit(Request::read(piece.start(), piece.start(), buffer));
                    Asked::Waiting(piece)
                }
                Part::Zeroes(piece) => Asked::Zeroes(piece),
            });
        } else if window.is_empty() {
            return Ok(());
        } else if matches!(window.front(), Some(Asked::Waiting(_))) {
            driver.wait(&mut [], Some(LOOK))?;
        }
        debug_assert!(
            window.len() <= DEPTH,
            "no more is asked than memory was made for"
        );
        debug_assert!(
            queue.in_flight() <= window.len(),
            "what is in flight was asked here"
        );
        queue.poll(&mut done);
        for answer in done.drain(..) {
            let mut asked = window.iter_mut().filter(
                |part| matches!(part, Asked::Waiting(piece) if piece.start() == answer.tag),
            );
            let part = asked.next().expect("an answer belongs to a request");
            let range = Range::new(answer.tag, answer.buffer.len() as u64);
            *part = Asked::Read(range, answer.result.map(|()| answer.buffer));
        }
        while let Some(part) = window.pop_front_if(|part| !matches!(part, Asked::Waiting(_))) {
            match part {
                Asked::Zeroes(piece) => course.take(piece, Got::Zeroes)?,
                Asked::Read(piece, Ok(bytes)) => course.take(piece, Got::Data(&bytes))?,
                Asked::Read(piece, Err(error)) => course.take(piece, Got::Failed(error))?,
                Asked::Waiting(_) => unreachable!("it stays in the window"),
            }
        }
    }
}

/// `range`, whole logical blocks, cut into what is read at once and what is known to be zeros. What
/// the device cannot say counts as data.
pub(crate) fn parts(device: &dyn Device, range: Range) -> VecDeque<Part> {
    let all = |holes| {
        let mut plan = Plan::new(device, range, holes)?;
        std::iter::from_fn(|| plan.next_part().transpose()).collect::<Result<VecDeque<Part>>>()
    };
    all(Holes::Skip)
        .or_else(|_| all(Holes::Read))
        .expect("cutting a range of the device into pieces asks it nothing")
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
        assert!(
            start < end && end <= self.left.end(),
            "what is known lies ahead"
        );
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
            Part::Data(piece)
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
        assert!(self.known.is_empty(), "all that was known is used");
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
