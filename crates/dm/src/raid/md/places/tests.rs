//! Where superblocks are, beside what md's formulas say in sectors.

use block::Range;
use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

use super::{Place, candidates};

/// A device that is too small for a place has none.
#[test]
fn small_devices_have_few_places() {
    assert_eq!(candidates(4095), []);
    assert_eq!(candidates(4096), [(Place::Start, Range::new(0, 4096))]);
    let places: Vec<Place> = candidates(64 << 10)
        .into_iter()
        .map(|(place, _)| place)
        .collect();
    let all = [Place::Start, Place::SecondBlock, Place::End, Place::EndOld];
    assert_eq!(places, all);
    assert_eq!(Place::EndOld.offset(65535), None);
}

proptest! {
    /// Places lie on the device, and where md's own formulas put them.
    #[test]
    fn places_are_md_s(device in 0_u64..(1 << 50)) {
        for (_, range) in candidates(device) {
            prop_assert!(range.end() <= device);
        }
        let sectors = device / 512;
        if sectors >= 16 {
            let end = (sectors - 16) & !7;
            prop_assert_eq!(Place::End.offset(device), Some(end * 512));
        }
        if sectors >= 128 {
            let end = (sectors & !127) - 128;
            prop_assert_eq!(Place::EndOld.offset(device), Some(end * 512));
        }
    }
}
