//! A device for callers that want to block: read, write, done.
//!
//! [`BlockingDevice`] is a queue and a driver of its own. Reads and writes may begin and end at any
//! byte; large ones are cut into pieces of which several are in flight. A write that does not
//! cover whole blocks first reads those it touches, and is not atomic against others who write
//! there at the same time.
//!
//! Does not: cache. For many small reads of the same place, read it once. To read a whole volume,
//! use [`crate::read_stream`], which delivers while it reads.

use crate::{
    BufferPool, Completion, Device, Driver, Durability, Error, Info, Kind, Operation, Queue, Range,
    Request, Result, Unmap,
};

/// The most that one request carries, in bytes: large enough for any disk's full speed.
pub(crate) const PIECE: u64 = 512 << 10;
/// Requests in flight.
pub(crate) const DEPTH: usize = 8;
/// Zeros and discards are cut less finely: they carry no data.
const BARE_PIECE: u64 = 1 << 30;

/// A device that is asked one thing at a time, by one thread.
pub struct BlockingDevice {
    info: Info,
    queue: Box<dyn Queue>,
    driver: Driver,
    pool: BufferPool,
    done: Vec<Completion>,
}

impl std::fmt::Debug for BlockingDevice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BlockingDevice({})", self.info.name)
    }
}

impl BlockingDevice {
    /// Opens `device` for this thread.
    pub fn open(device: &dyn Device) -> Result<Self> {
        Self::open_on(device, &Driver::new()?)
    }

    /// Opens `device` on a driver that this thread has already.
    pub fn open_on(device: &dyn Device, driver: &Driver) -> Result<Self> {
        Ok(Self {
            info: device.info(),
            queue: device.open_queue(driver)?,
            driver: driver.clone(),
            pool: BufferPool::new(PIECE as usize * DEPTH),
            done: Vec::new(),
        })
    }

    /// What the device said when it was opened.
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// Fills `into` with what the device holds from byte `start`.
    pub fn read_at(&mut self, into: &mut [u8], start: u64) -> Result<()> {
        let wanted = self.place(start, into.len())?;
        let pool = self.pool.clone();
        let mut pieces = pieces(self.widened(wanted), PIECE);
        self.pipeline(
            || {
                let piece = pieces.next()?;
                let buffer = pool.get(piece.len() as usize);
                Some(Request::read(piece.start(), piece.start(), buffer))
            },
            |answer| {
                let piece = Range::new(answer.tag, answer.buffer.len() as u64);
                if let Some(shared) = piece.intersection(wanted) {
                    into[within(shared, wanted)]
                        .copy_from_slice(&answer.buffer[within(shared, piece)]);
                }
            },
        )
    }

    /// The bytes of `range`.
    pub fn read(&mut self, range: Range) -> Result<Vec<u8>> {
        // Checked before memory is taken for it: the length may come from a disk.
        self.place(range.start(), range.len() as usize)?;
        let mut bytes = vec![0; range.len() as usize];
        self.read_at(&mut bytes, range.start())?;
        Ok(bytes)
    }

    /// Stores `from` at byte `start`. Durable after the next [`BlockingDevice::flush`].
    pub fn write_at(&mut self, from: &[u8], start: u64) -> Result<()> {
        let wanted = self.place(start, from.len())?;
        let whole = self.widened(wanted);
        let block = u64::from(self.info.logical_block);
        // The blocks at both ends that are only written in part, as they are now.
        let mut edges = Vec::new();
        for at in [whole.start(), whole.end().saturating_sub(block)] {
            let edge = Range::new(at, block.min(whole.len()));
            let partial = !edge.is_empty() && !wanted.contains(edge);
            if partial && edges.iter().all(|&(known, _)| known != edge) {
                edges.push((edge, self.read(edge)?));
            }
        }
        assert!(edges.len() <= 2, "a range has two ends");
        let pool = self.pool.clone();
        let mut pieces = pieces(whole, PIECE);
        self.pipeline(
            || {
                let piece = pieces.next()?;
                let mut buffer = pool.get(piece.len() as usize);
                for (edge, old) in &edges {
                    if piece.contains(*edge) {
                        buffer[within(*edge, piece)].copy_from_slice(old);
                    }
                }
                if let Some(shared) = piece.intersection(wanted) {
                    buffer[within(shared, piece)].copy_from_slice(&from[within(shared, wanted)]);
                }
                let (tag, volatile) = (piece.start(), Durability::Volatile);
                Some(Request::write(tag, piece.start(), volatile, buffer))
            },
            |_| {},
        )
    }

