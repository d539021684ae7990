//! Requests as fast as they are answered, and what they cost.

use std::fmt;
use std::time::{Duration, Instant};

use block::{BufferPool, Completion, Device, Driver, Durability, Operation, Queue, Range, Request};
use rustix::time::{ClockId, clock_gettime};

/// Bytes of a request.
pub(super) const BLOCK: u64 = 4096;
/// Bytes of whole rows of two, three and four data legs with chunks of 64 KiB.
pub(super) const ROWS: u64 = 768 << 10;
/// How long one measurement takes.
const TURN: Duration = Duration::from_millis(60);

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub(super) operation: Operation,
    /// Bytes of a request.
    pub(super) bytes: u64,
    /// Requests in flight of each thread.
    pub(super) depth: usize,
    pub(super) threads: usize,
}

/// What was found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    rate: f64,
    processor_seconds: f64,
    waits: f64,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {:e} {}",
            self.rate, self.processor_seconds, self.waits
        )
    }
}

/// Asks a device for a turn.
pub(super) fn measure(device: &dyn Device, asked: Asked) -> Found {
    let (processor, waits, start) = (processor_time(), waits(), Instant::now());
    let count = if asked.threads == 1 {
        // On this thread, whose waits are counted with those of all others that stay.
        ask(device, asked, 0)
    } else {
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..asked.threads as u64)
                .map(|thread| scope.spawn(move || ask(device, asked, thread)))
                .collect();
            let counts = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
            counts.map(|count| count.expect("it works")).sum()
        })
    };
    let each = |sum: f64| sum / count as f64;
    let waited = if asked.threads == 1 {
        self::waits() - waits
    } else {
        0
    };
    Found {
        rate: count as f64 / start.elapsed().as_secs_f64(),
        processor_seconds: each(processor_time() - processor),
        waits: each(waited as f64),
    }
}

fn ask(device: &dyn Device, asked: Asked, thread: u64) -> u64 {
    let blocks = device.info().size / asked.bytes;
    let driver = Driver::new().expect("a driver opens");
    let mut queue = device.open_queue(&driver).expect("a queue opens");
    let pool = BufferPool::new(64 << 20);
    let mut done: Vec<Completion> = Vec::new();
    let (mut tag, mut answered) = (thread * 977, 0);
    let end = Instant::now() + TURN;
    while Instant::now() < end || queue.in_flight() > 0 {
        while queue.in_flight() < asked.depth && Instant::now() < end {
            tag += 1;
            let start = place(tag, blocks, asked.bytes);
            queue.submit(match asked.operation {
                Operation::Read => Request::read(tag, start, pool.get(asked.bytes as usize)),
                zero @ Operation::WriteZeroes(_) => {
                    Request::bare(tag, zero, Range::new(start, asked.bytes))
                }
                _ => Request::write(
                    tag,
                    start,
                    Durability::Volatile,
                    pool.get(asked.bytes as usize),
                ),
            });
        }
        queue.poll(&mut done);
        if done.is_empty() && queue.in_flight() > 0 {
            driver.wait(&mut [], None).expect("waiting works");
        }
        answered += done.len() as u64;
        for answer in done.drain(..) {
            answer.result.expect("requests work");
        }
    }
    answered
}

/// Where the request with this number begins: all over the place, the same each time.
pub(super) fn place(number: u64, blocks: u64, bytes: u64) -> u64 {
    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) % blocks * bytes
}

/// Processor time that this process has used, in seconds.
fn processor_time() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// How often the threads that there are have waited.
fn waits() -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task").expect("there is /proc");
    tasks
        .flatten()
        // A thread may end meanwhile.
        .filter_map(|task| std::fs::read_to_string(task.path().join("status")).ok())
        .filter_map(|status| {
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
            line.trim().parse::<u64>().ok()
        })
        .sum()
}
