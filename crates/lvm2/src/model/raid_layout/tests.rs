//! Tests: where chunks lie.

use std::collections::BTreeSet;

use crate::model::{RaidFamily, RaidLevel};

/// The images of the data chunks of `rows` rows.
fn rows(level: RaidLevel, images: usize, rows: u64) -> Vec<Vec<usize>> {
    let data = (images - level.parity_count()) as u64;
    let image = |chunk: u64| {
        let place = level.chunk_place(chunk, images, 1).expect("it has chunks");
        assert_eq!(place.places.len(), 1, "parity arrays have no copies");
        let (image, row) = place.places[0];
        assert_eq!(row, chunk / data, "{level:?} fills rows");
        image
    };
    let row = |row: u64| (row * data..(row + 1) * data).map(image).collect();
    (0..rows).map(row).collect()
}

#[test]
fn parity_turns_as_in_md() {
    // Proves: the layouts of the kernel, with 4 images of RAID 5 and 5 of RAID 6, by hand.
    let of = |level: RaidLevel, images| rows(level, images, 2);
    assert_eq!(of(RaidLevel::Raid4, 4), [[1, 2, 3], [1, 2, 3]]);
    assert_eq!(of(RaidLevel::Raid5N, 4), [[0, 1, 2], [0, 1, 2]]);
    assert_eq!(of(RaidLevel::Raid5La, 4), [[0, 1, 2], [0, 1, 3]]);
    assert_eq!(of(RaidLevel::Raid5Ls, 4), [[0, 1, 2], [3, 0, 1]]);
    assert_eq!(of(RaidLevel::Raid5Ra, 4), [[1, 2, 3], [0, 2, 3]]);
    assert_eq!(of(RaidLevel::Raid5Rs, 4), [[1, 2, 3], [2, 3, 0]]);
    assert_eq!(of(RaidLevel::Raid6Zr, 5), [[2, 3, 4], [0, 3, 4]]);
    assert_eq!(of(RaidLevel::Raid6Nr, 5), [[0, 1, 2], [0, 1, 4]]);
    assert_eq!(of(RaidLevel::Raid6Nc, 5), [[0, 1, 2], [4, 0, 1]]);
    assert_eq!(of(RaidLevel::Raid6N6, 5), [[0, 1, 2], [0, 1, 2]]);
    assert_eq!(of(RaidLevel::Raid6Ls6, 5), [[0, 1, 2], [3, 0, 1]]);
}

#[test]
fn no_two_chunks_of_a_row_share_an_image() {
    // Proves: of each level, rows hold as many different images as it has data.
    let with_rows =
        |level: &&RaidLevel| !matches!(level.family(), RaidFamily::Raid1 | RaidFamily::Raid10);
    for level in RaidLevel::ALL.iter().filter(with_rows) {
        for images in level.parity_count() + 2..9 {
            for row in rows(*level, images, 40) {
                let distinct: BTreeSet<usize> = row.iter().copied().collect();
                assert_eq!(distinct.len(), row.len(), "{level:?} of {images}");
                assert!(distinct.iter().all(|image| *image < images));
            }
        }
    }
}

#[test]
fn copies_stand_beside_each_other() {
    // Proves: near copies, with an odd number of images too, and that RAID 1 has no chunks.
    let places = |chunk, images| {
        let place = RaidLevel::Raid10.chunk_place(chunk, images, 2);
        place.expect("it has chunks").places
    };
    assert_eq!(places(1, 4), [(2, 0), (3, 0)]);
    assert_eq!(places(2, 4), [(0, 1), (1, 1)]);
    assert_eq!(places(1, 3), [(2, 0), (0, 1)]);
    assert_eq!(RaidLevel::Raid1.chunk_place(0, 2, 1), None);
    assert_eq!(RaidLevel::Raid6.chunk_place(0, 2, 1), None);
}
