//! Tests: parity and copies come and go, and no extent of the data moves.

use super::bench::{create, empty, is_zeroed, lengths, options, region, shown};
use crate::Result;
use crate::model::{Area, LvFlag, RaidFamily, SegmentType, VolumeGroup};
use crate::plan::change::{Before, Change};
use crate::plan::logical::{
    ArrayHead, ArrayState, Form, LevelChange, NewKind, NewVolume, RaidOptions, Stripes,
    change_level, create_volume,
};
use crate::plan::samples::{assert_sound, by_author, done, id, layout, refusal};
use crate::plan::size::SizeArgument;

/// What a head says in these tests: the place, the level's first and the number of images.
fn head(head: &ArrayHead) -> Vec<u8> {
    assert_eq!(head.size.0 % head.image_size.0, 0, "images have a share");
    let level = head.raid.level.name().as_bytes();
    let mut bytes = vec![head.place as u8, head.raid.images.len() as u8];
    bytes.extend(level);
    bytes.resize(8192, 0);
    bytes
}

fn form(name: &str) -> Form {
    match name {
        "striped" => Form::Striped,
        name => Form::Raid(options(name).level),
    }
}

fn change(vg: &VolumeGroup, to: &str, state: ArrayState) -> Result<Change> {
    let change = LevelChange {
        volume: "a",
        to: form(to),
        region_size: None,
        stripe_size: None,
        places: None,
        policy: None,
        state,
        head,
    };
    by_author(|author| change_level(vg, &change, author))
}

fn striped(count: usize) -> VolumeGroup {
    let stripes = Stripes { count, size: None };
    let size = SizeArgument::from_extents("12").expect("a size");
    let new = NewVolume {
        name: Some("a"),
        kind: NewKind::Striped(stripes),
        ..NewVolume::linear(size)
    };
    done(by_author(|author| create_volume(&empty(), &new, author)))
}

fn array(level: &str, stripes: usize) -> VolumeGroup {
    let new = RaidOptions {
        stripes: (level != "raid1").then_some(stripes),
        ..options(level)
    };
    done(create(&empty(), "a", "12", new))
}

/// Where the data of an array begin, in their order: what must never change.
fn data_of(vg: &VolumeGroup) -> Vec<String> {
    let lv = vg.lv(id(vg, "a"));
    let at = |area: &Area| match area {
        Area::Pv { pv, start } => format!("pv{}:{}", pv.index(), start.0),
        Area::Lv { .. } => panic!("it lies on a volume"),
    };
    match lv.first().expect("a segment") {
        SegmentType::Raid(raid) => {
            let copies = raid.copies() as usize;
            let data = raid.level.data_images(raid.images.len(), raid.copies());
            let skip = usize::from(raid.level.family() == RaidFamily::Raid4);
            let step = match raid.level.family() {
                RaidFamily::Raid10 => copies,
                _ => 1,
            };
            let images = raid.images.iter().skip(skip).step_by(step).take(data);
            images
                .map(|image| at(&vg.lv(image.data).segments[0].areas()[0]))
                .collect()
        }
        _ => lv.segments[0].areas().iter().map(at).collect(),
    }
}

fn assert_named(vg: &VolumeGroup, what: &str) {
    let Some(SegmentType::Raid(raid)) = vg.lv(id(vg, "a")).first() else {
        return;
    };
    for (number, image) in raid.images.iter().enumerate() {
        let name = format!("a_rimage_{number}");
        assert_eq!(vg.lv(image.data).name(), name, "{what}");
        if let Some(meta) = image.meta {
            assert_eq!(vg.lv(meta).name(), format!("a_rmeta_{number}"), "{what}");
        }
    }
}

fn flagged(vg: &VolumeGroup) -> Vec<String> {
    let flagged = vg.lvs().filter(|(_, lv)| lv.flags.has(LvFlag::Rebuild));
    flagged.map(|(_, lv)| lv.name().to_owned()).collect()
}

