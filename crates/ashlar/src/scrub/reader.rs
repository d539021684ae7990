//! Reads runs of several legs at the same time, and block by block what fails.
//!
//! ```text
//!   ask window 2 ─▸ all its runs are under way ─▸ take window 1: wait for what of it is still out
//! ```

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use block::{Buffer, BufferPool, Completion, Device, Driver, Info, Queue, Range, Request};

use super::window::RUN_MAX;
use crate::{Error, Kind, Result};

/// What fails is asked for again in blocks of this, or of the disk's own if these are larger.
const BLOCK: u64 = 4096;
/// Blocks of a leg that fail until it is not asked any more: a disk that is dying, or gone.
const BAD_MAX: u64 = 1024;
/// How long the disks are waited for at a time.
const LOOK: Duration = Duration::from_millis(200);
/// Memory that is kept when nobody uses it.
const POOL_MAX: usize = 32 << 20;
/// Bits of a tag that say which run of a batch it is.
const RUN_BITS: u32 = 24;

/// Reads legs.
pub(super) struct Reader {
    driver: Driver,
    legs: Vec<Option<(Info, Box<dyn Queue>)>>,
    pool: BufferPool,
    batches: VecDeque<Batch>,
    next: u64,
    done: Vec<Completion>,
    /// Blocks of each leg that failed.
    bad: Vec<u64>,
}

/// Runs that were asked for together.
struct Batch {
    id: u64,
    runs: Vec<Asked>,
    out: usize,
}

struct Asked {
    leg: usize,
    wanted: Range,
    /// The same in whole blocks.
    whole: Range,
    answer: Option<block::Result<Buffer>>,
}

/// What a run of a leg holds.
pub(super) struct Run {
    /// Its bytes; what lies in `bad` means nothing.
    bytes: Buffer,
    /// Where they begin on the leg.
    start: u64,
    /// What cannot be read, in order, in bytes of the leg.
    pub(super) bad: Vec<Range>,
}

impl Run {
    /// The bytes of `range` of the leg.
    pub(super) fn bytes(&self, range: Range) -> &[u8] {
        assert!(range.start() >= self.start, "they are in the run");
        let from = (range.start() - self.start) as usize;
        &self.bytes[from..from + range.len() as usize]
    }
}

impl Reader {
    /// One for these legs, by their numbers.
    pub(super) fn new(legs: &[Option<Arc<dyn Device>>]) -> Result<Self> {
        let driver = Driver::new().map_err(|error| cannot(&error))?;
        let open = |leg: &Option<Arc<dyn Device>>| {
            let Some(device) = leg else {
                return Ok(None);
            };
            let queue = device.open_queue(&driver).map_err(|error| cannot(&error))?;
            Ok(Some((device.info(), queue)))
        };
        Ok(Self {
            legs: legs.iter().map(open).collect::<Result<_>>()?,
            driver,
            pool: BufferPool::new(POOL_MAX),
            batches: VecDeque::new(),
            next: 0,
            done: Vec::new(),
            bad: vec![0; legs.len()],
        })
    }

    /// Whether a leg fails so often that it is not asked any more.
    pub(super) fn is_given_up(&self, leg: usize) -> bool {
        self.bad[leg] >= BAD_MAX
    }

    /// Begins to read runs of legs; gives what to [`Reader::take`] them by.
    pub(super) fn ask(&mut self, runs: &[(usize, Range)]) -> u64 {
        assert!(runs.len() < 1 << RUN_BITS, "a run has a number in its tag");
        let id = self.next;
        self.next += 1;
        let mut batch = Batch {
            id,
            runs: Vec::with_capacity(runs.len()),
            out: runs.len(),
        };
        for (number, (leg, wanted)) in runs.iter().enumerate() {
            let (info, queue) = self.legs[*leg].as_mut().expect("legs that are there");
            let whole = widened(*wanted, info);
            let buffer = self.pool.get(whole.len() as usize);
            let tag = id << RUN_BITS | number as u64;
            queue.submit(Request::read(tag, whole.start(), buffer));
            batch.runs.push(Asked {
                leg: *leg,
                wanted: *wanted,
                whole,
                answer: None,
            });
        }
        self.batches.push_back(batch);
        id
    }

