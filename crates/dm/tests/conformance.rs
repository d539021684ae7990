//! The conformance suite over every device that this crate and `block` make.

use std::sync::Arc;
use std::time::Duration;

use ashlar_dm::delay::{Delay, Slowness};
use ashlar_dm::home::Home;
use ashlar_dm::mirror::{LogPlace, Mirror, MirrorConfig, MirrorImage, Sync};
use ashlar_dm::table::{Area, Layout, Piece, Table};
use ashlar_dm::volume::{Access, Volume};
use ashlar_testkit::conformance::{check, check_read_only, check_with_engine};
use block::clock::Clock;
use block::file::{Access as FileAccess, Caching, FileDevice};
use block::memory::MemoryDevice;
use block::partition::PartitionDevice;
use block::sim::{Disk, Faults, Image, SimDevice};
use block::trace::{Trace, Traced};
use block::{Device, Driver, EngineKind, Range};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

fn disk(name: &str) -> Arc<dyn Device> {
    let bytes = (0..4 * MIB).map(|at| (at / 512 * 7) as u8).collect();
    Arc::new(MemoryDevice::from_bytes(name, bytes))
}

fn volume(pieces: Vec<Piece>, access: Access) -> Volume {
    let layout = Layout::new("volume", pieces).expect("well formed");
    let table = Table::compile(&layout).expect("compiles");
    Volume::new("volume", access, table)
}

fn legs(count: usize, start: u64) -> Vec<Area> {
    (0..count)
        .map(|leg| Area::device(disk(&format!("leg {leg}")), start))
        .collect()
}

/// Memory keeps the contract.
#[test]
fn memory() {
    check(&MemoryDevice::new("memory", 3 * MIB), 1);
}

/// A simulated disk keeps the contract, in virtual time.
#[test]
fn simulated_disks() {
    let slow = Faults {
        latency_ns: 5_000_000,
        jitter_ns: 3_000_000,
        ..Faults::default()
    };
    let disk = Disk::new("sim", Image::new(3 * MIB), 512, slow, 1);
    check(&SimDevice::new(disk, Clock::virtual_time()), 19);
}

/// A file without a name in `folder`.
fn file(folder: &std::path::Path, caching: Caching) -> FileDevice {
    let thread = std::thread::current().id();
    let path = folder.join(format!("ashlar-{}-{thread:?}", std::process::id()));
    let mut options = std::fs::File::options();
    let file = options.read(true).write(true).create_new(true).open(&path);
    let file = file.expect("a file is made");
    std::fs::remove_file(&path).expect("and has no name");
    file.set_len(3 * MIB).expect("and a length");
    FileDevice::from_fd(file.into(), "file", FileAccess::ReadWrite, caching).expect("and opens")
}

/// Files keep the contract, on a disk, through the page cache, and in memory.
#[test]
fn files() {
    let disk = std::env::temp_dir();
    check(&file(&disk, Caching::Probe), 11);
    check(&file(&disk, Caching::PageCache), 12);
    check(&file("/dev/shm".as_ref(), Caching::Probe), 13);
}

/// A part of a device keeps the contract, and so does a recorded one.
#[test]
fn windows_and_traces() {
    let window = Range::new(MIB + 512, 2 * MIB);
    let part = PartitionDevice::window(disk("whole"), window, "part".into());
    check(&part.expect("it fits"), 14);
    check(&Traced::new(disk("traced"), Trace::new(10)), 15);
}

/// A volume of runs in no order keeps the contract.
#[test]
fn linear() {
    let (a, b) = (disk("a"), disk("b"));
    let pieces = vec![
        Piece::linear(MIB, Arc::clone(&a), 2 * MIB),
        Piece::linear(512, Arc::clone(&b), MIB + 512),
        Piece::linear(MIB + 512, a, 0),
        Piece::linear(MIB, b, 0),
    ];
    check(&volume(pieces, Access::ReadWrite), 2);
}

/// Stripes of any chunk and count keep the contract.
#[test]
fn striped() {
    for (count, chunk) in [
        (2, 64 * KIB),
        (3, 64 * KIB),
        (5, 3 * 512),
        (7, 512),
        (3, 20 * KIB),
    ] {
        let rows = MIB / chunk;
        let pieces = vec![Piece::striped(
            rows * chunk * count,
            chunk,
            legs(count as usize, 512),
        )];
        check(&volume(pieces, Access::ReadWrite), chunk);
    }
}

