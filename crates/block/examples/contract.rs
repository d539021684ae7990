//! What three shapes of the device contract cost: the measurement behind decision 0001.
//!
//! 4 KiB random reads at queue depth 1 and 32, over a file (direct I/O) and over memory:
//! the queue that was chosen, on both engines; a blocking trait with a thread per request in
//! flight; and futures over the same queue. Rounds are interleaved; the median counts.
//!
//! `cargo run --release -p block --example contract [ROUNDS]`

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use ashlar_block::file::{Access, Caching, FileDevice};
use ashlar_block::memory::MemoryDevice;
use ashlar_block::{
    Buffer, BufferPool, Completion, Device, Driver, EngineKind, Queue, Request, Result,
};

const FILE_BYTES: u64 = 256 << 20;
const MEMORY_BYTES: u64 = 64 << 20;
const READ: usize = 4096;
const ROUND: Duration = Duration::from_millis(400);

/// Offsets that look random and are the same in each run.
struct Offsets {
    state: u64,
    blocks: u64,
}

impl Offsets {
    fn new(seed: u64, bytes: u64) -> Self {
        Self {
            state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            blocks: bytes / READ as u64,
        }
    }

    fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state % self.blocks * READ as u64
    }
}

/// The chosen shape: submit, poll, wait; one thread. Returns the number of reads.
fn queue(device: &dyn Device, driver: &Driver, depth: usize) -> u64 {
    let mut queue = device.open_queue(driver).expect("a queue opens");
    let pool = BufferPool::new(depth * READ);
    let mut offsets = Offsets::new(1, device.info().size);
    let mut done: Vec<Completion> = Vec::new();
    let (begin, mut count) = (Instant::now(), 0);
    loop {
        let over = begin.elapsed() > ROUND;
        while !over && queue.in_flight() < depth {
            queue.submit(Request::read(0, offsets.next(), pool.get(READ)));
        }
        queue.poll(&mut done);
        for answer in done.drain(..) {
            answer.result.expect("reads work");
            count += 1;
        }
        match queue.in_flight() {
            0 if over => return count,
            0 => {}
            _ => driver.wait(&mut [], None).expect("waits"),
        }
    }
}

/// The second shape: a call returns when it is done, so each request in flight has a thread.
trait Blocking: Sync {
    fn read_at(&self, into: &mut [u8], start: u64) -> std::io::Result<()>;
    fn size(&self) -> u64;
}

impl Blocking for File {
    fn read_at(&self, into: &mut [u8], start: u64) -> std::io::Result<()> {
        self.read_exact_at(into, start)
    }

    fn size(&self) -> u64 {
        FILE_BYTES
    }
}

/// Memory behind the same lock as [`MemoryDevice`].
struct Memory(std::sync::RwLock<Vec<u8>>);

impl Blocking for Memory {
    fn read_at(&self, into: &mut [u8], start: u64) -> std::io::Result<()> {
        let content = self.0.read().expect("nobody panics");
        into.copy_from_slice(&content[start as usize..][..into.len()]);
        Ok(())
    }

    fn size(&self) -> u64 {
        MEMORY_BYTES
    }
}