/// Stripes get parity or copies: the data stay, all metadata are zeros, and no flag is set, since
/// all of the array is made consistent.
#[test]
fn stripes_get_redundancy() {
    for from in ["striped", "raid0", "raid0_meta"] {
        for (to, more) in [
            ("raid4", 1),
            ("raid5_n", 1),
            ("raid6_n_6", 2),
            ("raid10", 3),
        ] {
            let vg = match from {
                "striped" => striped(3),
                level => array(level, 3),
            };
            let change = change(&vg, to, ArrayState::InSync).expect("there is space");
            assert_sound(&change);
            let after = change.vg().expect("a group");
            let what = format!("{from} to {to}");
            assert_eq!(data_of(after), data_of(&vg), "{what}");
            assert_named(after, &what);
            assert_eq!(flagged(after), [""; 0], "{what}");
            assert_eq!(region(after, "a"), 4096, "{what}");
            for number in 0..3 + more {
                let meta = format!("a_rmeta_{number}");
                assert!(is_zeroed(&change, &meta, 1 << 20), "{what}: {meta}");
                assert_eq!(lengths(after, "a", number), (4, 1), "{what}");
            }
            assert!(
                after
                    .lv_by_name(&format!("a_rimage_{}", 3 + more))
                    .is_none()
            );
        }
    }
}

/// A second parity is filled, and goes; metadata of images that stay stays.
#[test]
fn second_parities_come_and_go() {
    for (one, two) in [
        ("raid5_ls", "raid6_ls_6"),
        ("raid5_la", "raid6_la_6"),
        ("raid5_rs", "raid6_rs_6"),
        ("raid5_ra", "raid6_ra_6"),
        ("raid5_n", "raid6_n_6"),
    ] {
        let vg = array(one, 3);
        let more = change(&vg, two, ArrayState::InSync).expect("there is space");
        assert_sound(&more);
        let six = more.vg().expect("a group");
        assert_eq!(flagged(six), ["a_rimage_4"]);
        let (before, after) = (shown(&vg), shown(six));
        let parts = before.iter().filter(|line| line.starts_with("a_r"));
        assert!(parts.clone().count() == 8 && parts.into_iter().all(|one| after.contains(one)));
        assert!(is_zeroed(&more, "a_rmeta_4", 1 << 20) && more.before.len() == 1);
        let again = refusal(change(six, one, ArrayState::InSync));
        assert!(again.contains("not in-sync"), "{again}");
        let six = array(two, 3);
        let less = change(&six, one, ArrayState::InSync).expect("it is less");
        assert_sound(&less);
        assert!(less.before.is_empty(), "nothing is written");
        let five = less.vg().expect("a group");
        assert!(five.lv_by_name("a_rimage_3").is_some() && five.lv_by_name("a_rimage_4").is_none());
    }
}

/// A parity that moves to the other end takes its image along; metadata is new, and says that all
/// is in sync in the new places.
#[test]
fn parity_changes_its_place() {
    for (from, to, added) in [
        ("raid4", "raid5_n", 0),
        ("raid5_n", "raid4", 0),
        ("raid6_n_6", "raid4", 0),
        ("raid4", "raid6_n_6", 1),
    ] {
        let vg = array(from, 3);
        let made = change(&vg, to, ArrayState::InSync).expect("there is space");
        assert_sound(&made);
        let after = made.vg().expect("a group");
        let what = format!("{from} to {to}");
        assert_eq!(data_of(after), data_of(&vg), "{what}");
        assert_named(after, &what);
        assert_eq!(flagged(after).len(), added, "{what}");
        let heads: Vec<_> = made
            .before
            .iter()
            .filter_map(|step| match step {
                Before::Write { piece, bytes } => Some((piece, bytes)),
                _ => None,
            })
            .collect();
        assert_eq!(
            heads.len(),
            8,
            "{what}: two blocks for each that is not filled"
        );
        for (place, head) in heads.chunks(2).enumerate() {
            assert_eq!(
                (head[0].1[0] as usize, head[0].1[1] as usize),
                (place, 4 + added)
            );
            assert_eq!(&head[0].1[2..2 + to.len()], to.as_bytes());
            let meta = id(after, &format!("a_rmeta_{place}"));
            let Area::Pv { pv, start } = after.lv(meta).segments[0].areas()[0] else {
                panic!("it lies on a physical volume");
            };
            assert_eq!(head[0].0.pv, after.pv(pv).uuid);
            assert_eq!(head[0].0.start.0, (1 + start.0) << 20);
        }
        let (old, new) = (shown(&vg), shown(after));
        let metas = |lines: &std::collections::BTreeSet<String>| -> Vec<String> {
            let metas = lines.iter().filter(|line| line.starts_with("a_rmeta_"));
            let places = metas.filter_map(|line| line.split('@').nth(1));
            places.map(str::to_owned).collect()
        };
        let is_used = |place: &String| metas(&old).contains(place);
        assert!(!metas(&new).iter().any(is_used), "{what}: metadata in use");
    }
}

