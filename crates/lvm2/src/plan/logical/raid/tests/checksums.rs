//! Tests: arrays with checksums get other images.

use std::collections::BTreeSet;

use super::bench::{create, empty, is_zeroed, options, places, whole};
use crate::Result;
use crate::model::{Area, IntegrityMode, LvFlag, PvId, VolumeGroup, to_text};
use crate::plan::change::Change;
use crate::plan::logical::{
    ArrayState, ChecksumOptions, CopiesChange, NewVolume, RaidOptions, Replacement, change_copies,
    create_volume, remove_checksums, repair_array, replace_images,
};
use crate::plan::samples::{assert_sound, by_author, done, id, refusal};
use crate::plan::size::SizeArgument;
use crate::text::Style;

const LARGE: ChecksumOptions = ChecksumOptions {
    mode: IntegrityMode::Bitmap,
    block_size: 4096,
};

/// An array `a` whose images have checksums of 4096 bytes, with bitmaps.
fn made(level: &str, size: &str) -> VolumeGroup {
    let options = RaidOptions {
        checksums: Some(LARGE),
        ..options(level)
    };
    done(create(&empty(), "a", size, options))
}

fn on(vg: &VolumeGroup, numbers: &[usize]) -> BTreeSet<PvId> {
    let all: Vec<PvId> = vg.pvs().map(|(pv, _)| pv).collect();
    numbers.iter().map(|number| all[*number]).collect()
}

