//! A file through FUSE in steady state allocates nothing per request, and memory can be locked.
//!
//! A binary of its own, because it counts every allocation of the process.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use ashlar_export::fuse::{Access, FuseFile, Options};
use ashlar_export::oom::{Outcome, protect};
use block::memory::MemoryDevice;
use rustix::fs::{FallocateFlags, fallocate};

use ashlar_testkit::Counting;

#[global_allocator]
static COUNTING: Counting = Counting::new();

const SIZE: u64 = 4 << 20;
/// Clients at the same time.
const CLIENTS: u64 = 4;
/// Windows of requests that are counted, and how many each client sends in one.
const WINDOWS: usize = 12;
const ROUNDS: u64 = 40;

/// Reads, whole and partial writes (which wait for each other), punches and flushes.
fn round(file: &File, client: u64, number: u64, bytes: &mut [u8]) {
    let at = number * 7919 % 200 * 4096;
    match number % 6 {
        0 => file.read_exact_at(&mut bytes[..4096], at).unwrap(),
        1 => file.write_all_at(&bytes[..4096], at).unwrap(),
        // All clients change the same block.
        2 => file
            .write_all_at(&bytes[..100], 512 + client * 100)
            .unwrap(),
        3 => file.write_all_at(bytes, at).unwrap(),
        4 => {
            let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            fallocate(file, punch, at, 64 << 10).unwrap();
        }
        _ => file.sync_data().unwrap(),
    }
}

/// Requests of all kinds, from several clients at once, allocate nothing once the buffers are
/// warm; with all memory locked, where the system lets the test lock it.
#[test]
fn steady_state_allocates_nothing() {
    let protection = protect();
    assert_eq!(
        protection.warning().is_none(),
        protection.memory_locked == Outcome::Done
    );
    let path = std::env::temp_dir().join(format!("ashlar-fuse-alloc-{}", std::process::id()));
    File::create(&path).unwrap();
    let device = Arc::new(MemoryDevice::new("memory", SIZE));
    let options = Options {
        access: Access::ReadWrite,
        threads: 2,
    };
    let served = FuseFile::serve(device, &path, &options).unwrap();
    let barrier = std::sync::Barrier::new(CLIENTS as usize + 1);
    let mut windows = Vec::with_capacity(WINDOWS);
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (barrier, path) = (&barrier, &path);
            scope.spawn(move || {
                let file = OpenOptions::new()
                    .read(true)
                    .write(true)
                    .open(path)
                    .unwrap();
                let mut bytes = vec![client as u8; 600 << 10];
                for _ in 0..WINDOWS {
                    barrier.wait();
                    for number in 0..ROUNDS {
                        round(&file, client, number, &mut bytes);
                    }
                    barrier.wait();
                }
            });
        }
        for _ in 0..WINDOWS {
            let before = COUNTING.allocations();
            barrier.wait();
            barrier.wait();
            windows.push(COUNTING.allocations() - before);
        }
    });
    served.stop().unwrap();
    std::fs::remove_file(&path).unwrap();
    // The greatest number of buffers in use at once may come late, but not again and again.
    let requests = CLIENTS * ROUNDS;
    let quiet = windows[2..].iter().filter(|&&count| count == 0).count();
    assert!(
        quiet >= 3,
        "allocations in windows of {requests} requests: {windows:?}"
    );
}
