//! Flash disks: the busiest unit by hand, the rest against the emulated disk.

use super::hottest;
use crate::disk::flash::FlashProfile;
use crate::predict::predict;
use crate::predict::samples::random;
use crate::predict::subject::{Arrivals, Disk, Load, Medium, Pattern, Piece, Shape, Volume};
use crate::predict::{Prediction, emulate};

const PROFILE: FlashProfile = FlashProfile {
    blocks: 1 << 26,
    page_blocks: 16,
    units: 4,
    read_ns: 80_000,
    program_ns: 700_000,
    erase_ns: 2_000_000,
    erase_pages: 128,
    amplification_thousandths: 1500,
    cache_pages: 64,
    overhead_ns: 20_000,
    block_ns: 500,
};

/// A disk of this profile, from block `start` on.
fn volume(profile: FlashProfile, start: u64) -> Volume {
    Volume {
        disks: vec![Disk {
            medium: Medium::Flash(profile),
            link: None,
        }],
        pieces: vec![Piece {
            disk: 0,
            start,
            blocks: 1 << 24,
        }],
        shape: Shape::Linear,
    }
}

fn load(volume: &Volume, reads: u64, blocks: u64, depth: usize) -> Load {
    Load {
        reads,
        blocks,
        grain: blocks,
        ..random(volume, depth)
    }
}

fn both(volume: &Volume, load: &Load) -> (f64, f64) {
    let seen = emulate::run(volume, load, 1).unwrap().response_ns;
    let Prediction { response_ns, .. } = predict(volume, load).unwrap();
    (response_ns, seen)
}

/// Requests of all units use them alike; shifted by half a page, the first unit has two of their
/// five pages.
#[test]
fn the_first_unit_of_shifted_requests_has_more_to_do() {
    for (start, most) in [(0, 1.0), (8, 2.0 / (5.0 / 4.0))] {
        let volume = volume(PROFILE, start);
        let load = load(&volume, 0, 64, 1);
        let found = hottest(&volume, &load, 0, &PROFILE);
        assert!((found - most).abs() < 1e-9, "{start}: {found}");
    }
    // Requests of one page that begin anywhere use all units alike.
    let volume = volume(PROFILE, 8);
    let load = load(&volume, 0, 16, 1);
    let found = hottest(&volume, &load, 0, &PROFILE);
    assert!((found - 1.0).abs() < 0.01, "{found}");
}

/// Reads that wait for programs hold the bus from all that came later.
#[test]
fn mixed_loads_wait_for_programs() {
    for (reads, depth, cache_pages) in [
        (500, 32, 0),
        (800, 32, 0),
        (200, 16, 64),
        (700, 8, 1024),
        (500, 1, 64),
    ] {
        let profile = FlashProfile {
            cache_pages,
            ..PROFILE
        };
        let volume = volume(profile, 0);
        let load = load(&volume, reads, 16, depth);
        let (told, seen) = both(&volume, &load);
        let error = told / seen - 1.0;
        assert!(error.abs() < 0.25, "{reads} {depth}: {told} for {seen}");
    }
}

/// A stream of small requests has no more units than lie under those that are under way.
#[test]
fn a_stream_uses_the_units_under_it() {
    let volume = volume(PROFILE, 0);
    for (reads, blocks, depth) in [(1000, 1, 4), (1000, 4, 8), (0, 64, 16)] {
        let load = Load {
            pattern: Pattern::Sequential,
            ..load(&volume, reads, blocks, depth)
        };
        let (told, seen) = both(&volume, &load);
        let error = told / seen - 1.0;
        assert!(error.abs() < 0.1, "{reads} {blocks}: {told} for {seen}");
    }
}

/// What comes of itself waits for units and for places in the cache.
#[test]
fn open_loads_wait_for_units_and_places() {
    for (reads, blocks, gap_ns, cache_pages) in [
        (1000, 16, 60_000, 64),
        (500, 16, 1_000_000, 64),
        (0, 64, 3_000_000, 0),
        (0, 512, 20_000_000, 64),
    ] {
        let profile = FlashProfile {
            cache_pages,
            ..PROFILE
        };
        let volume = volume(profile, 0);
        let load = Load {
            arrivals: Arrivals::Poisson { gap_ns },
            ..load(&volume, reads, blocks, 1)
        };
        let (told, seen) = both(&volume, &load);
        let error = told / seen - 1.0;
        assert!(error.abs() < 0.3, "{reads} {blocks}: {told} for {seen}");
    }
}
