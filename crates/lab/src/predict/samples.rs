//! Volumes and loads for tests whose answers can be worked out by hand.

use super::subject::{Arrivals, Disk, Load, Medium, Pattern, Piece, Shape, Volume};
use crate::disk::capped::Cap;

/// Disks of 512 MiB that serve 600 commands a second, as one volume.
pub(super) fn caps(count: usize, shape: Shape) -> Volume {
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

/// 8 blocks anywhere, half of them read, in a closed loop.
pub(super) fn random(volume: &Volume, depth: usize) -> Load {
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
