//! Tests: types that become each other, and what lvchange writes.

use super::bench::{create, empty, is_zeroed, options, shown};
use crate::Result;
use crate::model::{LvFlag, RaidLevel, SegmentType, VolumeGroup};
use crate::plan::change::Change;
use crate::plan::logical::{
    ArrayChange, ArrayState, Initial, MirrorLog, MirrorOptions, NewKind, NewVolume, RaidOptions,
    Stripes, Takeover, WriteMostly, change_array, create_volume, resync_array, take_over,
};
use crate::plan::samples::{assert_sound, by_author, done, id, layout, refusal, resize};
use crate::plan::size::SizeArgument;

fn take(vg: &VolumeGroup, to: Takeover) -> Result<Change> {
    by_author(|author| take_over(vg, "a", to, author))
}

fn plain(kind: NewKind, size: &str) -> VolumeGroup {
    let new = NewVolume {
        name: Some("a"),
        kind,
        ..NewVolume::linear(SizeArgument::from_extents(size).expect("a size"))
    };
    done(by_author(|author| create_volume(&empty(), &new, author)))
}

fn striped() -> VolumeGroup {
    let stripes = Stripes {
        count: 3,
        size: None,
    };
    plain(NewKind::Striped(stripes), "6")
}

#[test]
fn stripes_become_images_and_back() {
    // Proves: stock's places, metadata behind the images, and the same extents at the end.
    let vg = striped();
    let before = layout(&vg);
    let zero = done(take(&vg, Takeover::Raid0(RaidLevel::Raid0)));
    assert!(shown(&zero).contains("a_rimage_2: READ WRITE 0+2@pv2:0"));
    let change = take(&zero, Takeover::Raid0(RaidLevel::Raid0Meta)).expect("there is space");
    assert_sound(&change);
    let meta = change.vg().expect("a group");
    assert!(shown(meta).contains("a_rmeta_1: READ WRITE 0+1@pv1:2"));
    assert!(is_zeroed(&change, "a_rmeta_2", 1 << 20));
    let same = refusal(take(meta, Takeover::Raid0(RaidLevel::Raid0Meta)));
    assert!(same.ends_with("already is of type raid0_meta."), "{same}");
    let back = done(take(meta, Takeover::Raid0(RaidLevel::Raid0)));
    assert_eq!(shown(&back), shown(&zero));
    assert_eq!(layout(&done(take(&back, Takeover::Striped))), before);
    assert_eq!(layout(&done(take(meta, Takeover::Striped))), before);
    let direct = done(take(&vg, Takeover::Raid0(RaidLevel::Raid0Meta)));
    assert_eq!(shown(&direct), shown(meta));
}

#[test]
fn images_in_pieces_become_stripes() {
    // Proves: where one image ends, all are cut, and no extent is lost.
    let mut vg = done(create(&empty(), "a", "20", options("raid0")));
    for _ in 0..2 {
        vg = done(create(&vg, "b", "4", options("raid1")));
        vg = done(resize(&vg, "a", "+20", None));
        let name = format!("c{}", vg.seqno);
        vg.rename_lv(id(&vg, "b"), &name).expect("it is free");
        for part in ["rimage_0", "rimage_1", "rmeta_0", "rmeta_1"] {
            let old = id(&vg, &format!("b_{part}"));
            vg.rename_lv(old, &format!("{name}_{part}"))
                .expect("it is free");
        }
    }
    let whole = done(take(&vg, Takeover::Striped));
    let lv = whole.lv(id(&whole, "a"));
    assert_eq!(lv.extents().0, 60);
    assert!(lv.segments.len() > 1 && whole.lv_by_name("a_rimage_0").is_none());
    let again = done(take(&whole, Takeover::Raid0(RaidLevel::Raid0)));
    assert_eq!(shown(&again), shown(&vg));
}

