//! Somebody who writes a volume over NBD without a pause, and remembers what was answered.
//!
//! The volume is written block by block, again and again, each time with another pattern. What was
//! answered last for each block is what must be there afterwards.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use block::nbd_client::NbdDevice;
use block::{BlockingDevice, Device};

use crate::args::Error;
use crate::demo::interrupt::Interrupt;

/// Bytes of a block.
pub(super) const BLOCK: usize = 64 << 10;
/// How long an answer may take, on a machine that has much else to do.
const ANSWER_MAX: Duration = Duration::from_mins(1);
const PERIOD: Duration = Duration::from_millis(5);

/// A writer on a thread of its own. Dropped, it ends after the block that it writes.
pub(super) struct Load {
    stop: Arc<AtomicBool>,
    count: Arc<AtomicU64>,
    thread: Option<JoinHandle<block::Result<Written>>>,
}

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
        let (stop, count) = <(Arc<AtomicBool>, Arc<AtomicU64>)>::default();
        let (told, counted) = (Arc::clone(&stop), Arc::clone(&count));
        let thread = std::thread::Builder::new()
            .name("load".to_owned())
            .spawn(move || write(&device, &told, &counted))
            .map_err(|error| Error::failed("Cannot start a thread").because(error))?;
        let thread = Some(thread);
        Ok(Self {
            stop,
            count,
            thread,
        })
    }

    /// Waits until `more` blocks were answered after this.
    pub(super) fn wait(&self, more: u64, interrupt: &Interrupt) -> Result<(), Error> {
        let wanted = self.count.load(Ordering::Relaxed) + more;
        let deadline = Instant::now() + ANSWER_MAX;
        while self.count.load(Ordering::Relaxed) < wanted {
            interrupt.check()?;
            let ended = self.thread.as_ref().is_none_or(JoinHandle::is_finished);
            if ended || Instant::now() >= deadline {
                return Err(Error::failed("The volume's server answers no more writes"));
            }
            std::thread::sleep(PERIOD);
        }
        Ok(())
    }

    /// Ends, with a flush.
    pub(super) fn end(mut self) -> Result<Written, Error> {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take().expect("it ends once");
        let written = thread.join();
        let written = written.map_err(|_| Error::failed("The writer ended early"))?;
        written.map_err(|error| failed(&error))
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
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

fn write(device: &dyn Device, stop: &AtomicBool, count: &AtomicU64) -> block::Result<Written> {
    let blocks = (device.info().size / BLOCK as u64) as usize;
    let mut io = BlockingDevice::open(device)?;
    let mut written = Written {
        seeds: vec![0; blocks],
        count: 0,
        slowest: Duration::ZERO,
    };
    let mut buffer = vec![0; BLOCK];
    for (number, seed) in (0..blocks).cycle().zip(1_u64..) {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let start = (number * BLOCK) as u64;
        pattern(seed, start, &mut buffer);
        let began = Instant::now();
        io.write_at(&buffer, start)?;
        written.slowest = written.slowest.max(began.elapsed());
        written.seeds[number] = seed;
        written.count += 1;
        count.store(written.count, Ordering::Relaxed);
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
