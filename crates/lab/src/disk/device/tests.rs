//! The device: content, order and time.

use block::clock::Clock;
use block::{BlockingDevice, Buffer, Device, Driver, Durability, Request};

use super::DiskDevice;
use crate::disk::catalog;
use crate::disk::drive::Drive;
use crate::disk::rotation::Angle;

fn device(clock: &Clock) -> DiskDevice {
    let drive = Drive::new(catalog::hp97560(), Angle::default()).unwrap();
    DiskDevice::new("disk", drive, clock.clone())
}

/// What is written is read again, and virtual time passes as a disk needs it.
#[test]
fn bytes_come_back_and_time_passes() {
    let clock = Clock::virtual_time();
    let device = device(&clock);
    let mut blocking = BlockingDevice::open(&device).unwrap();
    let bytes: Vec<u8> = (0..8192_u32).map(|index| (index % 251) as u8).collect();
    blocking.write_at(&bytes, 1 << 20).unwrap();
    blocking.flush().unwrap();
    let written_ns = clock.now_ns();
    assert!(
        (5_000_000..60_000_000).contains(&written_ns),
        "{written_ns} ns for one write"
    );
    let mut read = vec![0; 8192];
    blocking.read_at(&mut read, 1 << 20).unwrap();
    assert_eq!(read, bytes);
    let last = device.info().size - 4096;
    blocking.read_at(&mut read[..4096], last).unwrap();
    assert!(read[..4096].iter().all(|byte| *byte == 0));
    assert!(
        clock.now_ns() > written_ns + 10_000_000,
        "a seek to the inner edge"
    );
    assert_eq!(device.lateness().max_ns, 0, "virtual time is never late");
}

/// Two disks on one clock answer in the order of their times, twice the same.
#[test]
fn disks_share_a_clock() {
    let run = || {
        let clock = Clock::virtual_time();
        let driver = Driver::new().unwrap();
        let disks = [device(&clock), device(&clock)];
        let mut queues: Vec<_> = disks
            .iter()
            .map(|disk| disk.open_queue(&driver).unwrap())
            .collect();
        for index in 0..20_u64 {
            let queue = &mut queues[(index % 2) as usize];
            let start = (index * 7_919 % 300_000) * 4096;
            match index % 3 {
                0 => queue.submit(Request::read(index, start, Buffer::zeroed(4096))),
                1 => queue.submit(Request::write(
                    index,
                    start,
                    Durability::Fua,
                    Buffer::zeroed(4096),
                )),
                _ => queue.submit(Request::flush(index)),
            }
        }
        let mut order = Vec::new();
        let mut done = Vec::new();
        while queues.iter().any(|queue| queue.in_flight() > 0) {
            for queue in &mut queues {
                queue.poll(&mut done);
                for completion in done.drain(..) {
                    completion.result.unwrap();
                    order.push((clock.now_ns(), completion.tag));
                }
            }
        }
        order
    };
    let order = run();
    assert_eq!(order.len(), 20);
    assert!(
        order.windows(2).all(|pair| pair[0].0 <= pair[1].0),
        "time does not go back"
    );
    assert_eq!(order, run());
}

/// A queue that is closed with requests in flight takes nothing down with it.
#[test]
fn closing_a_queue_leaves_the_disk_usable() {
    let clock = Clock::virtual_time();
    let disk = device(&clock);
    let driver = Driver::new().unwrap();
    let mut queue = disk.open_queue(&driver).unwrap();
    let bytes = Buffer::copy_of(&[7; 4096]);
    queue.submit(Request::write(1, 8192, Durability::Volatile, bytes));
    drop(queue);
    let mut blocking = BlockingDevice::open(&disk).unwrap();
    let mut read = vec![0; 4096];
    blocking.read_at(&mut read, 8192).unwrap();
    assert!(read.iter().all(|byte| *byte == 7));
}
