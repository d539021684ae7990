//! The passes over a device, for a copy that takes pieces in any order.

use std::collections::VecDeque;

use super::blocks::{Blocks, block_of};
use super::map::{Map, Status};
use super::walk::Walk;
use super::{Direction, Options, Rescuer};
use crate::stream::{Course, Got, Part, follow, parts};
use crate::{Device, Piece, Range};

/// What is skipped behind the first read that fails, in bytes; twice as much behind the next one.
const SKIP_MIN: u64 = 1 << 20;
/// The most that is skipped, in bytes, and as a share of the device.
const SKIP_MAX: u64 = 1 << 30;
const SKIP_SHARE: u64 = 100;

/// Whether a pass skips something behind reads that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Skipping {
    Yes,
    No,
}

/// Reads what of `device` the map does not call finished, as far as it can be read. Ends with the
/// first error of the rescuer, and with those of the device that are not about its medium.
pub fn salvage<R: Rescuer>(
    device: &dyn Device,
    map: &mut Map,
    options: Options<'_>,
    rescuer: &mut R,
) -> Result<(), R::Error> {
    assert_eq!(map.size(), device.info().size, "the map is the device's");
    map.align(u64::from(device.info().logical_block));
    let there = options.direction;
    let passes = [
        (there, Skipping::Yes),
        (there.turned(), Skipping::Yes),
        (there, Skipping::No),
    ];
    for (number, (direction, skipping)) in (1..).zip(passes) {
        (map.phase, map.pass) = (Status::NonTried, number);
        let mut copying = Copying {
            walk: Walk::new(map, Status::NonTried, direction),
            device,
            map: &mut *map,
            rescuer: &mut *rescuer,
            options,
            direction,
            skipping,
            parts: VecDeque::new(),
            skip: SKIP_MIN,
            skip_to: None,
            is_failing: false,
        };
        follow(device, &mut copying)?;
    }
    let mut blocks = Blocks::open(device, options)?;
    each(map, Status::NonTrimmed, there, 1, options, |map, range| {
        blocks.trim(map, rescuer, range)
    })?;
    each(map, Status::NonScraped, there, 1, options, |map, range| {
        blocks.scrape(map, rescuer, range, there)
    })?;
    let mut direction = there;
    for pass in 1..=options.retries() {
        each(map, Status::Bad, direction, pass, options, |map, range| {
            blocks.scrape(map, rescuer, range, direction)
        })?;
        direction = direction.turned();
    }
    (map.phase, map.pass, map.position) = (Status::Finished, 1, 0);
    rescuer.look(map)
}

/// Does something with each range of a status.
fn each<E>(
    map: &mut Map,
    status: Status,
    direction: Direction,
    pass: u32,
    options: Options<'_>,
    mut work: impl FnMut(&mut Map, Range) -> Result<(), E>,
) -> Result<(), E> {
    (map.phase, map.pass) = (status, pass);
    let mut walk = Walk::new(map, status, direction);
    while let Some(range) = walk.next(map, &options) {
        work(map, range)?;
    }
    Ok(())
}

/// A pass of large reads.
struct Copying<'a, R> {
    device: &'a dyn Device,
    map: &'a mut Map,
    rescuer: &'a mut R,
    options: Options<'a>,
    direction: Direction,
    skipping: Skipping,
    walk: Walk,
    /// What is to be read of the range that the walk came to.
    parts: VecDeque<Part>,
    /// How much the next failure skips.
    skip: u64,
    /// What begins before it (or, in reverse, ends behind it) is not read now.
    skip_to: Option<u64>,
    /// Whether the last read failed.
    is_failing: bool,
}

impl<R> Copying<'_, R> {
    fn is_skipped(&self, part: Range) -> bool {
        match (self.skip_to, self.direction) {
            (None, _) => false,
            (Some(to), Direction::Forward) => part.start() < to,
            (Some(to), Direction::Reverse) => part.end() > to,
        }
    }

    fn skip_behind(&mut self, failed: Range) {
        if self.skipping == Skipping::No {
            return;
        }
        let to = match self.direction {
            Direction::Forward => failed.end().saturating_add(self.skip),
            Direction::Reverse => failed.start().saturating_sub(self.skip),
        };
        let most = (self.map.size() / SKIP_SHARE).clamp(SKIP_MIN, SKIP_MAX);
        self.skip = (self.skip * 2).min(most);
        debug_assert!(
            (SKIP_MIN..=SKIP_MAX).contains(&self.skip),
            "skips have limits"
        );
        debug_assert!(
            to <= failed.start() || to >= failed.end(),
            "what failed is behind"
        );
        self.skip_to = Some(to);
        self.walk.jump(to);
    }
}

impl<R: Rescuer> Course for Copying<'_, R> {
    type Error = R::Error;

    fn next_part(&mut self) -> Result<Option<Part>, R::Error> {
        loop {
            let part = match self.direction {
                Direction::Forward => self.parts.pop_front(),
                Direction::Reverse => self.parts.pop_back(),
            };
            match part {
                Some(Part::Data(range)) if self.is_skipped(range) => {}
                Some(part) => return Ok(Some(part)),
                None => match self.walk.next(self.map, &self.options) {
                    Some(range) => self.parts = parts(self.device, range),
                    None => return Ok(None),
                },
            }
        }
    }

    fn take(&mut self, range: Range, got: Got<'_>) -> Result<(), R::Error> {
        self.map.position = range.start();
        match got {
            Got::Data(bytes) => {
                self.rescuer.store(range.start(), Piece::Data(bytes))?;
                self.map.set(range, Status::Finished);
                (self.is_failing, self.skip) = (false, SKIP_MIN);
            }
            Got::Zeroes => {
                let zeroes = Piece::Zeroes(range.len());
                self.rescuer.store(range.start(), zeroes)?;
                self.map.set(range, Status::Finished);
            }
            Got::Failed(error) => {
                self.options.bear(error)?;
                let status = if range.len() <= block_of(self.device) {
                    Status::Bad
                } else {
                    Status::NonTrimmed
                };
                self.map.set(range, status);
                self.is_failing = true;
                self.skip_behind(range);
            }
        }
        Ok(())
    }

    fn look(&mut self) -> Result<(), R::Error> {
        self.rescuer.look(self.map)
    }

    fn is_failing(&self) -> bool {
        self.is_failing
    }
}
