//! Tests: a copy is set aside, and comes back.

use super::bench::{create, empty, options, places, shown};
use crate::model::{LvFlag, VolumeGroup};
use crate::plan::change::Change;
use crate::plan::logical::{ArrayState, RaidOptions, merge_copy, track_copy};
use crate::plan::samples::{by_author, done, id, refusal, resize};

fn mirror(copies: usize) -> VolumeGroup {
    let options = RaidOptions {
        copies: Some(copies),
        ..options("raid1")
    };
    done(create(&empty(), "r", "4", options))
}

fn track(vg: &VolumeGroup, state: ArrayState) -> crate::Result<Change> {
    by_author(|author| track_copy(vg, "r", (None, state), author))
}

fn merge(vg: &VolumeGroup, image: &str) -> crate::Result<Change> {
    by_author(|author| merge_copy(vg, image, author))
}

#[test]
fn a_copy_is_set_aside_and_comes_back() {
    // Proves: what stock writes of the image and nothing else changes, and merging undoes it.
    let vg = mirror(3);
    let split = done(track(&vg, ArrayState::InSync));
    let image = "r_rimage_2: READ VISIBLE 0+4@pv2:1".to_owned();
    let changed: Vec<String> = shown(&split).difference(&shown(&vg)).cloned().collect();
    assert_eq!(changed, [image]);
    assert_eq!(shown(&done(merge(&split, "r_rimage_2"))), shown(&vg));
    // The one on the device that was named.
    let first = places(&vg, &[0]);
    let on = by_author(|author| track_copy(&vg, "r", (Some(&first), ArrayState::InSync), author));
    let on = done(on);
    assert!(on.lv(id(&on, "r_rimage_0")).is_set_aside());
    // A volume that is only read stays so.
    let mut read_only = split.clone();
    let r = id(&read_only, "r");
    read_only.lv_mut(r).flags.remove(LvFlag::Write);
    let merged = done(merge(&read_only, "r_rimage_2"));
    assert!(!merged.lv(id(&merged, "r_rimage_2")).is_writable());
}

#[test]
fn nothing_else_is_done_meanwhile() {
    // Proves: an array that tracks changes is not resized and gives no second copy; and who is not
    // set aside is not merged.
    let vg = mirror(3);
    for state in [
        ArrayState::Unused,
        ArrayState::OutOfSync,
        ArrayState::InSyncBut(1),
    ] {
        assert!(refusal(track(&vg, state)).contains("not in-sync"));
    }
    let split = done(track(&vg, ArrayState::InSync));
    assert!(refusal(track(&split, ArrayState::InSync)).contains("more than one split image"));
    assert!(refusal(resize(&split, "r", "+1", None)).contains("tracks changes of its image"));
    assert!(refusal(merge(&split, "r_rimage_1")).contains("not split off"));
    assert!(refusal(merge(&split, "r")).contains("non-mirror image"));
    let five = done(create(&empty(), "r", "4", options("raid5")));
    assert!(refusal(track(&five, ArrayState::InSync)).contains("non-mirrored"));
}
