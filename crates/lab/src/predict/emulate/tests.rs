//! The loop against what can be worked out by hand.

use super::run;
use crate::disk::capped::Cap;
use crate::predict::subject::{Arrivals, Disk, Load, Medium, Pattern, Piece, Shape, Volume};

fn caps(count: usize, shape: Shape) -> Volume {
    let cap = Cap {
        blocks: 1 << 20,
        operations: Some(600),
        bytes: None,
        burst_ns: 0,
        latency_ns: 0,
    };
    let disk = Disk {
        medium: Medium::Capped(cap),
        link: None,
    };
    Volume {
        disks: vec![disk; count],
        pieces: (0..count)
            .map(|disk| Piece {
                disk,
                start: 0,
                blocks: 1 << 20,
            })
            .collect(),
        shape,
    }
}

fn load(volume: &Volume, depth: usize) -> Load {
    Load {
        pattern: Pattern::Random {
            hot_share: 0,
            hot_blocks: 0,
        },
        region_start: 0,
        region_blocks: volume.blocks(),
        reads: 500,
        blocks: 8,
        grain: 8,
        arrivals: Arrivals::Closed { depth },
        warm_up: 4000,
        counted: 20_000,
    }
}

/// Six disks of 600 operations a second with 640 outstanding give nearly six times one of them.
#[test]
fn stripes_add_up() {
    let one = caps(1, Shape::Linear);
    let outcome = run(&one, &load(&one, 16), 1).unwrap();
    assert!((outcome.per_second - 600.0).abs() < 1.0);
    assert!((outcome.response_ns - 16e9 / 600.0).abs() < 1e6);
    let six = caps(6, Shape::Striped { chunk: 128 });
    let outcome = run(&six, &load(&six, 640), 1).unwrap();
    assert!((3400.0..3602.0).contains(&outcome.per_second));
}

/// An open load is answered as it comes; constant service waits half as long as exponential.
#[test]
fn poisson_waits() {
    let one = caps(1, Shape::Linear);
    let mut load = load(&one, 1);
    load.arrivals = Arrivals::Poisson { gap_ns: 3_333_333 };
    load.counted = 100_000;
    let outcome = run(&one, &load, 1).unwrap();
    assert!((outcome.per_second - 300.0).abs() < 3.0);
    // M/D/1 at half load: S (1 + rho / (2 (1 - rho))).
    let expected = 1e9 / 600.0 * 1.5;
    assert!((outcome.response_ns / expected - 1.0).abs() < 0.03);
}