/// Pieces of different kinds, nested, with different stripes, keep the contract.
#[test]
fn nested() {
    let wide = Piece::striped(3 * MIB, 64 * KIB, legs(3, 0));
    let narrow = Piece::striped(2 * MIB, 4 * KIB, legs(2, MIB));
    let inner = Layout::new("inner", vec![wide, narrow]).expect("well formed");
    let slice = |len, start| Piece::of(len, Area::layout(Arc::clone(&inner), start));
    let areas = vec![
        Area::layout(Arc::clone(&inner), 3 * MIB + 512),
        Area::device(disk("c"), 0),
    ];
    let pieces = vec![
        slice(MIB + 512, 2 * MIB - 1024),
        Piece::linear(512, disk("b"), 512),
        Piece::striped(MIB, 8 * KIB, areas),
        slice(MIB, 512),
    ];
    check(&volume(pieces, Access::ReadWrite), 3);
}

/// A volume over volumes, not flattened, keeps the contract.
#[test]
fn volumes_over_volumes() {
    let inner = |seed: u64| -> Arc<dyn Device> {
        let pieces = vec![Piece::striped(2 * MIB, seed * 512, legs(2, 0))];
        Arc::new(volume(pieces, Access::ReadWrite))
    };
    let areas = vec![Area::device(inner(4), 0), Area::device(inner(8), 0)];
    let pieces = vec![Piece::striped(3 * MIB, 16 * KIB, areas)];
    check(&volume(pieces, Access::ReadWrite), 4);
}

/// Zeros read as zeros and are not written.
#[test]
fn zeros() {
    let pieces = vec![Piece::zero(MIB)];
    check_read_only(&volume(pieces, Access::ReadOnly), 5);
    let pieces = vec![Piece::linear(MIB, disk("a"), 0), Piece::zero(MIB)];
    check_read_only(&volume(pieces, Access::ReadWrite), 6);
}

/// A volume that may not be written says so.
#[test]
fn read_only() {
    let pieces = vec![Piece::striped(3 * MIB, 64 * KIB, legs(3, 0))];
    check_read_only(&volume(pieces, Access::ReadOnly), 7);
}

/// A machine in its home keeps the contract, also when its answers come late and in volumes.
#[test]
fn delay() {
    let limit = Duration::from_secs(10);
    let latency = Duration::from_micros(200);
    let slow = Slowness {
        read: latency,
        write: latency,
        flush: latency,
        bytes_per_second: Some(200 << 20),
    };
    for slowness in [Slowness::default(), slow] {
        let machine = Delay::new("delay", slowness);
        let home = Home::start("delay", machine, vec![disk("a")], limit).expect("starts");
        let face = home.face(0).expect("its only one");
        check(&face, 8);
        let areas = vec![
            Area::device(Arc::new(face), MIB),
            Area::device(disk("b"), 0),
        ];
        let pieces = vec![Piece::striped(2 * MIB, 64 * KIB, areas)];
        check(&volume(pieces, Access::ReadWrite), 9);
    }
}

/// The engines that this machine has; containers may forbid `io_uring`.
fn engines() -> Vec<EngineKind> {
    let mut engines = vec![EngineKind::Threads, EngineKind::Uring];
    engines.retain(|engine| Driver::with_engine(*engine).is_ok());
    engines
}

/// Files, and a striped volume over files, keep the contract through each engine.
#[test]
fn engines_over_files() {
    let disk = std::env::temp_dir();
    for engine in engines() {
        check_with_engine(&file(&disk, Caching::Probe), engine, 16);
        check_with_engine(&file(&disk, Caching::PageCache), engine, 17);
        let legs = [0; 3].map(|_| Area::device(Arc::new(file(&disk, Caching::Probe)), MIB));
        let pieces = vec![Piece::striped(3 * 640 * KIB, 20 * KIB, legs.to_vec())];
        check_with_engine(&volume(pieces, Access::ReadWrite), engine, 18);
    }
}

/// Mirrors of two and three legs keep the contract, with either log, while they are copied.
#[test]
fn mirrors() {
    let limit = Duration::from_secs(10);
    for (count, log, sync) in [
        (2, LogPlace::Disk(2), Sync::AsLogged),
        (3, LogPlace::Disk(3), Sync::Assumed),
        (1, LogPlace::Core, Sync::Full),
        (2, LogPlace::Core, Sync::AsLogged),
    ] {
        let devices: Vec<Arc<dyn Device>> = (0..=count).map(|_| disk("leg")).collect();
        let infos: Vec<_> = devices.iter().map(|device| device.info()).collect();
        let legs = (0..count)
            .map(|leg| MirrorImage::present(leg as u64, leg))
            .collect();
        let mut config = MirrorConfig::new("mirror", 3 * MIB, 64 * KIB, legs);
        (config.log, config.sync) = (log, sync);
        config.clean_after = Duration::from_millis(1);
        let machine = Mirror::new(config, &infos).expect("well formed");
        let home = Home::start("mirror", machine, devices, limit).expect("starts");
        let face = home.face(0).expect("its only one");
        check(&face, 20 + count as u64);
    }
}
