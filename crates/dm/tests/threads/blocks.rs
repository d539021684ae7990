//! Blocks that say which version they are, and threads that write and judge them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use block::{Buffer, Completion, Device, Driver, Durability, Queue, Request, Result};

/// Bytes of a block.
pub(crate) const BLOCK: u64 = 512;
/// How long answers may take.
const LIMIT: Duration = Duration::from_secs(10);
/// Requests in flight of one thread.
const DEPTH: usize = 4;

/// What is known of all blocks.
pub(crate) struct Blocks {
    each: Vec<Block>,
    /// The block that was written last.
    front: AtomicU64,
}

#[derive(Default)]
struct Block {
    /// The last version that was asked for, and answered.
    issued: AtomicU64,
    answered: AtomicU64,
    /// The last one that was read at all. A read may have begun before the write did, and have met
    /// it on an image that is not read first.
    met: AtomicU64,
    /// The last one that was read by who began when it had been read: on the image that is read
    /// first, as long as images differ.
    seen: AtomicU64,
}

impl Blocks {
    /// All of them are of version 0, which is zeros.
    pub(crate) fn new(count: u64) -> Self {
        Self {
            each: (0..count).map(|_| Block::default()).collect(),
            front: AtomicU64::new(0),
        }
    }

    /// Whether each block holds the last version that was answered, or a later one.
    pub(crate) fn judge_all(&self, bytes: &[u8]) {
        for (number, block) in self.each.iter().enumerate() {
            let at = number * BLOCK as usize;
            let version = decode(number as u64, &bytes[at..at + BLOCK as usize]);
            let (from, to) = (get(&block.answered), get(&block.issued));
            let holds = (from..=to).contains(&version);
            assert!(holds, "block {number} holds {version}, not {from} to {to}");
        }
    }
}

fn get(version: &AtomicU64) -> u64 {
    version.load(Ordering::SeqCst)
}

/// Fills a block.
fn encode(number: u64, version: u64, bytes: &mut [u8]) {
    for words in bytes.chunks_mut(16) {
        words[..8].copy_from_slice(&(number + 1).to_le_bytes());
        words[8..].copy_from_slice(&version.to_le_bytes());
    }
}

/// The version of a block, all of which must be of one.
fn decode(number: u64, bytes: &[u8]) -> u64 {
    if bytes.iter().all(|byte| *byte == 0) {
        return 0;
    }
    let version = u64::from_le_bytes(bytes[8..16].try_into().expect("8 bytes"));
    let mut right = vec![0; bytes.len()];
    encode(number, version, &mut right);
    assert!(right == bytes, "block {number} is torn, or another one");
    version
}

/// A thread that writes some blocks and reads all.
pub(crate) struct Writer<'a> {
    driver: Driver,
    queue: Box<dyn Queue>,
    blocks: &'a Blocks,
    /// Which thread, of how many.
    share: (u64, u64),
    open: BTreeMap<u64, Asked>,
    tag: u64,
    random: u64,
    /// Whether it writes its blocks in order, and which is next.
    next: Option<u64>,
    done: Vec<Completion>,
}

enum Asked {
    Write {
        number: u64,
        version: u64,
    },
    Read {
        number: u64,
        answered: u64,
        met: u64,
        seen: u64,
    },
    Flush,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(
        device: &dyn Device,
        blocks: &'a Blocks,
        (thread, threads): (usize, usize),
    ) -> Self {
        let driver = Driver::new().expect("a driver opens");
        Self {
            queue: device.open_queue(&driver).expect("a queue opens"),
            driver,
            blocks,
            share: (thread as u64, threads as u64),
            open: BTreeMap::new(),
            tag: 0,
            random: 0x1234_5678_9abc_def1 + thread as u64 * 0x1_0001,
            next: None,
            done: Vec::new(),
        }
    }

    /// It writes its blocks one after the other.
    pub(crate) fn in_order(mut self) -> Self {
        self.next = Some(0);
        self
    }

    fn random(&mut self, below: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % below
    }

    /// Asks for `count` things.
    pub(crate) fn begin(&mut self, count: usize) {
        for _ in 0..count {
            self.tag += 1;
            let request = match self.random(16) {
                0 => {
                    self.open.insert(self.tag, Asked::Flush);
                    Request::flush(self.tag)
                }
                1..=7 => self.read(),
                _ => self.write(),
            };
            self.queue.submit(request);
        }
    }

    fn read(&mut self) -> Request {
        let number = self.random(self.blocks.each.len() as u64);
        let block = &self.blocks.each[number as usize];
        let asked = Asked::Read {
            number,
            answered: get(&block.answered),
            met: get(&block.met),
            seen: get(&block.seen),
        };
        self.open.insert(self.tag, asked);
        Request::read(self.tag, number * BLOCK, Buffer::zeroed(BLOCK as usize))
    }

