//! Server and client in steady state allocate nothing per request.
//!
//! A binary of its own, because it counts every allocation of the process.

use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::time::Duration;

use ashlar_nbd::client::{Address, NbdDevice};
use ashlar_nbd::server::{Access, Export, Exports, Server};
use block::memory::MemoryDevice;
use block::{BufferPool, Device, Driver, Durability, Operation, Range, Request, Unmap};

use ashlar_testkit::Counting;

#[global_allocator]
static COUNTING: Counting = Counting::new();

/// Short and long reads and writes, zeros, discards and flushes through a socket and back allocate
/// nothing once each has been done.
#[test]
fn steady_state_allocates_nothing() {
    let exports = Exports::new();
    let export = Export {
        name: "memory".to_owned(),
        description: String::new(),
        access: Access::ReadWrite,
        device: Arc::new(MemoryDevice::new("memory", 8 << 20)),
    };
    exports.add(export).expect("a new name");
    let server = Server::new(exports).expect("a server");
    let path = std::env::temp_dir().join(format!("ashlar-allocation-{}", std::process::id()));
    let listener = UnixListener::bind(&path).expect("a socket");
    let accepting = std::thread::spawn(move || listener.accept().expect("a client").0);
    let connecting = std::thread::spawn({
        let path = path.clone();
        move || NbdDevice::connect(Address::unix(path, "memory")).expect("a connection")
    });
    server
        .serve(accepting.join().expect("accepted").into())
        .expect("served");
    let device = connecting.join().expect("connected");
    std::fs::remove_file(path).expect("the socket is there");

    let driver = Driver::new().expect("a driver opens");
    let mut queue = device.open_queue(&driver).expect("a queue opens");
    let pool = BufferPool::new(64 << 20);
    let mut done = Vec::with_capacity(64);
    let mut round = |depth: u64| {
        for tag in 0..depth {
            let start = tag * 7919 % 300 * 4096;
            let long = pool.get(128 << 10);
            let range = Range::new(start, 64 << 10);
            queue.submit(match tag % 8 {
                0..=2 => Request::read(tag, start, pool.get(4096)),
                3 => Request::write(tag, start, Durability::Fua, pool.get(4096)),
                4 => Request::read(tag, start, long),
                5 => Request::write(tag, start, Durability::Volatile, long),
                6 if tag % 16 == 6 => {
                    Request::bare(tag, Operation::WriteZeroes(Unmap::Allowed), range)
                }
                6 => Request::bare(tag, Operation::Discard, range),
                _ => Request::flush(tag),
            });
        }
        loop {
            queue.poll(&mut done);
            if queue.in_flight() == 0 {
                break;
            }
            driver
                .wait(&mut [], Some(Duration::from_secs(10)))
                .expect("answers come");
        }
        assert_eq!(done.len() as u64, depth);
        done.drain(..)
            .for_each(|answer| answer.result.expect("all works"));
    };
    for _ in 0..200 {
        round(64);
        round(1);
    }
    // How many buffers are in use at once depends on how the two threads meet; a new greatest
    // number may come late, but not again and again.
    let before = COUNTING.allocations();
    for _ in 0..400 {
        round(64);
        round(1);
    }
    let count = COUNTING.allocations() - before;
    assert!(count < 30, "{count} allocations for {} requests", 400 * 65);
}
