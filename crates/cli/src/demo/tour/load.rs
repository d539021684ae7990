//! Somebody who writes a volume over NBD without a pause, and remembers what was answered.
//!
//! The volume is written block by block, again and again, each time with another pattern. What was
//! answered last for each block is what must be there afterwards.

use std::time::{Duration, Instant};

use block::{BlockingDevice, Device};
use nbd::client::NbdDevice;

use super::background::{Background, Progress};
use crate::args::Error;
use crate::demo::interrupt::Interrupt;

/// Bytes of a block.
pub(super) const BLOCK: usize = 64 << 10;

/// A writer on a thread of its own. Dropped, it ends after the block that it writes.
pub(super) struct Load(Background<block::Result<Written>>);

/// What was written and answered.
pub(super) struct Written {
    /// The seed of each block's pattern.
    seeds: Vec<u64>,
    /// How many blocks were written, some of them more than once.
    pub(super) count: u64,
    /// The longest that one took.
    pub(super) slowest: Duration,
}

impl Load {
    /// Writes the whole of what is behind `uri`.
    pub(super) fn start(uri: &str) -> Result<Self, Error> {
        let device = NbdDevice::open(uri).map_err(|error| failed(&error))?;
        Background::start("load", move |progress| write(&device, progress)).map(Self)
    }

    /// Waits until `more` blocks were answered after this.
    pub(super) fn wait(&self, more: u64, interrupt: &Interrupt) -> Result<(), Error> {
        let stalled = "The volume's server answers no more writes";
        self.0.wait(more, stalled, interrupt)
    }

    /// Ends, with a flush.
    pub(super) fn end(mut self) -> Result<Written, Error> {
        let written = self.0.end().expect("it ends once")?;
        written.map_err(|error| failed(&error))
    }
}

impl Written {
    /// Fails unless `device` holds what was answered.
    pub(super) fn compare(&self, device: &dyn Device, name: &str) -> Result<(), Error> {
        let mut io = BlockingDevice::open(device).map_err(|error| failed(&error))?;
        let (mut found, mut wanted) = (vec![0; BLOCK], vec![0; BLOCK]);
        for (number, seed) in self
            .seeds
            .iter()
            .enumerate()
            .filter(|(_, seed)| **seed != 0)
        {
            let start = (number * BLOCK) as u64;
            io.read_at(&mut found, start)
                .map_err(|error| failed(&error))?;
            pattern(*seed, start, &mut wanted);
            if found != wanted {
                return Err(Error::failed(format!(
                    "{name} lost an answered write, at byte {start}; please report this"
                )));
            }
        }
        Ok(())
    }
}

fn write(device: &dyn Device, progress: &Progress) -> block::Result<Written> {
    let blocks = (device.info().size / BLOCK as u64) as usize;
    let mut io = BlockingDevice::open(device)?;
    let mut written = Written {
        seeds: vec![0; blocks],
        count: 0,
        slowest: Duration::ZERO,
    };
    let mut buffer = vec![0; BLOCK];
    for (number, seed) in (0..blocks).cycle().zip(1_u64..) {
        if progress.is_stopped() {
            break;
        }
        let start = (number * BLOCK) as u64;
        pattern(seed, start, &mut buffer);
        let began = Instant::now();
        io.write_at(&buffer, start)?;
        written.slowest = written.slowest.max(began.elapsed());
        written.seeds[number] = seed;
        written.count += 1;
        progress.done(written.count);
    }
    io.flush()?;
    Ok(written)
}

/// Fills `bytes` with what belongs at byte `start` under `seed`.
pub(super) fn pattern(seed: u64, start: u64, bytes: &mut [u8]) {
    for (word, at) in bytes.chunks_mut(8).zip((start..).step_by(8)) {
        let mixed = (seed << 40 ^ at ^ 0x5bd1_e995).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = mixed ^ mixed >> 32;
        word.copy_from_slice(&mixed.to_le_bytes()[..word.len()]);
    }
}

fn failed(error: &block::Error) -> Error {
    Error::failed(error.to_string())
}