    fn write(&mut self) -> Request {
        let (thread, threads) = self.share;
        let count = self.blocks.each.len() as u64 / threads;
        let own = match &mut self.next {
            Some(next) => {
                *next += 1;
                *next % count
            }
            None => self.random(count),
        };
        let number = own * threads + thread;
        let is_written =
            |asked: &Asked| matches!(asked, Asked::Write { number: other, .. } if *other == number);
        if self.open.values().any(is_written) {
            return self.read();
        }
        self.blocks.front.store(number, Ordering::SeqCst);
        let block = &self.blocks.each[number as usize];
        let version = block.issued.fetch_add(1, Ordering::SeqCst) + 1;
        let mut buffer = Buffer::zeroed(BLOCK as usize);
        encode(number, version, &mut buffer);
        self.open.insert(self.tag, Asked::Write { number, version });
        let durability = match self.random(8) {
            0 => Durability::Fua,
            _ => Durability::Volatile,
        };
        Request::write(self.tag, number * BLOCK, durability, buffer)
    }

    /// Takes the answers that are there, and judges nothing.
    pub(crate) fn poll_once(&mut self) {
        self.queue.poll(&mut self.done);
        self.done.clear();
    }

    fn judge(&mut self, answer: &Completion, is_monotone: bool) {
        let asked = self.open.remove(&answer.tag).expect("it was asked");
        if let Err(error) = &answer.result {
            panic!("a request fails: {error}");
        }
        match asked {
            Asked::Write { number, version } => {
                let block = &self.blocks.each[number as usize];
                block.answered.fetch_max(version, Ordering::SeqCst);
            }
            Asked::Read {
                number,
                answered,
                met,
                seen,
            } => {
                let block = &self.blocks.each[number as usize];
                let version = decode(number, &answer.buffer);
                let from = if is_monotone {
                    answered.max(seen)
                } else {
                    answered
                };
                let to = get(&block.issued);
                let holds = (from..=to).contains(&version);
                assert!(holds, "block {number} holds {version}, not {from} to {to}");
                block.met.fetch_max(version, Ordering::SeqCst);
                if version <= met {
                    block.seen.fetch_max(version, Ordering::SeqCst);
                }
            }
            Asked::Flush => {}
        }
    }

    /// Writes, reads and judges until it is told to stop.
    pub(crate) fn work(&mut self, stop: &AtomicBool, is_monotone: bool) {
        let mut stopped: Option<Instant> = None;
        while !stop.load(Ordering::SeqCst) || !self.open.is_empty() {
            if stop.load(Ordering::SeqCst) {
                let since = stopped.get_or_insert_with(Instant::now).elapsed();
                assert!(since < LIMIT, "requests are not answered");
            } else {
                self.begin(DEPTH.saturating_sub(self.open.len()));
            }
            self.queue.poll(&mut self.done);
            for answer in std::mem::take(&mut self.done) {
                self.judge(&answer, is_monotone);
            }
            if !self.open.is_empty() {
                let limit = Some(Duration::from_millis(100));
                self.driver.wait(&mut [], limit).expect("waiting works");
            }
        }
    }
}

/// Reads a snapshot of version 0 before the writers of its origin, until it is told to stop, or a
/// read fails. If its store `dies`, one has to.
pub(crate) fn read_and_judge(
    device: &dyn Device,
    blocks: &Blocks,
    (stop, dies): (&AtomicBool, bool),
    seed: u64,
) -> Result<()> {
    let driver = Driver::new().expect("a driver opens");
    let mut queue = device.open_queue(&driver).expect("a queue opens");
    let mut done: Vec<Completion> = Vec::new();
    let (mut random, count) = (seed, blocks.each.len() as u64);
    let begun = Instant::now();
    while dies || !stop.load(Ordering::SeqCst) {
        assert!(!dies || begun.elapsed() < LIMIT, "no read fails");
        while queue.in_flight() < DEPTH {
            random = (random * 769 + 1) % (1 << 20);
            let number = (get(&blocks.front) + random / 8 % 64) % count;
            let len = (1 + random % 3).min(count - number);
            let buffer = Buffer::zeroed((len * BLOCK) as usize);
            queue.submit(Request::read(number, number * BLOCK, buffer));
        }
        queue.poll(&mut done);
        for answer in done.drain(..) {
            answer.result?;
            let is_old = answer.buffer.iter().all(|byte| *byte == 0);
            assert!(is_old, "block {} is newer than its snapshot", answer.tag);
        }
        let limit = Some(Duration::from_millis(100));
        driver.wait(&mut [], limit).expect("waiting works");
    }
    let stopped = Instant::now();
    while queue.in_flight() > 0 {
        assert!(stopped.elapsed() < LIMIT, "requests are not answered");
        queue.poll(&mut done);
    }
    done.into_iter().try_for_each(|answer| answer.result)
}

/// Runs `threads` of them beside `supervisor`, after which they stop.
pub(crate) fn run(
    threads: usize,
    work: impl Fn(usize, &AtomicBool) + Sync,
    supervisor: impl FnOnce(),
) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (work, stop) = (&work, &stop);
        let all: Vec<_> = (0..threads)
            .map(|thread| scope.spawn(move || work(thread, stop)))
            .collect();
        // Whatever happens, they have to stop.
        let supervised = std::panic::catch_unwind(std::panic::AssertUnwindSafe(supervisor));
        stop.store(true, Ordering::SeqCst);
        for thread in all {
            thread.join().expect("a thread fails");
        }
        if let Err(panic) = supervised {
            std::panic::resume_unwind(panic);
        }
    });
}
