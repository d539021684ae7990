//! Timed reads of a disk, and how to keep its cache out of the way.

use std::thread::sleep;
use std::time::Duration;

use block::clock::Clock;
use block::sim::Random;
use block::{BlockingDevice, Device, Driver};

use crate::error::{Error, Kind, Result};

const BLOCK: u64 = 512;
/// Tries to read a block from the medium, each after the cache was filled with other places.
const TRIES: usize = 4;
/// Blocks that other reads keep away from what is measured.
const DISTANCE: u64 = 1 << 16;

/// A timed read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timed {
    pub(super) begin_ns: u64,
    pub(super) end_ns: u64,
}

impl Timed {
    pub(super) fn took_ns(self) -> u64 {
        self.end_ns - self.begin_ns
    }
}

/// A disk that is timed.
#[derive(Debug)]
pub(super) struct Probe {
    device: BlockingDevice,
    clock: Clock,
    random: Random,
    blocks: u64,
    buffer: Vec<u8>,
    /// Answers this fast come from the cache.
    pub(super) hit_max_ns: u64,
    /// Reads of other places after which the cache has forgotten a place.
    pub(super) forget: usize,
    pub(super) requests: u64,
}

impl Probe {
    pub(super) fn open(device: &dyn Device, clock: Clock, seed: u64) -> Result<Self> {
        let opened = Driver::new().and_then(|driver| BlockingDevice::open_on(device, &driver));
        let device = opened.map_err(|error| failed("opening it", &error))?;
        let blocks = device.info().size / BLOCK;
        if device.info().logical_block > BLOCK as u32 {
            let what = "its blocks are larger than 512 bytes, which calibration does not time";
            return Err(Error::new(Kind::Unsupported, what));
        }
        if blocks < 16 * DISTANCE {
            let what = "the disk is too small to be calibrated: it needs 512 MiB";
            return Err(Error::new(Kind::Unsupported, what));
        }
        Ok(Self {
            device,
            clock,
            random: Random::new(seed),
            blocks,
            buffer: Vec::new(),
            hit_max_ns: 0,
            forget: 0,
            requests: 0,
        })
    }

    pub(super) fn blocks(&self) -> u64 {
        self.blocks
    }

    pub(super) fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// A number below `limit`.
    pub(super) fn draw(&mut self, limit: u64) -> u64 {
        self.random.below(limit)
    }

    /// A place whose next `DISTANCE` blocks exist.
    pub(super) fn somewhere(&mut self) -> u64 {
        let limit = self.blocks - DISTANCE;
        self.draw(limit)
    }

    pub(super) fn idle(&self, time_ns: u64) {
        match &self.clock {
            Clock::Real(_) => sleep(Duration::from_nanos(time_ns)),
            Clock::Virtual(_) => self.clock.advance_to(self.clock.now_ns() + time_ns),
        }
    }

    pub(super) fn read(&mut self, start: u64, count: u64) -> Result<Timed> {
        self.requests += 1;
        self.buffer.resize((count * BLOCK) as usize, 0);
        let begin_ns = self.clock.now_ns();
        let read = self.device.read_at(&mut self.buffer, start * BLOCK);
        let end_ns = self.clock.now_ns();
        read.map_err(|error| failed("reading it", &error))?;
        Ok(Timed { begin_ns, end_ns })
    }

    /// Writes a block with what it holds, and times that.
    pub(super) fn rewrite(&mut self, start: u64) -> Result<Timed> {
        self.read(start, 1)?;
        self.requests += 1;
        let begin_ns = self.clock.now_ns();
        let wrote = self.device.write_at(&self.buffer, start * BLOCK);
        let end_ns = self.clock.now_ns();
        wrote.map_err(|error| failed("writing it", &error))?;
        Ok(Timed { begin_ns, end_ns })
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.device
            .flush()
            .map_err(|error| failed("flushing it", &error))
    }

    /// Reads other places until the cache has forgotten all that was read before.
    pub(super) fn clear_cache(&mut self, near: u64) -> Result<()> {
        for _ in 0..self.forget {
            let mut other = self.somewhere();
            while other.abs_diff(near) < DISTANCE {
                other = self.somewhere();
            }
            self.read(other, 1)?;
        }
        Ok(())
    }

    /// Reads a block from the medium.
    pub(super) fn medium(&mut self, start: u64) -> Result<Timed> {
        for _ in 0..TRIES {
            let timed = self.read(start, 1)?;
            if timed.took_ns() > self.hit_max_ns {
                return Ok(timed);
            }
            self.clear_cache(start)?;
        }
        let what = format!("block {start} is answered from a cache whatever else is read");
        Err(Error::new(Kind::Unsupported, what))
    }

    /// The time from the end of `first`, read from the medium, to the end of `second`, which is
    /// asked for at once and comes from the medium too.
    pub(super) fn pair(&mut self, first: u64, second: u64) -> Result<u64> {
        for _ in 0..TRIES {
            let before = self.medium(first)?;
            let timed = self.read(second, 1)?;
            if timed.took_ns() > self.hit_max_ns {
                return Ok(timed.end_ns - before.end_ns);
            }
            self.clear_cache(second)?;
        }
        let what = format!("block {second} is answered from a cache whatever else is read");
        Err(Error::new(Kind::Unsupported, what))
    }
}

fn failed(what: &str, error: &block::Error) -> Error {
    Error::io(what, std::io::Error::other(error.to_string()))
}