fn with<T>(pvs: &BTreeSet<PvId>, act: impl FnOnce(&Replacement<'_>) -> T) -> T {
    act(&Replacement {
        volume: "a",
        pvs,
        places: None,
        policy: None,
        state: ArrayState::InSync,
    })
}

fn repair(vg: &VolumeGroup, lost: &[usize]) -> Result<Change> {
    with(&BTreeSet::new(), |replacement| {
        by_author(|author| repair_array(vg, replacement, &on(vg, lost), author))
    })
}

fn replace(vg: &VolumeGroup, pvs: &[usize]) -> Result<Change> {
    with(&on(vg, pvs), |replacement| {
        by_author(|author| replace_images(vg, replacement, author))
    })
}

fn copies(vg: &VolumeGroup, copies: usize, pvs: Option<&[usize]>) -> Result<Change> {
    let places = pvs.map(|numbers| places(vg, numbers));
    let change = CopiesChange {
        volume: "a",
        copies,
        region_size: None,
        places: places.as_ref(),
        policy: None,
        state: ArrayState::InSync,
    };
    by_author(|author| change_copies(vg, &change, author))
}

/// The block of a volume, without what is said while it is new.
fn block(vg: &VolumeGroup, name: &str) -> String {
    let text = String::from_utf8(to_text(vg, Style::Raw)).expect("it is text");
    whole(&text, name)
        .replace(" recalculate = 1", "")
        .replace(", \"REBUILD\"", "")
}

/// The disk and the extent at which a volume of one segment lies.
fn place(vg: &VolumeGroup, name: &str) -> (usize, u64) {
    match vg.lv(id(vg, name)).segments[0].areas() {
        [Area::Pv { pv, start }] => (pv.index(), start.0),
        other => panic!("{name} lies on {other:?}"),
    }
}

/// All names, in their order.
fn names(vg: &VolumeGroup) -> Vec<&str> {
    let mut names: Vec<&str> = vg.lvs().map(|(_, lv)| lv.name()).collect();
    names.sort_unstable();
    names
}

#[test]
fn other_images_have_checksums_of_the_same_kind() {
    // Proves, of each level: an image that is lost or replaced is another one, of data, metadata
    // and checksums on a disk of its own; it says of them what the old one said, their superblock
    // is zeros before the commit, and the image is to be filled. Nothing of the old one is left.
    for (level, free) in [
        ("raid1", 2),
        ("raid4", 3),
        ("raid5", 3),
        ("raid6", 5),
        ("raid10", 4),
    ] {
        let vg = made(level, "12");
        for change in [repair(&vg, &[1]), replace(&vg, &[1])] {
            let change = change.expect("there is room");
            assert_sound(&change);
            let new = change.vg().expect("a group");
            assert_eq!(names(new), names(&vg), "{level}");
            assert!(is_zeroed(&change, "a_rimage_1_imeta", 4096), "{level}");
            assert!(is_zeroed(&change, "a_rmeta_1", 1 << 20), "{level}");
            let image = new.lv(id(new, "a_rimage_1"));
            assert!(image.flags.has(LvFlag::Rebuild), "{level}");
            assert_ne!(image.uuid, vg.lv(id(&vg, "a_rimage_1")).uuid, "{level}");
            let said = block(new, "a_rimage_1");
            let was = block(&vg, "a_rimage_1");
            let (said, was) = (said.split_once("segment1"), was.split_once("segment1"));
            assert_eq!(said.map(|all| all.1), was.map(|all| all.1), "{level}");
            let length = image.extents().0;
            assert_eq!(place(new, "a_rmeta_1"), (free, 0), "{level}");
            assert_eq!(place(new, "a_rimage_1_iorig"), (free, 1), "{level}");
            let behind = (free, 1 + length);
            assert_eq!(place(new, "a_rimage_1_imeta"), behind, "{level}");
            assert_eq!(new.lv(id(new, "a_rimage_1_imeta")).extents().0, 8);
            let plain = done(by_author(|author| remove_checksums(new, "a", author)));
            assert_eq!(2 * plain.lv_count(), new.lv_count() + 1, "{level}");
        }
    }
}

#[test]
fn other_images_go_where_all_of_one_fits() {
    // Proves: a disk that has room for the data and not for the checksums is not taken; where there
    // is none that has it for both, the refusal says so.
    let size = SizeArgument::from_extents("50").expect("a size");
    let mut vg = made("raid1", "12");
    for (name, disk) in [("x", 2), ("y", 3)] {
        let on = places(&vg, &[disk]);
        let new = NewVolume {
            name: Some(name),
            places: Some(&on),
            ..NewVolume::linear(size)
        };
        vg = done(by_author(|author| create_volume(&vg, &new, author)));
    }
    let new = done(repair(&vg, &[1]));
    assert_eq!(place(&new, "a_rimage_1_imeta").0, 4);
    let said = refusal(repair(&vg, &[1, 4, 5, 6, 7]));
    assert!(said.starts_with("Insufficient"), "{said}");
}

#[test]
fn copies_with_checksums_come_and_go() {
    // Proves: more of them have what the others have; those that move up take the names of their
    // parts along; none of those that go leaves anything; and the last two stay.
    let two = made("raid1", "12");
    let change = copies(&two, 3, None).expect("there is room");
    assert_sound(&change);
    assert!(is_zeroed(&change, "a_rimage_2_imeta", 4096));
    let three = change.vg().expect("a group");
    let parts: Vec<String> = ["", "_imeta", "_iorig"]
        .iter()
        .map(|part| format!("a_rimage_2{part}"))
        .collect();
    assert!(
        parts
            .iter()
            .all(|part| names(three).contains(&part.as_str()))
    );
    let [image, other] = ["a_rimage_2", "a_rimage_0"].map(|name| block(three, name));
    assert_eq!(image.replace("rimage_2", "rimage_0"), other);
    // The first one goes, and two move up.
    let all_filled = RaidOptions {
        copies: Some(3),
        checksums: Some(LARGE),
        ..options("raid1")
    };
    let three = done(create(&empty(), "a", "12", all_filled));
    let left = done(copies(&three, 2, Some(&[0])));
    assert_eq!(names(&left), names(&two));
    for number in 0..2 {
        let name = |part: &str| format!("a_rimage_{number}{part}");
        let disk = number + 1;
        assert_eq!(place(&left, &name("_iorig")).0, disk);
        assert_eq!(place(&left, &name("_imeta")).0, disk);
        let said = block(&left, &name(""));
        for part in ["_iorig", "_imeta"] {
            assert!(said.contains(&format!("\"{}\"", name(part))), "{said}");
        }
    }
    let said = refusal(copies(&two, 1, None));
    assert!(said.contains("--raidintegrity n vg/a"), "{said}");
}
