//! Samples against what can be counted.

use super::Footprint;
use crate::disk::capped::Cap;
use crate::predict::subject::{Arrivals, Disk, Load, Medium, Pattern, Piece, Shape, Volume};

fn striped(count: usize, chunk: u64) -> Volume {
    let cap = Cap {
        blocks: 1 << 20,
        operations: Some(600),
        bytes: None,
        burst_ns: 0,
        latency_ns: 0,
    };
    let medium = Medium::Capped(cap);
    Volume {
        disks: vec![Disk { medium, link: None }; count],
        pieces: (0..count)
            .map(|disk| Piece {
                disk,
                start: 0,
                blocks: 1 << 20,
            })
            .collect(),
        shape: Shape::Striped { chunk },
    }
}

/// A request of b blocks at grain g crosses a chunk of s with probability (b-g)/s.
#[test]
fn crossings_of_a_stripe() {
    for (blocks, grain) in [(8, 8), (16, 8), (64, 8), (64, 1), (128, 8)] {
        let volume = striped(4, 128);
        let load = Load {
            pattern: Pattern::Random {
                hot_share: 0,
                hot_blocks: 0,
            },
            region_start: 0,
            region_blocks: volume.blocks(),
            reads: 1000,
            blocks,
            grain,
            arrivals: Arrivals::Closed { depth: 1 },
            warm_up: 0,
            counted: 1000,
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
