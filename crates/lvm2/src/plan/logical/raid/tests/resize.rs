//! Tests: arrays grow, shrink, get names, and go.

use super::bench::{create, empty, group, is_zeroed, lengths, options, region, shown};
use crate::Sectors;
use crate::model::{PvFlag, VolumeGroup};
use crate::plan::logical::{Along, RaidOptions, Resize, remove_volumes, rename_volume};
use crate::plan::logical::{NewExtents, resize_volume};
use crate::plan::samples::{by_author, done, free, id, refusal, resize};
use crate::plan::size::{ResizeTo, SizeArgument};

fn with(level: &str, stripes: Option<usize>) -> RaidOptions {
    RaidOptions {
        stripes,
        ..options(level)
    }
}

fn extents(vg: &VolumeGroup, name: &str) -> u64 {
    vg.lv(id(vg, name)).extents().0
}

#[test]
fn arrays_grow_by_their_images() {
    // Proves: where stock put what it added, and its rounding.
    let vg = done(create(&empty(), "a", "8", options("raid1")));
    let vg = done(resize(&vg, "a", "+3", None));
    let image = |number| format!("a_rimage_{number}: READ WRITE 0+11@pv{number}:1");
    assert!(shown(&vg).is_superset(&[image(0), image(1)].into()));
    let vg = done(create(&vg, "b", "8", options("raid5")));
    let vg = done(resize(&vg, "b", "+3", None));
    assert_eq!(extents(&vg, "b"), 12);
    let image = |number, at| format!("b_rimage_{number}: READ WRITE 0+6@pv{number}:{at}");
    assert!(shown(&vg).is_superset(&[image(0, 13), image(1, 13), image(2, 1)].into()));
    let vg = done(create(&vg, "d", "8", options("raid10")));
    assert_eq!(extents(&done(resize(&vg, "d", "+1", None)), "d"), 10);
    let vg = done(create(&empty(), "z", "8", options("raid0")));
    assert_eq!(extents(&done(resize(&vg, "z", "+3", None)), "z"), 12);
}

#[test]
fn an_array_of_all_that_is_free() {
    // Proves: it grows by what each leg finds, without the space that its metadata took.
    for (level, all) in [("raid1", 251), ("raid5", 498), ("raid6", 372)] {
        let vg = done(create(&empty(), "a", "6", options(level)));
        let grown = done(resize(&vg, "a", "+100%FREE", None));
        assert!(extents(&grown, "a") <= all, "{level}");
        assert!(extents(&grown, "a") > 100, "{level}");
    }
}

#[test]
fn metadata_grows_with_its_bitmap() {
    // Proves: bits for the new regions, which are zeros, behind the old ones; larger regions where
    // there would be too many bits.
    let small = RaidOptions {
        region_size: Some(Sectors(8)),
        ..options("raid1")
    };
    let vg = done(create(&group(8, 100_000), "a", "8192", small));
    assert_eq!(lengths(&vg, "a", 0), (8192, 3));
    let change = resize(&vg, "a", "40000", None).expect("there is space");
    let vg = change.vg().expect("a group");
    assert_eq!(lengths(vg, "a", 1), (40000, 4));
    assert!(!is_zeroed(&change, "a_rmeta_1", 4 * 4096));
    let vg = done(create(&group(1 << 23, 4000), "a", "1000", options("raid1")));
    assert_eq!(region(&vg, "a"), 4096);
    assert_eq!(region(&done(resize(&vg, "a", "2000", None)), "a"), 8192);
}

#[test]
fn arrays_shrink_by_whole_rows() {
    // Proves: no more is cut than was asked for, and that nothing else changes.
    let vg = done(create(&empty(), "a", "9", with("raid5", Some(3))));
    let less = done(resize(&vg, "a", "-4", None));
    assert_eq!((extents(&less, "a"), lengths(&less, "a", 3)), (6, (2, 1)));
}

#[test]
fn what_cannot_grow_is_refused() {
    // Proves: other stripes, other types, images by themselves, and arrays that lost one.
    let mut vg = done(create(&empty(), "a", "8", options("raid5")));
    let more = SizeArgument::from_extents("+2").expect("a size");
    let extend = |vg: &VolumeGroup, resize: &Resize<'_>| {
        refusal(by_author(|author| resize_volume(vg, resize, author)))
    };
    let plain = Resize::to("a", more, ResizeTo::Larger);
    let stripes = Resize {
        stripes: Some(3),
        ..plain.clone()
    };
    assert_eq!(
        extend(&vg, &stripes),
        "Unable to extend \"raid5\" segment type with different number of stripes."
    );
    for (kind, name) in [
        (NewExtents::Plain, "striped"),
        (NewExtents::Mirror, "mirror"),
    ] {
        let other = Resize {
            kind: Some(kind),
            ..plain.clone()
        };
        let said = format!("VolumeType does not match ({name}).");
        assert_eq!(extend(&vg, &other), said);
    }
    let image = refusal(resize(&vg, "a_rimage_0", "+1", None));
    assert!(
        image.starts_with("Cannot resize a RAID image directly"),
        "{image}"
    );
    let first = vg.pvs().next().expect("there are eight").0;
    vg.pv_mut(first).flags.insert(PvFlag::Missing);
    let lost = extend(&vg, &plain);
    assert!(lost.contains("repair it first"), "{lost}");
}

#[test]
fn parts_follow_their_array() {
    // Proves: its name, and its end; nothing is done to a part alone.
    let vg = done(create(&empty(), "a", "8", options("raid5")));
    let renamed = done(by_author(|author| rename_volume(&vg, "a", "aa", author)));
    let names: Vec<&str> = renamed.lvs().map(|(_, lv)| lv.name()).collect();
    assert_eq!(names.len(), 7);
    assert!(names.iter().all(|name| name.starts_with("aa")), "{names:?}");
    let image = refusal(by_author(|author| {
        rename_volume(&vg, "a_rmeta_0", "b", author)
    }));
    assert!(
        image.starts_with("Cannot rename a RAID metadata area directly"),
        "{image}"
    );
    let remove =
        |name: &str| by_author(|author| remove_volumes(&vg, &[name], Along::Nothing, author));
    assert!(refusal(remove("a_rimage_0")).contains("used as RAID device"));
    let gone = done(remove("a"));
    assert_eq!((gone.lv_count(), free(&gone)), (0, free(&empty())));
}
