//! The layout of ext2, ext3, ext4 or XFS: any volume has one or an error, soon, and the areas of
//! one that was read lie in order on the volume and say what each of their blocks is for.
#![no_main]

use lab::trace::label::{Labels, Map};
use lab::trace::{Certainty, Class};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(map) = Map::read("fuzz", &mut &bytes[..]) else {
        return;
    };
    let mut end = 0;
    for area in map.areas() {
        assert!(area.start >= end && area.end > area.start, "areas in order");
        assert_eq!(map.class_at(area.start), area.class);
        assert_eq!(map.class_at(area.end - 1), area.class);
        end = area.end;
    }
    assert_eq!(map.class_at(end), Class::Outside);
    let areas = map.areas().to_vec();
    let labels = Labels::new(Some(map.clone()), map);
    for area in areas {
        let label = labels.label(area.start, area.end - area.start);
        assert_eq!(label.class, area.class);
        assert_ne!(label.certainty, Certainty::Mixed);
    }
    let _ = labels.label(0, u64::MAX);
});
