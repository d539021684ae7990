//! The end of a physical volume becomes free.

use super::{end, group, runs, to_its_end};
use crate::Extents;
use crate::model::VolumeGroup;
use crate::plan::physical::defrag::room::{begin, used_behind};
use crate::plan::samples::{by_author, done, layout};

/// The group with nothing behind an end, and how many moves that took.
fn shortened(vg: &VolumeGroup, end: u64) -> Result<(VolumeGroup, usize), String> {
    let pv = vg.pvs().next().expect("it is there").0;
    let mut now = vg.clone();
    let mut count = 0;
    while used_behind(&now, pv, Extents(end)) > Extents::ZERO {
        let begun = by_author(|author| begin(&now, pv, Extents(end), Extents(5), author));
        let (change, mover) = begun.map_err(|error| error.context)?;
        now = to_its_end(done(Ok(change)), mover);
        count += 1;
        assert!(count < 3, "it comes to an end");
    }
    Ok((now, count))
}

#[test]
fn what_fits_stays_on_the_physical_volume() {
    // Proves: whole runs go where they fit best, the rest in pieces, and what has no room at all to
    // another physical volume; where that has none either, nothing is begun.
    let vg = group(&[
        runs("a", &[(0, 0, 10)]),
        runs("b", &[(0, 16, 4)]),
        runs("c", &[(0, 40, 4), (0, 60, 2)]),
    ]);
    let (now, count) = shortened(&vg, 20).expect("it fits");
    assert_eq!(count, 1);
    assert_eq!(layout(&now)[2], "c: 0+6 linear pv0:10");
    assert_eq!(end(&now, 0), 20);
    let (now, count) = shortened(&vg, 17).expect("there are others");
    assert_eq!(count, 2);
    assert_eq!(end(&now, 0), 17);
    assert_eq!(end(&now, 1), 3);
    let full = group(&[
        runs("a", &[(0, 0, 10)]),
        runs("c", &[(0, 40, 4)]),
        runs("d", &[(1, 0, 100)]),
        runs("e", &[(2, 0, 99)]),
    ]);
    assert_eq!(shortened(&full, 13).expect("one goes away").1, 2);
    let why = shortened(&full, 11).expect_err("it does not fit");
    assert!(why.contains("Insufficient"), "{why}");
}
