//! Tests: arrays with checksums get other images, and grow; what stock does not do with them is
//! refused.

use std::collections::BTreeSet;

use super::bench::{create, empty, group, is_zeroed, options, places, whole};
use crate::model::{
    Area, IntegrityMode, LvFlag, PhysicalVolume, PvId, RaidLevel, Segment, VolumeGroup, to_text,
};
use crate::ondisk::AreaUse;
use crate::plan::change::Change;
use crate::plan::group::{AreaState, PartialVolumes, remove_missing};
use crate::plan::logical::{
    ArraySplit, ArrayState, CHUNK_SIZE_DEFAULT, ChecksumOptions, CopiesChange, Form, ImageStates,
    LevelChange, MirrorLog, NewSnapshot, NewVolume, RaidOptions, Replacement, ReshapeChange,
    Takeover, change_copies, change_level, change_region_size, create_snapshot, create_volume,
    rebuild_images, remove_checksums, repair_array, replace_images, reshape_array, resync_array,
    split_copies, take_over, track_copy,
};
use crate::plan::samples::{assert_sound, by_author, done, id, refusal, resize};
use crate::plan::size::SizeArgument;
use crate::text::Style;
use crate::{Bytes, Result, Sectors};

const LARGE: ChecksumOptions = ChecksumOptions {
    mode: IntegrityMode::Bitmap,
    block_size: 4096,
};

/// An array `a` whose images have checksums of 4096 bytes, with bitmaps.
fn made(level: &str, size: &str) -> VolumeGroup {
    made_in(&empty(), level, size)
}

