//! Measures what state costs: a mirror, an origin and a snapshot against a linear volume on the
//! same files, in turn.
//!
//! `cargo run --release -p ashlar-dm --example direct [FOLDER]`. Requests of 4 KiB in random order,
//! at depths 1 and 32, from 1 thread and from 4. For each: the median over the rounds of the rate
//! divided by the linear volume's in the same round, with the quartiles, and the processor time of
//! a request, divided likewise over all rounds. The files lie in FOLDER, or where temporary files
//! do, and are kept in the page cache unless the folder's file system can do without.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ashlar_dm::home::Home;
use ashlar_dm::mirror::{Mirror, MirrorConfig, MirrorImage, Sync};
use ashlar_dm::snapshot::{Origin, OriginConfig, Overflow, SnapshotConfig, Stored};
use ashlar_dm::table::{Area, Layout, Piece, Table};
use ashlar_dm::volume::{Access, Volume};
use block::file::{Access as FileAccess, Caching, FileDevice};
use block::{BufferPool, Completion, Device, Driver, Durability, Operation, Queue, Request};

const MIB: u64 = 1 << 20;
const SIZE: u64 = 64 * MIB;
const BLOCK: u64 = 4096;
const LIMIT: Duration = Duration::from_mins(1);
/// How long a contestant runs in a round.
const TURN: Duration = Duration::from_millis(60);
const ROUNDS: usize = 21;

fn main() {
    let folder = std::env::args_os().nth(1);
    let folder = folder.map_or_else(std::env::temp_dir, PathBuf::from);
    let disks: Vec<Arc<dyn Device>> = (0..4).map(|number| disk(&folder, number)).collect();
    let linear = || volume(Arc::clone(&disks[0]));
    let mirror = mirror(&disks);
    let (origin, snapshot) = origin(&disks);
    let contestants: [(&str, Arc<dyn Device>); 4] = [
        ("linear", linear()),
        ("mirror", mirror),
        ("origin, all copied", origin),
        ("snapshot, half copied", snapshot),
    ];
    println!(
        "{:<24}{:>6}{:>8}{:>8}{:>22}{:>10}",
        "", "depth", "threads", "", "rate ÷ linear's", "CPU ÷"
    );
    for operation in [Operation::Read, Operation::Write] {
        for (depth, threads) in [(1, 1), (32, 1), (1, 4), (32, 4)] {
            compare(&contestants, operation, (depth, threads));
        }
    }
}

fn compare(
    contestants: &[(&str, Arc<dyn Device>)],
    operation: Operation,
    (depth, threads): (usize, usize),
) {
    let mut rates = vec![Vec::new(); contestants.len()];
    let mut processor = vec![(0.0, 0.0); contestants.len()];
    for _ in 0..ROUNDS {
        for (at, (_, device)) in contestants.iter().enumerate() {
            let before = processor_time();
            let start = Instant::now();
            let count = run(device.as_ref(), operation, (depth, threads));
            rates[at].push(count as f64 / start.elapsed().as_secs_f64());
            processor[at].0 += processor_time() - before;
            processor[at].1 += count as f64;
        }
    }
    let each = |(seconds, count): (f64, f64)| seconds / count;
    let word = match operation {
        Operation::Read => "reads",
        _ => "writes",
    };
    for (at, (name, _)) in contestants.iter().enumerate().skip(1) {
        let mut ratios: Vec<f64> = rates[at]
            .iter()
            .zip(&rates[0])
            .map(|(ours, linear)| ours / linear)
            .collect();
        ratios.sort_by(f64::total_cmp);
        let of = |quarters: usize| ratios[(ROUNDS - 1) * quarters / 4];
        let time = each(processor[at]) / each(processor[0]);
        println!(
            "{name:<24}{depth:>6}{threads:>8}{word:>8}{:>8.2} ({:.2} to {:.2}){time:>10.2}",
            of(2),
            of(1),
            of(3)
        );
    }
    let mut linear = rates[0].clone();
    linear.sort_by(f64::total_cmp);
    println!(
        "{:<24}{depth:>6}{threads:>8}{word:>8}{:>8.0} a second, {:.1} µs of processor",
        "linear",
        linear[ROUNDS / 2],
        each(processor[0]) * 1e6
    );
}

/// Seconds of processor time that this process has used, in steps of 10 ms.
fn processor_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("there is /proc");
    let rest = stat.rsplit(')').next().expect("behind the name");
    let ticks = rest.split_whitespace().skip(11).take(2);
    ticks
        .map(|ticks| ticks.parse::<f64>().expect("a number"))
        .sum::<f64>()
        / 100.0
}

/// How many requests were answered in a turn.
fn run(device: &dyn Device, operation: Operation, (depth, threads): (usize, usize)) -> u64 {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads as u64)
            .map(|thread| scope.spawn(move || ask(device, operation, depth, thread)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("it works"))
            .sum()
    })
}

