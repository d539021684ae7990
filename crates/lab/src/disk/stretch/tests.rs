//! Stretched drives are as fast as they were.

use crate::disk::catalog;

/// Ten times as large: the same rates, and the same seeks by share of the stroke.
#[test]
fn stretched_drives_are_as_fast() {
    for name in ["wd800bd-like", "HP 97560"] {
        let small = catalog::find(name).expect(name);
        let blocks = small.layout.clone().build().expect(name).blocks();
        let large = small.clone().stretched(blocks * 10 - 5).expect(name);
        let built = large.layout.clone().build().expect(name);
        assert!(built.blocks() >= blocks * 10 - 5 && built.blocks() < blocks * 11);
        large.validate().expect(name);
        let (few, many) = (small.layout.cylinders, large.layout.cylinders);
        let more = large.layout.heads / small.layout.heads * (many / few);
        assert_eq!(more, 10);
        for share in [3, 10, 30] {
            let before = small.mechanics.seek.time_ns(few / share, few);
            let after = large
                .mechanics
                .seek
                .time_ns(few / share * (many / few), many);
            assert!(before.abs_diff(after) < before / 100, "{before} {after}");
        }
        let rates = |zones: &[crate::disk::geometry::Zone]| -> Vec<u32> {
            zones.iter().map(|zone| zone.per_track).collect()
        };
        assert_eq!(rates(&small.layout.zones), rates(&large.layout.zones));
        assert_eq!(small.clone().stretched(blocks).expect(name), small);
    }
}