fn blocking(device: &dyn Blocking, depth: usize) -> u64 {
    let count = AtomicU64::new(0);
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for seed in 0..depth {
            let count = &count;
            scope.spawn(move || {
                let mut offsets = Offsets::new(seed as u64 + 1, device.size());
                let mut buffer = Buffer::zeroed(READ);
                while begin.elapsed() < ROUND {
                    device
                        .read_at(&mut buffer, offsets.next())
                        .expect("reads work");
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    count.into_inner()
}

type Reading<'a> = Pin<Box<dyn Future<Output = (Result<()>, Buffer)> + 'a>>;

/// The third shape: a call returns a future, boxed because devices are chosen at run time.
trait Asynchronous {
    fn read_at(&self, into: Buffer, start: u64, task: u64) -> Reading<'_>;
}

/// Futures over the chosen queue; one answer slot per task.
struct Futures {
    queue: RefCell<Box<dyn Queue>>,
    answers: RefCell<Vec<Option<Completion>>>,
}

impl Asynchronous for Futures {
    fn read_at(&self, into: Buffer, start: u64, task: u64) -> Reading<'_> {
        Box::pin(async move {
            self.queue
                .borrow_mut()
                .submit(Request::read(task, start, into));
            std::future::poll_fn(|_| {
                let answer = self.answers.borrow_mut()[task as usize].take();
                answer.map_or(Poll::Pending, |answer| {
                    Poll::Ready((answer.result, answer.buffer))
                })
            })
            .await
        })
    }
}

fn futures(device: &dyn Device, driver: &Driver, depth: usize) -> u64 {
    let reads = Futures {
        queue: RefCell::new(device.open_queue(driver).expect("a queue opens")),
        answers: RefCell::new((0..depth).map(|_| None).collect()),
    };
    let reader: &dyn Asynchronous = &reads;
    let (begin, count) = (Instant::now(), Rc::new(RefCell::new(0)));
    let mut tasks: Vec<Pin<Box<dyn Future<Output = ()> + '_>>> = Vec::new();
    for task in 0..depth as u64 {
        let count = Rc::clone(&count);
        let mut offsets = Offsets::new(task + 1, device.info().size);
        tasks.push(Box::pin(async move {
            let mut buffer = Buffer::zeroed(READ);
            while begin.elapsed() < ROUND {
                let (result, back) = reader.read_at(buffer, offsets.next(), task).await;
                result.expect("reads work");
                buffer = back;
                *count.borrow_mut() += 1;
            }
        }));
    }
    let mut ready: VecDeque<usize> = (0..depth).collect();
    let (mut running, mut done) = (depth, Vec::new());
    while running > 0 {
        while let Some(task) = ready.pop_front() {
            let mut context = Context::from_waker(Waker::noop());
            running -= usize::from(tasks[task].as_mut().poll(&mut context).is_ready());
        }
        reads.queue.borrow_mut().poll(&mut done);
        if done.is_empty() && running > 0 {
            driver.wait(&mut [], None).expect("waits");
        }
        for answer in done.drain(..) {
            let task = answer.tag as usize;
            reads.answers.borrow_mut()[task] = Some(answer);
            ready.push_back(task);
        }
    }
    *count.borrow()
}

/// Processor time of this process.
fn processor() -> Duration {
    // SAFETY: all zeros is a valid rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live rusage.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    let time = |part: libc::timeval| {
        Duration::from_secs(part.tv_sec as u64) + Duration::from_micros(part.tv_usec as u64)
    };
    time(usage.ru_utime) + time(usage.ru_stime)
}

/// A name, and a round at a depth that returns the number of reads.
type Case<'a> = (String, Box<dyn Fn(usize) -> u64 + 'a>);

fn main() {
    let rounds: usize = std::env::args()
        .nth(1)
        .map_or(7, |text| text.parse().expect("a number"));
    let path = std::env::temp_dir().join(format!("ashlar-contract-{}", std::process::id()));
    let mut options = File::options();
    let file = options
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)
        .expect("a file");
    std::fs::remove_file(&path).expect("it has a name");
    for at in (0..FILE_BYTES).step_by(1 << 20) {
        file.write_all_at(&vec![at as u8 | 1; 1 << 20], at)
            .expect("space");
    }
    file.sync_all().expect("it is written");
    let direct = file.try_clone().expect("a descriptor");
    let device = FileDevice::from_fd(file.into(), "file", Access::ReadWrite, Caching::Probe);
    let device: Arc<dyn Device> = Arc::new(device.expect("it opens"));
    let memory: Arc<dyn Device> = Arc::new(MemoryDevice::new("memory", MEMORY_BYTES));
    let plain = Memory(vec![0; MEMORY_BYTES as usize].into());

    let mut drivers = vec![Driver::with_engine(EngineKind::Threads).expect("threads")];
    drivers.extend(Driver::with_engine(EngineKind::Uring));
    let best = drivers.last().expect("threads at least");
    let mut cases: Vec<Case> = Vec::new();
    for driver in &drivers {
        let device = &*device;
        let kind = driver.engine_kind().expect("it is set up");
        let run = move |depth| queue(device, driver, depth);
        cases.push((format!("file    queue, {kind:?}"), Box::new(run)));
    }
    let run = |depth| blocking(&direct, depth);
    cases.push(("file    blocking, thread each".into(), Box::new(run)));
    let run = |depth| futures(&*device, best, depth);
    cases.push(("file    futures".into(), Box::new(run)));
    let run = |depth| queue(&*memory, best, depth);
    cases.push(("memory  queue".into(), Box::new(run)));
    let run = |depth| blocking(&plain, depth);
    cases.push(("memory  blocking, thread each".into(), Box::new(run)));
    let run = |depth| futures(&*memory, best, depth);
    cases.push(("memory  futures".into(), Box::new(run)));
    report(&cases, rounds);
}

fn report(cases: &[Case], rounds: usize) {
    println!(
        "{:<32} {:>5} {:>10} {:>12}",
        "", "depth", "reads/s", "CPU us/read"
    );
    for depth in [1, 32] {
        let mut rates = vec![Vec::new(); cases.len()];
        let mut costs = vec![Vec::new(); cases.len()];
        for _ in 0..rounds {
            for (index, (_, run)) in cases.iter().enumerate() {
                let (begin, before) = (Instant::now(), processor());
                let count = run(depth) as f64;
                rates[index].push(count / begin.elapsed().as_secs_f64());
                costs[index].push(processor().saturating_sub(before).as_secs_f64() * 1e6 / count);
            }
        }
        for (index, (name, _)) in cases.iter().enumerate() {
            let median = |values: &mut Vec<f64>| {
                values.sort_by(f64::total_cmp);
                values[values.len() / 2]
            };
            let (rate, cost) = (median(&mut rates[index]), median(&mut costs[index]));
            println!("{name:<32} {depth:>5} {rate:>10.0} {cost:>12.2}");
        }
    }
}
