//! Loads an NBD server with our own batching client:
//! `nbd_load URI read|write SIZE DEPTH SECONDS [seq|random]` prints requests per second.

use std::time::{Duration, Instant};

use block::nbd_client::NbdDevice;
use block::{Buffer, Device, Driver, Durability, Request};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [uri, operation, size, depth, seconds, rest @ ..] = arguments.as_slice() else {
        return Err("usage: nbd_load URI read|write SIZE DEPTH SECONDS [seq|random]".into());
    };
    let (size, depth): (u64, u64) = (size.parse()?, depth.parse()?);
    let sequential = rest.first().is_some_and(|order| order == "seq");
    let device = NbdDevice::open(uri)?;
    let blocks = device.info().size / size;
    if blocks == 0 {
        return Err("the export is smaller than one request".into());
    }
    let driver = Driver::new()?;
    let mut queue = device.open_queue(&driver)?;
    let (mut state, mut next) = (0x9e37_79b9_7f4a_7c15_u64, 0);
    let mut submit = |queue: &mut dyn block::Queue, tag, buffer| {
        let block = if sequential {
            next += 1;
            next % blocks
        } else {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % blocks
        };
        queue.submit(match operation.as_str() {
            "read" => Request::read(tag, block * size, buffer),
            _ => Request::write(tag, block * size, Durability::Volatile, buffer),
        });
    };
    for tag in 0..depth {
        submit(&mut *queue, tag, Buffer::zeroed(usize::try_from(size)?));
    }
    let mut done = Vec::new();
    let mut count = 0;
    let start = Instant::now();
    let end = Duration::from_secs_f64(seconds.parse()?);
    while start.elapsed() < end {
        queue.poll(&mut done);
        if done.is_empty() {
            driver.wait(&mut [], None)?;
        }
        for answer in done.drain(..) {
            answer.result?;
            count += 1;
            submit(&mut *queue, answer.tag, answer.buffer);
        }
    }
    let elapsed = start.elapsed().as_secs_f64();
    let rate = f64::from(count) / elapsed;
    println!("{rate:.0} IOPS {:.0} MiB/s", rate * size as f64 / 1048576.0);
    Ok(())
}
