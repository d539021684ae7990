//! One pass over a device, for what takes one byte after the other.

use std::collections::VecDeque;

use super::blocks::Blocks;
use super::map::{Map, Status};
use super::walk::Walk;
use super::{Direction, Options, Rescuer};
use crate::stream::{Course, Got, Part, follow, parts};
use crate::{Device, Piece, Range};

/// Reads all of `device`, in order: what cannot be read is handed to the rescuer as zeros, and the
/// map, which must be a new one, says what that was. Large reads that fail are tried block by block
/// at once, and so often again as `options` say; there is no direction but forward.
pub fn salvage_in_order<R: Rescuer>(
    device: &dyn Device,
    map: &mut Map,
    options: Options<'_>,
    rescuer: &mut R,
) -> Result<(), R::Error> {
    assert_eq!(map.size(), device.info().size, "the map is the device's");
    let mut course = Ordered {
        blocks: Blocks::open(device, options)?,
        walk: Walk::new(map, Status::NonTried, Direction::Forward),
        device,
        rescuer: &mut *rescuer,
        options,
        parts: VecDeque::new(),
        stored_to: 0,
        is_failing: false,
        map: &mut *map,
    };
    follow(device, &mut course)?;
    assert!(course.parts.is_empty(), "all parts were taken");
    course.fill(course.map.size())?;
    (map.phase, map.pass, map.position) = (Status::Finished, 1, 0);
    rescuer.look(map)
}

struct Ordered<'a, R> {
    device: &'a dyn Device,
    map: &'a mut Map,
    rescuer: &'a mut R,
    options: Options<'a>,
    blocks: Blocks<'a>,
    walk: Walk,
    parts: VecDeque<Part>,
    /// What the rescuer has.
    stored_to: u64,
    is_failing: bool,
}

impl<R: Rescuer> Ordered<'_, R> {
    /// Hands out zeros for what is lost before byte `to`.
    fn fill(&mut self, to: u64) -> Result<(), R::Error> {
        if self.stored_to < to {
            let zeroes = Piece::Zeroes(to - self.stored_to);
            self.rescuer.store(self.stored_to, zeroes)?;
            self.stored_to = to;
        }
        Ok(())
    }

    /// Reads `range` block by block, and hands out what came of it.
    fn split(&mut self, range: Range) -> Result<(), R::Error> {
        let mut held = Held {
            rescuer: self.rescuer,
            start: range.start(),
            bytes: vec![0; range.len() as usize],
        };
        let (blocks, map) = (&mut self.blocks, &mut *self.map);
        blocks.trim(map, &mut held, range)?;
        let mut direction = Direction::Forward;
        let mut status = Status::NonScraped;
        for _ in 0..=self.options.retries() {
            let left: Vec<Range> = map
                .within(range)
                .filter_map(|(run, found)| (found == status).then_some(run))
                .collect();
            for run in left {
                blocks.scrape(map, &mut held, run, direction)?;
            }
            (status, direction) = (Status::Bad, direction.turned());
        }
        let bytes = held.bytes;
        for (run, status) in map.within(range) {
            let from = (run.start() - range.start()) as usize;
            let piece = match status {
                Status::Finished => Piece::Data(&bytes[from..from + run.len() as usize]),
                _ => Piece::Zeroes(run.len()),
            };
            self.rescuer.store(run.start(), piece)?;
        }
        Ok(())
    }
}

impl<R: Rescuer> Course for Ordered<'_, R> {
    type Error = R::Error;

    fn next_part(&mut self) -> Result<Option<Part>, R::Error> {
        loop {
            if let Some(part) = self.parts.pop_front() {
                return Ok(Some(part));
            }
            let Some(range) = self.walk.next(self.map, &self.options) else {
                return Ok(None);
            };
            self.parts = parts(self.device, range);
        }
    }

    fn take(&mut self, range: Range, got: Got<'_>) -> Result<(), R::Error> {
        assert!(self.stored_to <= range.start(), "bytes come in their order");
        self.fill(range.start())?;
        self.map.position = range.start();
        self.is_failing = false;
        match got {
            Got::Data(bytes) => {
                self.rescuer.store(range.start(), Piece::Data(bytes))?;
                self.map.set(range, Status::Finished);
            }
            Got::Zeroes => {
                let zeroes = Piece::Zeroes(range.len());
                self.rescuer.store(range.start(), zeroes)?;
                self.map.set(range, Status::Finished);
            }
            Got::Failed(error) => {
                self.options.bear(error)?;
                self.is_failing = true;
                self.split(range)?;
            }
        }
        self.stored_to = range.end();
        Ok(())
    }

    fn look(&mut self) -> Result<(), R::Error> {
        self.rescuer.look(self.map)
    }

    fn is_failing(&self) -> bool {
        self.is_failing
    }
}

/// Keeps what is read of a range until its turn comes.
struct Held<'a, R> {
    rescuer: &'a mut R,
    start: u64,
    bytes: Vec<u8>,
}

impl<R: Rescuer> Rescuer for Held<'_, R> {
    type Error = R::Error;

    fn store(&mut self, start: u64, piece: Piece<'_>) -> Result<(), R::Error> {
        debug_assert!(start >= self.start, "it lies in what is held");
        let from = (start - self.start) as usize;
        if let Piece::Data(bytes) = piece {
            self.bytes[from..from + bytes.len()].copy_from_slice(bytes);
        }
        Ok(())
    }

    fn look(&mut self, map: &Map) -> Result<(), R::Error> {
        self.rescuer.look(map)
    }
}
