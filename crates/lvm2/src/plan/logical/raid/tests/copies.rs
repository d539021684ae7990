//! Tests: copies come and go.

use std::collections::BTreeSet;

use super::bench::{create, empty, is_zeroed, options, places, shown};
use crate::Result;
use crate::model::{LvFlag, SegmentType, VolumeGroup};
use crate::plan::change::Change;
use crate::plan::logical::{
    ArraySplit, ArrayState, CopiesChange, Initial, NewVolume, RaidOptions, change_copies,
    create_volume, split_copies,
};
use crate::plan::samples::{assert_sound, by_author, done, id, layout, refusal};
use crate::plan::size::SizeArgument;

fn convert(
    vg: &VolumeGroup,
    copies: usize,
    state: ArrayState,
    on: Option<&[usize]>,
) -> Result<Change> {
    let places = on.map(|numbers| places(vg, numbers));
    let change = CopiesChange {
        volume: "a",
        copies,
        region_size: None,
        places: places.as_ref(),
        policy: None,
        state,
    };
    by_author(|author| change_copies(vg, &change, author))
}

fn linear() -> VolumeGroup {
    let size = SizeArgument::from_extents("8").expect("a size");
    let new = NewVolume {
        name: Some("a"),
        ..NewVolume::linear(size)
    };
    done(by_author(|author| create_volume(&empty(), &new, author)))
}

/// What an array of two copies is behind its first use, in sync.
fn pair() -> VolumeGroup {
    done(create(&empty(), "a", "8", options("raid1")))
}

fn is_rebuilt(vg: &VolumeGroup, name: &str) -> bool {
    vg.lv(id(vg, name)).flags.has(LvFlag::Rebuild)
}

#[test]
fn a_linear_volume_gets_copies() {
    // Proves: stock's places; the data stays where it is and fills the others; metadata is zeroed.
    let change = convert(&linear(), 2, ArrayState::OutOfSync, None).expect("there is space");
    assert_sound(&change);
    let vg = change.vg().expect("a group");
    let lines: BTreeSet<String> = shown(vg);
    let expected = [
        "a_rimage_0: READ WRITE 0+8@pv0:0",
        "a_rimage_1: READ WRITE REBUILD 0+8@pv1:1",
        "a_rmeta_0: READ WRITE 0+1@pv0:8",
        "a_rmeta_1: READ WRITE 0+1@pv1:0",
    ];
    let expected: BTreeSet<String> = expected.into_iter().map(str::to_owned).collect();
    assert!(lines.is_superset(&expected), "{lines:#?}");
    let whole = lines.difference(&expected).next().expect("the array");
    assert!(
        whole.contains("type = \"raid1\" device_count = 2 region_size = 4096"),
        "{whole}"
    );
    assert!(is_zeroed(&change, "a_rmeta_0", 1 << 20) && is_zeroed(&change, "a_rmeta_1", 1 << 20));
    assert!(!is_zeroed(&change, "a_rimage_1", 512) && !is_zeroed(&change, "a_rimage_0", 512));
}

#[test]
fn copies_come_and_go() {
    // Proves: a third copy is filled; with the first one gone, the others move up and keep where
    // they lie; with one left the volume is linear there. Metadata that counts other images is
    // given up, and not written to.
    let change = convert(&pair(), 3, ArrayState::InSync, None).expect("there is space");
    for number in 0..3 {
        assert!(is_zeroed(&change, &format!("a_rmeta_{number}"), 1 << 20));
    }
    let vg = done(Ok(change));
    assert!(shown(&vg).contains("a_rmeta_0: READ WRITE 0+1@pv0:9"));
    assert!(is_rebuilt(&vg, "a_rimage_2") && !is_rebuilt(&vg, "a_rimage_1"));
    let mut filled = vg.clone();
    let third = id(&vg, "a_rimage_2");
    filled.lv_mut(third).flags.remove(LvFlag::Rebuild);
    let less = done(convert(&filled, 2, ArrayState::InSync, Some(&[0])));
    let lines = shown(&less);
    assert!(
        lines.contains("a_rimage_0: READ WRITE 0+8@pv1:1"),
        "{lines:#?}"
    );
    assert!(
        lines.contains("a_rmeta_1: READ WRITE 0+1@pv2:9"),
        "{lines:#?}"
    );
    assert_eq!(less.lv_count(), 5);
    let one = done(convert(&less, 1, ArrayState::InSync, None));
    assert_eq!(layout(&one), ["a: 0+8 linear pv1:1"]);
}

