//! The generator draws cases that can be run.

use super::case;
use crate::disk::catalog;
use crate::predict::subject::Pattern;

/// Every case lies on its disks, the same seed gives the same case, and every class comes.
#[test]
fn cases_are_possible() {
    let library = catalog::library();
    let mut layouts = std::collections::BTreeSet::new();
    for seed in 1..=120 {
        let case = case(seed, &library).unwrap();
        layouts.insert(case.class.layout);
        for piece in &case.volume.pieces {
            let blocks = case.volume.disks[piece.disk].medium.blocks().unwrap();
            assert!(piece.start + piece.blocks <= blocks, "seed {seed}");
        }
        let load = case.load;
        let end = load.region_start + load.region_blocks;
        assert!(end <= case.volume.blocks(), "seed {seed}");
        assert!(load.blocks <= load.region_blocks, "seed {seed}");
        if let Pattern::Random { hot_blocks, .. } = load.pattern {
            assert!(hot_blocks <= load.region_blocks, "seed {seed}");
        }
        assert_eq!(case, super::case(seed, &library).unwrap());
    }
    assert_eq!(layouts.len(), 7);
}