#[test]
fn mirrors_become_arrays_and_back() {
    // Proves: stock's names and places; the log goes and comes, and says what is known.
    let mirror = MirrorOptions {
        legs: 2,
        log: MirrorLog::Disk,
        region_size: None,
        initial: Initial::Synchronise,
    };
    let vg = plain(NewKind::Mirror(mirror, Stripes::LINEAR), "4");
    let change = take(&vg, Takeover::Raid1(None)).expect("there is space");
    assert_sound(&change);
    let array = change.vg().expect("a group");
    let lines = shown(array);
    assert!(
        lines.contains("a_rimage_1: READ WRITE 0+4@pv1:0"),
        "{lines:#?}"
    );
    assert!(
        lines.contains("a_rmeta_1: READ WRITE 0+1@pv1:4"),
        "{lines:#?}"
    );
    assert!(array.lv_by_name("a_mlog").is_none());
    assert!(is_zeroed(&change, "a_rmeta_0", 1 << 20));
    for (state, log, is_new) in [
        (ArrayState::InSync, MirrorLog::Disk, false),
        (ArrayState::OutOfSync, MirrorLog::Disk, true),
    ] {
        let change = take(array, Takeover::Mirror(log, state)).expect("there is space");
        assert_sound(&change);
        let back = change.vg().expect("a group");
        assert!(back.lv_by_name("a_mimage_1").is_some() && back.lv_count() == 4);
        assert_eq!(is_zeroed(&change, "a_mlog", 4096), is_new, "{state:?}");
    }
    let refused = refusal(take(&vg, Takeover::Striped));
    assert!(refused.contains("from mirror to striped"), "{refused}");
    let five = done(create(&empty(), "a", "4", options("raid5")));
    let refused = refusal(take(&five, Takeover::Raid0(RaidLevel::Raid0)));
    assert!(refused.contains("needs a reshape"), "{refused}");
}

#[test]
fn properties_are_written_as_stock_writes_them() {
    // Proves: flags and keys, none for what is the default, and stock's refusals.
    let vg = done(create(&empty(), "a", "4", options("raid1")));
    let pv = |number: usize| vg.pvs().nth(number).expect("it is there").0;
    let change = |vg: &VolumeGroup, changes: &[ArrayChange]| {
        by_author(|author| change_array(vg, "a", changes, author))
    };
    let all = [
        ArrayChange::WriteMostly(pv(1), WriteMostly::Yes),
        ArrayChange::WriteBehind(512),
        ArrayChange::MinRecoveryRate(100),
        ArrayChange::MaxRecoveryRate(2048),
    ];
    let changed = done(change(&vg, &all));
    let lines = shown(&changed);
    assert!(
        lines.contains("a_rimage_1: READ WRITE WRITEMOSTLY 0+4@pv1:1"),
        "{lines:#?}"
    );
    let keys = "region_size = 4096 writebehind = 512 min_recovery_rate = 100 \
                max_recovery_rate = 2048 raids";
    assert!(lines.iter().any(|line| line.contains(keys)), "{lines:#?}");
    let none = [
        ArrayChange::WriteMostly(pv(1), WriteMostly::Toggle),
        ArrayChange::WriteBehind(0),
        ArrayChange::MinRecoveryRate(0),
        ArrayChange::MaxRecoveryRate(0),
    ];
    assert_eq!(shown(&done(change(&changed, &none))), shown(&vg));
    let both = [0, 1].map(|number| ArrayChange::WriteMostly(pv(number), WriteMostly::Yes));
    assert_eq!(
        refusal(change(&vg, &both)),
        "Can't set all images of raid1 LV vg/a to writemostly."
    );
    let five = done(create(&empty(), "a", "4", options("raid5")));
    let refused = refusal(change(&five, &all[1..2]));
    assert!(refused.contains("require LV types raid1"), "{refused}");
    done(change(&five, &all[3..]));
}

#[test]
fn metadata_is_new_where_all_is_made_consistent() {
    // Proves: other extents, zeros, the same images, no flag; and nothing of a degraded array.
    let new = RaidOptions {
        initial: Initial::NoSync,
        ..options("raid5")
    };
    let vg = done(create(&empty(), "a", "4", new));
    let resync = |vg: &VolumeGroup, state| by_author(|author| resync_array(vg, "a", state, author));
    let change = resync(&vg, ArrayState::InSync).expect("there is space");
    assert_sound(&change);
    let after = change.vg().expect("a group");
    assert!(!after.lv(id(after, "a")).flags.has(LvFlag::NotSynced));
    for number in 0..3 {
        let meta = format!("a_rmeta_{number}");
        assert!(is_zeroed(&change, &meta, 1 << 20));
        let lines = shown(after);
        assert!(
            lines.contains(&format!("{meta}: READ WRITE 0+1@pv{number}:3")),
            "{lines:#?}"
        );
        let image = format!("a_rimage_{number}: READ WRITE 0+2@pv{number}:1");
        assert!(lines.contains(&image), "{lines:#?}");
    }
    let stale = refusal(resync(&vg, ArrayState::OutOfSync));
    assert!(stale.contains("does not hold all data"), "{stale}");
    assert!(matches!(
        after.lv(id(after, "a")).first(),
        Some(SegmentType::Raid(_))
    ));
}
