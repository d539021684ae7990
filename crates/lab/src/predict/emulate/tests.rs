//! The loop against what can be worked out by hand.

use super::run;
use crate::predict::samples::{caps, random};
use crate::predict::subject::{Arrivals, Shape};

/// Six disks of 600 operations a second with 640 outstanding give nearly six times one of them.
#[test]
fn stripes_add_up() {
    let one = caps(1, Shape::Linear);
    let outcome = run(&one, &random(&one, 16), 1).unwrap();
    assert!((outcome.per_second - 600.0).abs() < 1.0);
    assert!((outcome.response_ns - 16e9 / 600.0).abs() < 1e6);
    let six = caps(6, Shape::Striped { chunk: 128 });
    let outcome = run(&six, &random(&six, 640), 1).unwrap();
    assert!((3400.0..3602.0).contains(&outcome.per_second));
}

/// An open load is answered as it comes; constant service waits half as long as exponential.
#[test]
fn poisson_waits() {
    let one = caps(1, Shape::Linear);
    let mut load = random(&one, 1);
    load.arrivals = Arrivals::Poisson { gap_ns: 3_333_333 };
    load.counted = 100_000;
    let outcome = run(&one, &load, 1).unwrap();
    assert!((outcome.per_second - 300.0).abs() < 3.0);
    // M/D/1 at half load: S (1 + rho / (2 (1 - rho))).
    let expected = 1e9 / 600.0 * 1.5;
    assert!((outcome.response_ns / expected - 1.0).abs() < 0.03);
}