    /// What the runs hold that were asked for as `id`, in their order. `look` is called every now
    /// and then meanwhile, and may end it.
    pub(super) fn take<E: From<Error>>(
        &mut self,
        id: u64,
        look: &mut dyn FnMut() -> std::result::Result<(), E>,
    ) -> std::result::Result<Vec<Run>, E> {
        let runs = self.wait(id, look)?;
        let mut taken = Vec::with_capacity(runs.len());
        for run in runs {
            let answer = run.answer.expect("all were answered");
            taken.push(match answer {
                Ok(bytes) => Run {
                    bytes,
                    start: run.whole.start(),
                    bad: Vec::new(),
                },
                Err(_) => self.again(run.leg, run.wanted, look)?,
            });
        }
        Ok(taken)
    }

    /// A run that failed, block by block.
    fn again<E: From<Error>>(
        &mut self,
        leg: usize,
        wanted: Range,
        look: &mut dyn FnMut() -> std::result::Result<(), E>,
    ) -> std::result::Result<Run, E> {
        let (info, _) = self.legs[leg].as_ref().expect("it was asked");
        let (info, block) = (info.clone(), BLOCK.max(u64::from(info.logical_block)));
        let whole = widened(wanted, &info);
        let mut run = Run {
            bytes: Buffer::zeroed(whole.len() as usize),
            start: whole.start(),
            bad: Vec::new(),
        };
        let mut at = whole.start();
        while at < whole.end() {
            let end = whole.end().min(at - at % block + block);
            let piece = Range::new(at, end - at);
            at = end;
            let bytes = if self.is_given_up(leg) {
                None
            } else {
                let id = self.ask(&[(leg, piece)]);
                let answer = self.wait(id, look)?.pop().expect("one was asked for");
                answer.answer.expect("it was answered").ok()
            };
            if let Some(bytes) = bytes {
                let from = (piece.start() - whole.start()) as usize;
                run.bytes[from..from + bytes.len()].copy_from_slice(&bytes);
                continue;
            }
            self.bad[leg] += 1;
            match run
                .bad
                .last_mut()
                .filter(|last| last.end() == piece.start())
            {
                Some(last) => *last = Range::new(last.start(), last.len() + piece.len()),
                None => run.bad.push(piece),
            }
        }
        assert!(run.bytes.len() as u64 >= wanted.len(), "all of it is there");
        Ok(run)
    }

    /// The runs that were asked for as `id`, when all are answered.
    fn wait<E: From<Error>>(
        &mut self,
        id: u64,
        look: &mut dyn FnMut() -> std::result::Result<(), E>,
    ) -> std::result::Result<Vec<Asked>, E> {
        loop {
            self.poll();
            let place = self.batches.iter().position(|batch| batch.id == id);
            let place = place.expect("it was asked for, and not taken");
            if self.batches[place].out == 0 {
                let batch = self.batches.remove(place).expect("it is there");
                return Ok(batch.runs);
            }
            look()?;
            let waited = self.driver.wait(&mut [], Some(LOOK));
            waited.map_err(|error| cannot(&error))?;
        }
    }

    fn poll(&mut self) {
        for (_, queue) in self.legs.iter_mut().flatten() {
            queue.poll(&mut self.done);
        }
        for answer in self.done.drain(..) {
            let (id, run) = (answer.tag >> RUN_BITS, answer.tag & ((1 << RUN_BITS) - 1));
            let mut batches = self.batches.iter_mut();
            let batch = batches.find(|batch| batch.id == id);
            let batch = batch.expect("an answer belongs to a batch");
            let asked = &mut batch.runs[run as usize];
            assert!(asked.answer.is_none(), "each is answered once");
            asked.answer = Some(answer.result.map(|()| answer.buffer));
            batch.out -= 1;
        }
    }
}

/// The whole blocks of a device that a range touches.
fn widened(range: Range, info: &Info) -> Range {
    let block = u64::from(info.logical_block);
    let start = range.start() - range.start() % block;
    let end = range.end().next_multiple_of(block);
    assert!(end <= info.size, "legs are as long as what is read of them");
    let widened = Range::new(start, end - start);
    assert!(widened.len() <= RUN_MAX + 2 * block, "a run stays short");
    widened
}

fn cannot(error: &block::Error) -> Error {
    Error::new(Kind::Device, "cannot read the legs").because(error.clone())
}