#[test]
fn the_copy_with_the_data_stays() {
    // Proves: the first copy does not go while the others may lack something, nor the only one
    // that is not to be filled.
    let said = "Unable to extract primary RAID image";
    for state in [ArrayState::OutOfSync, ArrayState::Unused] {
        let first = refusal(convert(&pair(), 1, state, Some(&[0])));
        assert!(first.starts_with(said), "{first}");
        done(convert(&pair(), 1, state, Some(&[1])));
    }
    let mut vg = pair();
    let first = id(&vg, "a_rimage_0");
    vg.lv_mut(first).flags.insert(LvFlag::Rebuild);
    let second = refusal(convert(&vg, 1, ArrayState::InSync, Some(&[1])));
    assert!(second.starts_with(said), "{second}");
    let left = done(convert(&vg, 1, ArrayState::InSync, Some(&[0])));
    assert_eq!(layout(&left), ["a: 0+8 linear pv1:1"]);
}

#[test]
fn nothing_is_added_to_what_is_out_of_sync() {
    // Proves: stock's refusals; the new image of an array that nobody has used is filled as well.
    let more = |vg: &VolumeGroup, state| convert(vg, 3, state, None);
    let said = refusal(more(&pair(), ArrayState::OutOfSync));
    assert!(said.contains("not in-sync"), "{said}");
    let never = RaidOptions {
        initial: Initial::NoSync,
        ..options("raid1")
    };
    let never = done(create(&empty(), "a", "8", never));
    let said = refusal(more(&never, ArrayState::InSync));
    assert!(said.contains("use 'lvchange --resync' first"), "{said}");
    let vg = done(more(&pair(), ArrayState::Unused));
    assert!(is_rebuilt(&vg, "a_rimage_2"));
    let few = refusal(convert(&pair(), 3, ArrayState::InSync, Some(&[0, 1])));
    assert!(few.starts_with("Insufficient"), "{few}");
    let parity = done(create(&empty(), "a", "8", options("raid5")));
    let said = refusal(more(&parity, ArrayState::InSync));
    assert!(said.contains("is of type raid5"), "{said}");
}

#[test]
fn a_copy_becomes_a_volume() {
    // Proves: the last one, or the one that is named; its metadata goes; stock's refusals.
    let three = RaidOptions {
        copies: Some(3),
        ..options("raid1")
    };
    let vg = done(create(&empty(), "a", "8", three));
    let split = |vg: &VolumeGroup, count, state, on: Option<&[usize]>| {
        let places = on.map(|numbers| places(vg, numbers));
        let split = ArraySplit {
            volume: "a",
            count,
            name: "b",
            places: places.as_ref(),
            state,
        };
        by_author(|author| split_copies(vg, &split, author))
    };
    let after = done(split(&vg, 1, ArrayState::InSync, None));
    assert!(layout(&after).contains(&"b: 0+8 linear pv2:1".to_owned()));
    assert!(after.lv(id(&after, "b")).flags.has(LvFlag::Visible));
    assert_eq!(after.lv_count(), 6);
    let after = done(split(&vg, 1, ArrayState::InSync, Some(&[0])));
    assert!(shown(&after).contains("a_rimage_0: READ WRITE 0+8@pv1:1"));
    let two = refusal(split(&vg, 2, ArrayState::InSync, None));
    assert_eq!(two, "Unable to split more than one image from vg/a.");
    let all = refusal(split(&vg, 3, ArrayState::InSync, None));
    assert_eq!(all, "Unable to split images by specified amount.");
    let early = refusal(split(&vg, 1, ArrayState::OutOfSync, None));
    assert_eq!(early, "Unable to split vg/a while it is not in-sync.");
    let last = done(split(&pair(), 1, ArrayState::InSync, None));
    let is_linear = |name| {
        matches!(
            last.lv(id(&last, name)).first(),
            Some(SegmentType::Striped(_))
        )
    };
    assert!(is_linear("a") && is_linear("b") && last.lv_count() == 2);
}
