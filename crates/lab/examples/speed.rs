//! Prints how many requests per second of wall time an emulated drive serves, on one core, with
//! 32 outstanding.

use std::time::Instant;

use lab::disk::catalog;
use lab::disk::drive::{Command, Drive, Operation};
use lab::disk::profile::{Profile, Scheduler};
use lab::disk::rotation::Angle;

/// Keeps `depth` random requests of 8 blocks outstanding, half of them writes, until `count` are
/// answered; emulated and wall seconds.
fn run(profile: Profile, depth: usize, count: u64) -> (f64, f64) {
    let mut drive = Drive::new(profile, Angle::default()).expect("a profile of the catalog");
    let blocks = drive.geometry().blocks() - 8;
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut issue = |drive: &mut Drive, now_ns: u64, tag: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let operation = if state & 1 == 0 {
            Operation::Read
        } else {
            Operation::Write
        };
        let start = ((u128::from(state) * u128::from(blocks)) >> 64) as u64;
        drive.submit(
            now_ns,
            Command {
                tag,
                operation,
                start,
                count: 8,
            },
        );
    };
    let begin = Instant::now();
    for tag in 0..depth as u64 {
        issue(&mut drive, 0, tag);
    }
    let (mut answered, mut now_ns) = (0, 0);
    while answered < count {
        now_ns = drive.wake().expect("requests are outstanding");
        while let Some(answer) = drive.answer(now_ns) {
            answered += 1;
            issue(&mut drive, now_ns, answer.tag);
        }
    }
    (now_ns as f64 / 1e9, begin.elapsed().as_secs_f64())
}

fn main() {
    let count = 400_000;
    for profile in catalog::all() {
        for scheduler in [Scheduler::Fcfs, Scheduler::Look, Scheduler::Sptf] {
            let mut profile = profile.clone();
            profile.queue.scheduler = scheduler;
            profile.queue.depth = 32;
            let name = profile.name.clone();
            let (emulated, wall) = run(profile, 32, count);
            println!(
                "{name:30} {scheduler:?}: {:8.0} requests per wall second, {:5.1} emulated IOPS",
                count as f64 / wall,
                count as f64 / emulated
            );
        }
    }
}
