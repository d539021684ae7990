//! Samples against what can be counted.

use super::Footprint;
use crate::predict::samples::{caps, random};
use crate::predict::subject::{Load, Shape};

/// A request of b blocks at grain g crosses a chunk of s with probability (b-g)/s.
#[test]
fn crossings_of_a_stripe() {
    for (blocks, grain) in [(8, 8), (16, 8), (64, 8), (64, 1), (128, 8)] {
        let volume = caps(4, Shape::Striped { chunk: 128 });
        let load = Load {
            reads: 1000,
            blocks,
            grain,
            ..random(&volume, 1)
        };
        let footprint = Footprint::of(&volume, &load);
        let crossing = (blocks - grain) as f64 / 128.0;
        assert!(
            (footprint.width[1] - crossing).abs() < 0.05,
            "{blocks} {grain}"
        );
        let visits: f64 = footprint.visits.iter().sum();
        assert!((visits - 1.0 - crossing).abs() < 0.05);
    }
}