/// Two images are a mirror or data and parity: nothing but the name changes.
#[test]
fn pairs_become_each_other() {
    for to in ["raid4", "raid5", "raid5_n", "raid5_ra"] {
        let vg = done(create(&empty(), "a", "12", options("raid1")));
        let made = change(&vg, to, ArrayState::InSync).expect("it is possible");
        assert_sound(&made);
        assert!(made.before.is_empty(), "nothing is written");
        let five = made.vg().expect("a group");
        let text = shown(five);
        assert!(
            text.iter()
                .any(|line| line.contains(&format!("type = \"{to}\""))
                    && line.contains("stripe_size = 128")),
            "{text:#?}"
        );
        let back = done(change(five, "raid1", ArrayState::InSync));
        assert_eq!(shown(&back), shown(&vg));
    }
    let many = RaidOptions {
        copies: Some(3),
        ..options("raid1")
    };
    let vg = done(create(&empty(), "a", "12", many));
    let said = refusal(change(&vg, "raid5", ArrayState::InSync));
    assert_eq!(said, "Convert raid1 LV vg/a to 2 images first.");
}

/// Redundancy goes where the array is in sync, and the same stripes are left.
#[test]
fn redundancy_goes() {
    for (level, count) in [
        ("raid4", 3),
        ("raid5_n", 3),
        ("raid6_n_6", 3),
        ("raid10", 3),
    ] {
        let vg = array(level, count);
        for to in ["striped", "raid0", "raid0_meta"] {
            let made = change(&vg, to, ArrayState::InSync).expect("it is possible");
            assert_sound(&made);
            let after = made.vg().expect("a group");
            let what = format!("{level} to {to}");
            assert_eq!(data_of(after), data_of(&vg), "{what}");
            assert_named(after, &what);
            let parts = match to {
                "striped" => 0,
                "raid0" => 3,
                _ => 6,
            };
            assert_eq!(after.lv_count(), 1 + parts, "{what}");
        }
        for state in [ArrayState::OutOfSync, ArrayState::Unused] {
            let said = refusal(change(&vg, "striped", state));
            assert!(said.contains("not in-sync"), "{said}");
        }
    }
    assert_eq!(
        layout(&done(change(
            &array("raid5_n", 3),
            "striped",
            ArrayState::InSync
        )))
        .len(),
        layout(&striped(3)).len()
    );
}

/// What is on the way is done first and said; what moves data is refused by its name.
#[test]
fn steps_are_named() {
    let made = change(&striped(3), "raid6", ArrayState::InSync).expect("there is space");
    let texts: Vec<&str> = made.messages.iter().map(|one| &*one.text).collect();
    assert!(
        texts.contains(&"Replaced LV type raid6 with possible type raid6_n_6."),
        "{texts:?}"
    );
    let five = array("raid5", 3);
    let said = refusal(change(&five, "striped", ArrayState::InSync));
    assert!(
        said.contains("it has to become raid5_n first, which moves its data, a reshape"),
        "{said}"
    );
    let said = refusal(change(&five, "raid5_rs", ArrayState::InSync));
    assert!(said.contains("that moves its data, a reshape"), "{said}");
    let said = refusal(change(&five, "raid5_ls", ArrayState::InSync));
    assert_eq!(said, "Logical volume vg/a already is of type raid5.");
    let small = done(create(
        &empty(),
        "a",
        "4",
        RaidOptions {
            stripes: Some(2),
            ..options("raid5")
        },
    ));
    let said = refusal(change(&small, "raid6", ArrayState::InSync));
    assert!(
        said.contains("it has to have 4 images first, not 3"),
        "{said}"
    );
}
