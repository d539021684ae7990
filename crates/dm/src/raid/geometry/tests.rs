//! Places against pictures, and against each other.

use std::collections::HashSet;

use super::{Copies, FarPlace, FarSets, Geometry, Parity, Rotation, Scheme, Spot};

const CHUNK: u64 = 4096;

fn copies(near: usize, far: usize, place: FarPlace, sets: FarSets) -> Scheme {
    Scheme::Copies(Copies {
        near,
        far,
        place,
        sets,
    })
}

/// Which chunk is on which leg, row by row, as pictures draw it.
fn picture(scheme: Scheme, legs: usize, rows: u64) -> Vec<String> {
    let geometry = Geometry::new(scheme, legs, CHUNK, rows * CHUNK).unwrap();
    let mut cells = vec![vec!["-".to_owned(); legs]; rows as usize];
    for chunk in 0..geometry.size() / CHUNK {
        for copy in 0..geometry.copies() {
            let spot = geometry.spot(chunk * CHUNK, copy);
            let cell = &mut cells[(spot.start / CHUNK) as usize][spot.leg];
            assert_eq!(cell, "-", "chunk {chunk} where another one is");
            *cell = chunk.to_string();
        }
    }
    cells.iter().map(|row| row.join(" ")).collect()
}

/// Copies of chunks are where the kernel's documentation of dm-raid draws them.
#[test]
fn copies_are_where_they_are_drawn() {
    assert_eq!(picture(Scheme::near_copies(2), 2, 2), ["0 0", "1 1"]);
    assert_eq!(
        picture(Scheme::near_copies(2), 3, 4),
        ["0 0 1", "1 2 2", "3 3 4", "4 5 5"]
    );
    assert_eq!(
        picture(Scheme::near_copies(2), 4, 2),
        ["0 0 1 1", "2 2 3 3"]
    );
    let far = |legs, sets| picture(copies(1, 2, FarPlace::Apart, sets), legs, 4);
    assert_eq!(far(2, FarSets::None), ["0 1", "2 3", "1 0", "3 2"]);
    assert_eq!(far(3, FarSets::None), ["0 1 2", "3 4 5", "2 0 1", "5 3 4"]);
    assert_eq!(
        far(4, FarSets::ByCopies),
        ["0 1 2 3", "4 5 6 7", "1 0 3 2", "5 4 7 6"]
    );
    let offset = |legs| {
        let scheme = copies(1, 2, FarPlace::NextChunk, FarSets::None);
        picture(scheme, legs, 4)
    };
    assert_eq!(offset(2), ["0 1", "1 0", "2 3", "3 2"]);
    assert_eq!(offset(3), ["0 1 2", "2 0 1", "3 4 5", "5 3 4"]);
    assert_eq!(offset(4), ["0 1 2 3", "3 0 1 2", "4 5 6 7", "7 4 5 6"]);
}

/// Each byte is somewhere, no place holds two, all places lie on their legs, and runs are as long
/// as they say.
#[test]
fn nothing_overlaps() {
    let mut schemes = vec![(Scheme::Mirror, 3)];
    for rotation in Rotation::all() {
        schemes.push((Scheme::Parity(Parity::Two, rotation), 5));
        if rotation.suits(Parity::One) {
            schemes.push((Scheme::Parity(Parity::One, rotation), 3));
        }
    }
    for sets in [FarSets::None, FarSets::ByFar, FarSets::ByCopies] {
        for place in [FarPlace::Apart, FarPlace::NextChunk] {
            for (near, far) in [(1, 2), (2, 1), (3, 1), (1, 3)] {
                // With fewer legs a set would have less than its copies.
                let least = if sets == FarSets::ByFar { far * far } else { 4 };
                for legs in least.max(4)..12 {
                    schemes.push((copies(near, far, place, sets), legs));
                }
            }
        }
    }
    for (scheme, legs) in schemes {
        let rows = 24;
        let geometry = Geometry::new(scheme, legs, CHUNK, rows * CHUNK).unwrap();
        let mut taken = HashSet::new();
        for chunk in 0..geometry.size() / CHUNK {
            let mut held_by = HashSet::new();
            for copy in 0..geometry.copies() {
                let Spot { leg, start } = geometry.spot(chunk * CHUNK + 512, copy);
                assert!(leg < legs && start < geometry.leg_size(), "{geometry:?}");
                assert!(taken.insert((leg, start)), "{geometry:?} at {chunk}");
                assert!(held_by.insert(leg), "{geometry:?}: copies on one leg");
            }
        }
        assert_eq!(geometry.run(512), geometry.chunk() - 512);
        assert_eq!(geometry.run(geometry.size() - 512), 512);
    }
}

/// What cannot be is refused and does not divide by zero.
#[test]
fn impossible_arrays_are_refused() {
    let size = 16 * CHUNK;
    let five = Scheme::Parity(Parity::One, Rotation::LeftSymmetric);
    for (scheme, legs, chunk) in [
        (Scheme::Mirror, 0, 0),
        (Scheme::Mirror, 65, 0),
        (five, 3, 0),
        (five, 3, 1000),
        (five, 1, CHUNK),
        (Scheme::Parity(Parity::One, Rotation::NContinue), 5, CHUNK),
        (Scheme::Parity(Parity::Two, Rotation::NContinue), 2, CHUNK),
        (Scheme::near_copies(0), 4, CHUNK),
        (Scheme::near_copies(5), 4, CHUNK),
        (copies(2, 2, FarPlace::NextChunk, FarSets::None), 5, CHUNK),
        (copies(1, 200, FarPlace::Apart, FarSets::None), 4, CHUNK),
        (copies(1, 0, FarPlace::Apart, FarSets::ByFar), 4, CHUNK),
    ] {
        let made = Geometry::new(scheme, legs, chunk, size);
        assert!(made.is_err(), "{scheme:?} on {legs}");
    }
    assert!(Geometry::new(five, 64, 512, u64::MAX).is_err());
    assert_eq!(Scheme::copies_from_md(0x0002), None);
    assert_eq!(Scheme::copies_from_md(0x102), Some(Scheme::near_copies(2)));
    let Some(Scheme::Copies(far)) = Scheme::copies_from_md(0x4_0201) else {
        panic!("two far copies in sets");
    };
    assert_eq!(
        (far.far, far.sets, far.md()),
        (2, FarSets::ByCopies, 0x4_0201)
    );
}
