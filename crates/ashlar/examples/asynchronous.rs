//! Reads a volume from a program that must not block: `asynchronous VG LV DISK …`.
//!
//! A thread has the volume and blocks; others send it work and go on. What comes back is a channel
//! here, and would be a future's waker where there is a runtime.

use std::error::Error;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use block::{BlockingDevice, Range};

/// What is read, and where the answer goes.
type Job = (Range, Sender<block::Result<Vec<u8>>>);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [group, name, disks @ ..] = arguments.as_slice() else {
        return Err("usage: asynchronous VG LV DISK …".into());
    };
    let volume = ashlar::open(disks)?.group(group)?.volume(name)?;
    let device = volume.device().clone();
    let (jobs, work) = channel::<Job>();
    let worker = thread::spawn(move || {
        let mut device = BlockingDevice::open(&*device)?;
        for (range, answer) in work {
            // Nobody waits for it where the other end is gone.
            let _ = answer.send(device.read(range));
        }
        Ok::<(), block::Error>(())
    });

    let answers: Vec<Receiver<_>> = (0..volume.size() / MIB)
        .map(|number| {
            let (answer, received) = channel();
            // Where the worker is gone, so is the other end of `answer`.
            let _ = jobs.send((Range::new(number * MIB, MIB), answer));
            received
        })
        .collect();
    let mut empty = 0;
    for answer in answers {
        empty += u64::from(answer.recv()??.iter().all(|byte| *byte == 0));
    }
    println!("{empty} MiB of zeros");
    drop(jobs);
    worker.join().map_err(|_| "the worker panicked")??;
    Ok(())
}

/// Bytes that one job reads.
const MIB: u64 = 1 << 20;
