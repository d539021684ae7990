//! Claims of the seed documents about alignment, as far as requests decide them: an array of three
//! data images and one of parity, chunks of 64 KiB, on which a file system writes rows.

use block::Range;
use dm::raid::Geometry;

use super::super::{Ask, cost, row_bytes};
use super::{CHUNK, FIVE, KIB};

/// The block of a file system.
const BLOCK: u64 = 4 * KIB;

/// Reads for each write of `len` bytes at `starts`, on average.
fn reads(legs: usize, len: u64, starts: impl Iterator<Item = u64>) -> f64 {
    let geometry = Geometry::new(FIVE, legs, CHUNK, 120 * CHUNK).expect("an array");
    let (mut sum, mut count) = (0, 0);
    for start in starts {
        let range = Range::new(start, len);
        if range.end() <= geometry.size() {
            sum += cost(&geometry, &[], Ask::Write, range)
                .expect("all is there")
                .reads;
            count += 1;
        }
    }
    assert!(count > 0, "something is written");
    sum as f64 / f64::from(count)
}

/// What a file system writes that knows the width of a row and begins at `start`, and one that does
/// not, which begins at any of its blocks.
fn of_start(start: u64) -> (f64, f64) {
    let width = 3 * CHUNK;
    let knowing = (0..30).map(|row| start + row * width);
    let others = (0..30 * width / BLOCK).map(|block| start + block * BLOCK);
    (reads(4, width, knowing), reads(4, width, others))
}

/// E.12: that the data area is aligned changes nothing for a file system that does not know the
/// row, and one that knows it gains all it can only where the area is aligned.
#[test]
fn aligning_the_data_area_is_not_aligning_the_file_system() {
    let (knowing, others) = of_start(0);
    assert!(knowing == 0.0, "rows are written whole: {knowing}");
    for shift in [CHUNK, 2 * CHUNK, 16 * CHUNK] {
        let (knowing, same) = of_start(shift);
        assert!(knowing >= 3.0, "each row is two pieces: {knowing}");
        assert!((same - others).abs() < 0.05, "{same}, and {others} aligned");
    }
    assert!(others > 2.5, "those that do not know read anyway: {others}");
    // A shift by whole rows is none.
    assert!(of_start(3 * CHUNK).0 == 0.0);
}

/// E.13: what was whole rows of three data images is, on four, never whole: two to three reads for
/// each, where there were none.
#[test]
fn a_disk_more_undoes_the_alignment() {
    let width = 3 * CHUNK;
    let rows = || (0..30).map(|row| row * width);
    assert!(reads(4, width, rows()) == 0.0);
    let after = reads(5, width, rows());
    assert!((2.4..=2.6).contains(&after), "{after} reads for each write");
    let geometry = Geometry::new(FIVE, 5, CHUNK, CHUNK).expect("a row");
    let new = row_bytes(&geometry);
    assert!(reads(5, new, (0..30).map(|row| row * new)) == 0.0);
}