fn ask(device: &dyn Device, operation: Operation, depth: usize, thread: u64) -> u64 {
    let driver = Driver::new().expect("a driver opens");
    let mut queue = device.open_queue(&driver).expect("a queue opens");
    let pool = BufferPool::new(4 << 20);
    let mut done: Vec<Completion> = Vec::new();
    let (mut asked, mut answered) = (thread * 977, 0);
    let end = Instant::now() + TURN;
    while Instant::now() < end || queue.in_flight() > 0 {
        while queue.in_flight() < depth && Instant::now() < end {
            asked += 1;
            let start = asked.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
            let start = start % (SIZE / BLOCK) * BLOCK;
            let buffer = pool.get(BLOCK as usize);
            queue.submit(match operation {
                Operation::Read => Request::read(asked, start, buffer),
                _ => Request::write(asked, start, Durability::Volatile, buffer),
            });
        }
        queue.poll(&mut done);
        if done.is_empty() && queue.in_flight() > 0 {
            driver.wait(&mut [], None).expect("waiting works");
        }
        answered += done.len() as u64;
        done.drain(..)
            .for_each(|answer| answer.result.expect("requests work"));
    }
    answered
}

fn disk(folder: &Path, number: usize) -> Arc<dyn Device> {
    let path = folder.join(format!("ashlar-direct-{}-{number}", std::process::id()));
    let mut options = std::fs::File::options();
    let file = options.read(true).write(true).create_new(true).open(&path);
    let file = file.expect("a file is made");
    std::fs::remove_file(&path).expect("and has no name");
    file.set_len(2 * SIZE).expect("and a length");
    let name = format!("disk {number}");
    let disk = FileDevice::from_fd(file.into(), name, FileAccess::ReadWrite, Caching::Probe);
    let disk: Arc<dyn Device> = Arc::new(disk.expect("and opens"));
    fill(disk.as_ref(), 0, 2 * SIZE, MIB);
    volume(disk)
}

/// Writes a range, so much at a time.
fn fill(device: &dyn Device, start: u64, len: u64, piece: u64) {
    let mut device = block::BlockingDevice::open(device).expect("it opens");
    for at in (start..start + len.min(device.info().size - start)).step_by(piece as usize) {
        device
            .write_at(&vec![7; piece as usize], at)
            .expect("it takes bytes");
    }
}

/// As in a group: each device is a volume.
fn volume(device: Arc<dyn Device>) -> Arc<dyn Device> {
    let size = device.info().size;
    let piece = Piece::of(size, Area::device(device, 0));
    let layout = Layout::new("volume", vec![piece]).expect("well formed");
    let table = Table::compile(&layout).expect("compiles");
    Arc::new(Volume::new("volume", Access::ReadWrite, table))
}

fn mirror(disks: &[Arc<dyn Device>]) -> Arc<dyn Device> {
    let legs = disks[..2].to_vec();
    let infos: Vec<_> = legs.iter().map(|leg| leg.info()).collect();
    let images = (0..2).map(|leg| MirrorImage::present(leg as u64, leg));
    let mut config = MirrorConfig::new("mirror", SIZE, 2 * MIB, images.collect());
    config.sync = Sync::Assumed;
    let mirror = Mirror::new(config, &infos).expect("well formed");
    let home = Home::start("mirror", mirror, legs, LIMIT).expect("it starts");
    volume(Arc::new(home.face(0).expect("there")))
}

fn origin(disks: &[Arc<dyn Device>]) -> (Arc<dyn Device>, Arc<dyn Device>) {
    let legs = [
        Arc::clone(&disks[0]),
        Arc::clone(&disks[2]),
        Arc::clone(&disks[3]),
    ];
    let infos: Vec<_> = legs.iter().map(|leg| leg.info()).collect();
    let snapshot = |id: u64, store: usize| {
        Some(SnapshotConfig {
            id,
            name: format!("snapshot {id}"),
            size: SIZE,
            store,
            store_size: 2 * SIZE,
            chunk: BLOCK,
            stored: Stored::Fresh,
            access: Access::ReadWrite,
            merging: false,
            overflow: Overflow::FailWrite,
            notify_at: None,
        })
    };
    let config = |snapshots| OriginConfig {
        name: "origin".into(),
        size: SIZE,
        origin: 0,
        access: Access::ReadWrite,
        snapshots,
    };
    let start = |snapshots, legs: Vec<Arc<dyn Device>>, infos: &[block::Info]| {
        let origin = Origin::new(config(snapshots), infos).expect("well formed");
        Home::start("origin", origin, legs, LIMIT).expect("it starts")
    };
    // Of one origin all is copied, of the other each second chunk.
    let whole = start(vec![snapshot(1, 1)], legs[..2].to_vec(), &infos[..2]);
    let face = Arc::new(whole.face(0).expect("there"));
    fill(face.as_ref(), 0, SIZE, MIB);
    let half = vec![Arc::clone(&disks[1]), Arc::clone(&disks[3])];
    let half = start(vec![snapshot(2, 1)], half, &infos[..2]);
    let parts = half.face(0).expect("there");
    let mut blocking = block::BlockingDevice::open(&parts).expect("it opens");
    for at in (0..SIZE).step_by(2 * BLOCK as usize) {
        blocking
            .write_at(&[9; BLOCK as usize], at)
            .expect("it is copied");
    }
    (volume(face), volume(Arc::new(half.face(1).expect("there"))))
}