fn made_in(vg: &VolumeGroup, level: &str, size: &str) -> VolumeGroup {
    let options = RaidOptions {
        checksums: Some(LARGE),
        ..options(level)
    };
    done(create(vg, "a", size, options))
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

/// The disks on which a volume lies.
fn disks(vg: &VolumeGroup, name: &str) -> BTreeSet<usize> {
    let areas = vg.lv(id(vg, name)).segments.iter().flat_map(Segment::areas);
    let on = areas.map(|area| match area {
        Area::Pv { pv, .. } => pv.index(),
        other @ Area::Lv { .. } => panic!("{name} lies on {other:?}"),
    });
    on.collect()
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

#[test]
fn images_grow_with_their_checksums() {
    // Proves: data and checksums go on behind their last extents, the image says how large its data
    // are; 500 MiB more need 4 MiB more, as stock reckons, also for those of parity.
    for level in ["raid1", "raid5"] {
        let vg = made_in(&group(2048, 2000), level, "400");
        let data = |vg: &VolumeGroup| vg.lv(id(vg, "a_rimage_1")).extents();
        let sums = |vg: &VolumeGroup| vg.lv(id(vg, "a_rimage_1_imeta")).extents().0;
        let metadata = crate::plan::checksums::metadata_extents;
        assert_eq!(sums(&vg), 8, "{level}");
        for more in ["+10", "+900"] {
            let grown = done(resize(&vg, "a", more, None));
            let (length, expected) = (data(&grown), metadata(data(&grown), Sectors(2048)));
            assert!(length > data(&vg), "{level}");
            assert_eq!(grown.lv(id(&grown, "a_rimage_1_iorig")).extents(), length);
            assert_eq!(sums(&grown), expected.expect("countable").0, "{level}");
            let said = block(&grown, "a_rimage_1");
            let sectors = format!("data_sectors = {} ", length.0 * 2048);
            assert!(said.contains(&sectors), "{said}");
            assert_eq!(disks(&grown, "a_rimage_1_imeta").len(), 1, "{level}");
        }
    }
    // Data find room on other disks, their checksums do not.
    let made_on = |extents| made_in(&group(2048, extents), "raid1", "450");
    let grown = done(resize(&made_on(470), "a", "+100", None));
    assert_eq!(disks(&grown, "a_rimage_0_iorig").len(), 2);
    assert_eq!(disks(&grown, "a_rimage_0_imeta"), [0].into());
    let said = refusal(resize(&made_on(460), "a", "+100", None));
    assert!(
        said.contains("checksums of vg/a_rimage_0: 7 more")
            && said.contains("--raidintegrity n vg/a"),
        "{said}"
    );
}

#[test]
fn what_stock_refuses_is_refused() {
    // Proves: whatever else would leave checksums behind is refused, and the way round is named.
    let (mirror, parity) = (made("raid1", "12"), made("raid5", "12"));
    let state = ArrayState::InSync;
    let level = |vg: &VolumeGroup, to: RaidLevel| {
        let change = LevelChange {
            volume: "a",
            to: Form::Raid(to),
            region_size: None,
            stripe_size: None,
            places: None,
            policy: None,
            state,
            head: |_| vec![0; 4096],
        };
        by_author(|author| change_level(vg, &change, author))
    };
    let chunks = ReshapeChange {
        volume: "a",
        stripes: None,
        stripe_size: Some(Sectors(64)),
        level: None,
        places: None,
        policy: None,
        state,
        data_start: Some(Bytes::ZERO),
        may_shrink: false,
        head: |_| vec![0; 4096],
        rest_head: |_| vec![0; 4096],
    };
    let wider = ReshapeChange {
        stripes: Some(3),
        stripe_size: None,
        ..chunks.clone()
    };
    let split = ArraySplit {
        volume: "a",
        count: 1,
        name: "b",
        places: None,
        state,
    };
    let snapshot = NewSnapshot {
        origin: "a",
        chunk_size: CHUNK_SIZE_DEFAULT,
        store: NewVolume {
            name: Some("s"),
            ..NewVolume::linear(SizeArgument::from_extents("4").expect("a size"))
        },
    };
    let to_mirror = Takeover::Mirror(MirrorLog::Core, state);
    let pvs = on(&mirror, &[1]);
    let refused = [
        resize(&mirror, "a", "-1", None),
        resize(&parity, "a", "-2", None),
        with(&pvs, |one| {
            by_author(|author| rebuild_images(&mirror, one, author))
        }),
        by_author(|author| split_copies(&mirror, &split, author)),
        by_author(|author| track_copy(&mirror, "a", (None, state), author)),
        by_author(|author| take_over(&mirror, "a", to_mirror, author)),
        by_author(|author| change_region_size(&mirror, "a", Sectors(64), author)),
        by_author(|author| create_snapshot(&mirror, &snapshot, author)),
        by_author(|author| reshape_array(&parity, &chunks, author)),
        by_author(|author| reshape_array(&parity, &wider, author)),
        level(&mirror, RaidLevel::Raid5Ls),
    ];
    for (number, change) in refused.into_iter().enumerate() {
        let said = refusal(change);
        assert!(
            said.contains("--raidintegrity n vg/a"),
            "number {number}: {said}"
        );
    }
    // What leaves images alone is done.
    let resynced = done(by_author(|author| {
        resync_array(&parity, "a", state, author)
    }));
    assert_eq!(names(&resynced), names(&parity));
}

#[test]
fn what_is_lost_is_given_up_and_comes_back() {
    // Proves: what vgreduce --removemissing --force takes out of the group leaves an error in the
    // place of the image, and nothing of its data and checksums; a repair puts one there that has
    // both, and the group is as it was before.
    let vg = made("raid5", "12");
    let area = |pv: &PhysicalVolume| AreaState {
        pv: pv.uuid,
        area: 0,
        usage: AreaUse::Used,
    };
    let areas: Vec<AreaState> = vg.pvs().map(|(_, pv)| area(pv)).collect();
    let (gone, states) = (on(&vg, &[1]), ImageStates::default());
    let reduced = done(by_author(|author| {
        remove_missing(&vg, &gone, PartialVolumes::Remove, &states, &areas, author)
    }));
    assert_eq!(reduced.lv_count(), vg.lv_count() - 2);
    assert!(block(&reduced, "a_rimage_1").contains("type = \"error\""));
    let repaired = done(repair(&reduced, &[]));
    assert_eq!(names(&repaired), names(&vg));
    let said = block(&repaired, "a_rimage_1");
    assert_eq!(said, block(&vg, "a_rimage_1"));
}
