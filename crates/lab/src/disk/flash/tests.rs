//! Flash against closed forms.

use super::{Flash, FlashProfile};
use crate::disk::drive::{Command, Model, Operation, Served};

const US: u64 = 1000;

const PROFILE: FlashProfile = FlashProfile {
    blocks: 1 << 24,
    page_blocks: 8,
    units: 16,
    read_ns: 50 * US,
    program_ns: 400 * US,
    erase_ns: 2000 * US,
    erase_pages: 100,
    amplification_thousandths: 1000,
    cache_pages: 64,
    overhead_ns: 10 * US,
    block_ns: 100,
};

fn command(tag: u64, operation: Operation, page: u64) -> Command {
    Command {
        tag,
        operation,
        start: page * 8,
        count: 8,
    }
}

fn page(tag: u64) -> u64 {
    tag.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 43
}

/// Operations per second with `depth` outstanding.
fn rate(profile: FlashProfile, operation: Operation, depth: u64, total: u64) -> f64 {
    let mut flash = Flash::new(profile).unwrap();
    for tag in 0..depth {
        flash.submit(0, command(tag, operation, page(tag)));
    }
    let mut now = 0;
    for tag in depth..depth + total {
        now = flash.wake().expect("something is outstanding");
        while flash.answer(now).is_none() {}
        flash.submit(now, command(tag, operation, page(tag)));
    }
    total as f64 * 1e9 / now as f64
}

fn near(value: f64, wanted: f64, share: f64) {
    assert!(
        (value / wanted - 1.0).abs() < share,
        "{value}, not {wanted}"
    );
}

/// One read is overhead, page and transfer; one write is overhead and transfer.
#[test]
fn single_commands_are_sums() {
    let one = |operation| {
        let mut flash = Flash::new(PROFILE).unwrap();
        flash.submit(0, command(0, operation, 5));
        flash.wake().unwrap()
    };
    assert_eq!(one(Operation::Read), 60_800);
    assert_eq!(one(Operation::Write), 10_800);
    assert_eq!(one(Operation::WriteThrough), 410_800);
}

/// Random reads use all units when there are enough of them, one when there is one.
#[test]
fn reads_scale_with_the_queue() {
    near(
        rate(PROFILE, Operation::Read, 1, 2000),
        1e9 / 60_800.0,
        0.001,
    );
    let deep = rate(PROFILE, Operation::Read, 256, 40_000);
    near(deep, 16.0 * 1e9 / 50_000.0, 0.1);
}

/// Sustained writes are what the units can program, clean and erase.
#[test]
fn writes_end_at_the_medium() {
    let fresh = rate(PROFILE, Operation::Write, 64, 40_000);
    near(fresh, 16.0 * 1e9 / (400_000.0 + 2_000_000.0 / 100.0), 0.15);
    let worn = FlashProfile {
        amplification_thousandths: 3000,
        ..PROFILE
    };
    near(rate(worn, Operation::Write, 64, 40_000), fresh / 3.0, 0.05);
}

/// What is in the cache is read from there; a flush waits for all programs.
#[test]
fn the_cache_holds_what_is_not_programmed() {
    let mut flash = Flash::new(PROFILE).unwrap();
    flash.submit(0, command(1, Operation::Write, 3));
    flash.submit(20 * US, command(2, Operation::Read, 3));
    flash.submit(20 * US, command(3, Operation::Flush, 0));
    let mut served = Vec::new();
    while let Some(wake) = flash.wake() {
        while let Some(answer) = flash.answer(wake) {
            served.push((answer.tag, answer.at_ns, answer.served()));
        }
    }
    assert_eq!(served[0], (1, 10_800, Served::Cache));
    assert_eq!(served[1], (2, 30_800, Served::Cache));
    assert_eq!(served[2], (3, 410_800, Served::Medium));
}

#[test]
fn impossible_disks_are_refused() {
    for profile in [
        FlashProfile {
            units: 0,
            ..PROFILE
        },
        FlashProfile {
            page_blocks: 0,
            ..PROFILE
        },
        FlashProfile {
            amplification_thousandths: 999,
            ..PROFILE
        },
    ] {
        assert!(Flash::new(profile).is_err());
    }
}
