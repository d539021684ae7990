//! A drive that always has the same number of random requests.

use std::time::Instant;

use ashlar_lab::disk::drive::{Command, Drive, Operation};
use ashlar_lab::disk::profile::{Profile, Scheduler};
use ashlar_lab::disk::rotation::Angle;
use ashlar_lab::error::Result;

/// Keeps `depth` random requests of 8 blocks outstanding, half of them writes, until `count` are
/// answered; emulated and wall seconds.
pub(crate) fn run(
    profile: &Profile,
    scheduler: Scheduler,
    depth: usize,
    count: u64,
) -> Result<(f64, f64)> {
    let mut profile = profile.clone();
    profile.queue.scheduler = scheduler;
    profile.queue.depth = depth;
    let mut drive = Drive::new(profile, Angle::default())?;
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
    Ok((now_ns as f64 / 1e9, begin.elapsed().as_secs_f64()))
}
