//! Tests: regions of another size.

use super::bench::{create, empty, group, options};
use crate::Sectors;
use crate::model::{SegmentType, VolumeGroup};
use crate::plan::change::Change;
use crate::plan::logical::change_region_size;
use crate::plan::samples::{by_author, done, id, refusal};

fn change(vg: &VolumeGroup, sectors: u64) -> crate::Result<Change> {
    by_author(|author| change_region_size(vg, "r", Sectors(sectors), author))
}

fn region(vg: &VolumeGroup) -> u64 {
    match vg.lv(id(vg, "r")).first() {
        Some(SegmentType::Raid(raid)) => raid.region_size.0,
        other => panic!("{other:?} is no array"),
    }
}

#[test]
fn regions_become_larger_and_smaller() {
    // Proves: every size that fits is taken, nothing else of the group is touched, and what it has
    // already is no failure and no change.
    for level in ["raid1", "raid4", "raid5", "raid6", "raid10"] {
        let vg = done(create(&empty(), "r", "12", options(level)));
        let was = region(&vg);
        for sectors in [8, 128, 8192] {
            let mut changed = done(change(&vg, sectors));
            assert_eq!(region(&changed), sectors, "{level}");
            changed = done(change(&changed, was));
            assert_eq!(changed.lv_count(), vg.lv_count(), "{level}");
            assert_eq!(region(&changed), was, "{level}");
        }
        let same = change(&vg, was).expect("it is no failure");
        assert!(
            same.groups.is_empty() && same.messages.len() == 1,
            "{level}"
        );
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    // Proves: the limits of a region, of the bitmap, and of the metadata volumes.
    let vg = done(create(&empty(), "r", "12", options("raid5")));
    for sectors in [0, 4, 24, 1 << 20] {
        assert!(
            refusal(change(&vg, sectors)).contains("cannot have regions"),
            "{sectors}"
        );
    }
    let vg = done(create(&empty(), "r", "12", options("raid0")));
    assert!(refusal(change(&vg, 8)).contains("raid0"));
    // Two extents of 8 KiB hold both heads, and 65536 bits.
    let vg = done(create(&group(16, 40000), "r", "35000", options("raid1")));
    assert!(refusal(change(&vg, 8)).contains("too small for metadata LV size"));
}
