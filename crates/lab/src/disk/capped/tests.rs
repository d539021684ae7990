//! Caps against closed forms.

use super::{Cap, Capped};
use crate::disk::drive::{Command, Model, Operation};
use crate::error::Kind;

const CAP: Cap = Cap {
    blocks: 1_000_000,
    operations: Some(600),
    bytes: None,
    burst_ns: 0,
    latency_ns: 0,
};

fn read(tag: u64, count: u32) -> Command {
    Command {
        tag,
        operation: Operation::Read,
        start: 0,
        count,
    }
}

/// Answers `total` reads with `depth` outstanding; when the last was done.
fn closed_loop(mut volume: Capped, depth: u64, total: u64, count: u32) -> u64 {
    for tag in 0..depth {
        volume.submit(0, read(tag, count));
    }
    let mut now = 0;
    for tag in depth..depth + total {
        now = volume.wake().expect("something is outstanding");
        while volume.answer(now).is_none() {}
        volume.submit(now, read(tag, count));
    }
    now
}

/// 600 operations per second are exactly that, at any depth: nothing is lost by rounding.
#[test]
fn a_constant_server_is_exact() {
    for depth in [1, 7, 107] {
        let volume = Capped::new(CAP).unwrap();
        assert_eq!(closed_loop(volume, depth, 600 * 60, 32), 60_000_000_000);
    }
}

/// Of two limits the tighter one counts.
#[test]
fn the_tighter_limit_counts() {
    let cap = Cap {
        bytes: Some(16 << 20),
        ..CAP
    };
    let small = closed_loop(Capped::new(cap).unwrap(), 4, 6000, 8);
    assert_eq!(
        small, 10_000_000_000,
        "600 reads of 4 KiB are below 16 MiB/s"
    );
    let large = closed_loop(Capped::new(cap).unwrap(), 4, 1600, 2048);
    assert_eq!(large, 100_000_000_000, "16 reads of 1 MiB a second");
}

/// Unused time is saved up to the burst.
#[test]
fn bursts_are_limited() {
    let mut volume = Capped::new(Cap {
        burst_ns: 100_000_000,
        ..CAP
    })
    .unwrap();
    let start = 10_000_000_000;
    for tag in 0..600 {
        volume.submit(start, read(tag, 8));
    }
    let mut at_once = 0;
    let mut last = 0;
    while let Some(wake) = volume.wake() {
        while let Some(answer) = volume.answer(wake) {
            at_once += u32::from(answer.at_ns == start);
            last = answer.at_ns;
        }
    }
    assert_eq!(at_once, 60, "a tenth of a second's worth");
    assert_eq!(last, start + 900_000_000);
}

#[test]
fn a_volume_that_may_do_nothing_is_refused() {
    let error = Capped::new(Cap {
        operations: Some(0),
        ..CAP
    })
    .unwrap_err();
    assert_eq!(error.kind(), Kind::Impossible);
}