    /// Makes all that was written durable.
    pub fn flush(&mut self) -> Result<()> {
        let mut request = Some(Request::flush(0));
        self.pipeline(|| request.take(), |_| {})
    }

    /// Makes `range`, whole blocks, read as zeros.
    pub fn write_zeroes(&mut self, range: Range, unmap: Unmap) -> Result<()> {
        self.bare(Operation::WriteZeroes(unmap), range)
    }

    /// Says that `range`, whole blocks, is no longer needed.
    pub fn discard(&mut self, range: Range) -> Result<()> {
        self.bare(Operation::Discard, range)
    }

    fn bare(&mut self, operation: Operation, range: Range) -> Result<()> {
        let mut pieces = pieces(range, BARE_PIECE);
        self.pipeline(
            || {
                let piece = pieces.next()?;
                Some(Request::bare(piece.start(), operation, piece))
            },
            |_| {},
        )
    }

    /// `len` bytes from `start`, if the device has them.
    fn place(&self, start: u64, len: usize) -> Result<Range> {
        let range = Range::checked(start, len as u64).filter(|range| range.end() <= self.info.size);
        range.ok_or_else(|| {
            let Info { name, size, .. } = &self.info;
            let what = format!("{len} bytes at byte {start} lie outside {name} ({size} bytes)");
            Error::new(Kind::InvalidRequest, what)
        })
    }

    /// The whole blocks that `range` touches.
    fn widened(&self, range: Range) -> Range {
        let block = u64::from(self.info.logical_block);
        let start = range.start() - range.start() % block;
        let end = range.end().next_multiple_of(block);
        debug_assert!(
            start <= range.start() && range.end() <= end,
            "it only grows"
        );
        Range::new(start, if range.is_empty() { 0 } else { end - start })
    }

    /// Keeps [`DEPTH`] requests of `next` in flight and shows `each` the successful answers. The
    /// first error ends it, once nothing is in flight.
    fn pipeline(
        &mut self,
        mut next: impl FnMut() -> Option<Request>,
        mut each: impl FnMut(&Completion),
    ) -> Result<()> {
        if self.queue.in_flight() > 0 {
            let what = format!("{}: an earlier wait failed; open it again", self.info.name);
            return Err(Error::new(Kind::Gone, what));
        }
        assert!(self.done.is_empty(), "earlier answers were taken");
        let mut result = Ok(());
        let mut more = true;
        loop {
            while more && self.queue.in_flight() < DEPTH {
                match next().filter(|_| result.is_ok()) {
                    Some(request) => self.queue.submit(request),
                    None => more = false,
                }
            }
            self.queue.poll(&mut self.done);
            let idle = self.done.is_empty();
            for answer in self.done.drain(..) {
                match &answer.result {
                    Ok(()) => each(&answer),
                    Err(error) if result.is_ok() => {
                        result = Err(error.clone());
                        more = false;
                    }
                    Err(_) => {}
                }
            }
            match (self.queue.in_flight(), more) {
                (0, false) => return result,
                (0, true) => {}
                _ if idle => self.driver.wait(&mut [], None)?,
                _ => {}
            }
        }
    }
}

/// Cuts `range` at the multiples of `len`.
fn pieces(range: Range, len: u64) -> impl Iterator<Item = Range> {
    assert!(len > 0, "pieces have a length");
    let mut at = range.start();
    std::iter::from_fn(move || {
        let end = range.end().min(at - at % len + len);
        let piece = (at < end).then(|| Range::new(at, end - at));
        at = end;
        piece
    })
}

/// Where `part` lies in the bytes of `whole`.
fn within(part: Range, whole: Range) -> std::ops::Range<usize> {
    debug_assert!(whole.contains(part), "a part lies in its whole");
    let start = (part.start() - whole.start()) as usize;
    start..start + part.len() as usize
}

#[cfg(test)]
mod tests;
