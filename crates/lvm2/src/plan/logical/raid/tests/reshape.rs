//! Tests: a reshape begins, the data keep their extents, and in the end its space is given up.

use super::bench::{create, empty, options, shown};
use crate::model::{Area, SegmentType, TypeFlag, VolumeGroup};
use crate::plan::change::{Before, Change};
use crate::plan::logical::{
    ArrayHead, ArrayState, RaidOptions, ReshapeChange, ReshapeHead, reshape_array,
};
use crate::plan::samples::{by_author, done, id, refusal};
use crate::{Bytes, Extents, Result, Sectors};

fn head(head: &ReshapeHead) -> Vec<u8> {
    let images = [&head.before, &head.raid].map(|raid| raid.images.len() as u8);
    let mut bytes = vec![
        head.place as u8,
        images[0],
        images[1],
        head.space.0.ilog2() as u8,
    ];
    bytes.resize(8192, 0);
    bytes
}

fn array(level: &str, stripes: usize) -> VolumeGroup {
    let new = RaidOptions {
        stripes: Some(stripes),
        ..options(level)
    };
    done(create(&empty(), "a", "12", new))
}

fn asked() -> ReshapeChange<'static> {
    ReshapeChange {
        volume: "a",
        stripes: None,
        stripe_size: None,
        level: None,
        places: None,
        policy: None,
        state: ArrayState::InSync,
        data_start: Some(Bytes::ZERO),
        may_shrink: false,
        head,
        rest_head,
    }
}

fn rest_head(head: &ArrayHead) -> Vec<u8> {
    let images = head.raid.images.len() as u8;
    let mut bytes = vec![head.place as u8, images, images, 1];
    bytes.resize(8192, 0);
    bytes
}

fn reshape(vg: &VolumeGroup, change: &ReshapeChange<'_>) -> Result<Change> {
    by_author(|author| reshape_array(vg, change, author))
}

/// What superblocks will say, by image: its place, how many there were and are, and the space.
fn heads(change: &Change) -> Vec<[u8; 4]> {
    let written = change.before.iter().filter_map(|step| match step {
        Before::Write { bytes, .. } if bytes[3] != 0 => Some(bytes[..4].try_into().expect("four")),
        _ => None,
    });
    written.collect()
}

fn image(vg: &VolumeGroup, number: usize) -> Vec<(u64, u64, u64)> {
    let lv = vg.lv(id(vg, &format!("a_rimage_{number}")));
    let all = lv.segments.iter();
    all.map(|one| (one.start.0, one.length.0, one.reshape.0))
        .collect()
}

/// More stripes: space in front of each image, one more image as long, and new metadata that says
/// what was and will be. Once more when it is over, and all of the space is free again.
#[test]
fn stripes_are_added_and_the_space_is_given_up() {
    let before = array("raid5", 2);
    let more = ReshapeChange {
        stripes: Some(3),
        ..asked()
    };
    let change = reshape(&before, &more).expect("it can be");
    assert_eq!(
        heads(&change),
        [[0, 3, 4, 20], [1, 3, 4, 20], [2, 3, 4, 20], [3, 3, 4, 20]]
    );
    let vg = done(Ok(change));
    let segment = &vg.lv(id(&vg, "a")).segments[0];
    assert_eq!((segment.length, segment.reshape), (Extents(21), Extents(1)));
    let shown = shown(&vg);
    let all = shown.iter().find(|line| line.starts_with("a {"));
    let all = all.expect("it is there");
    assert!(
        all.contains("type = \"raid5+RESHAPE+RESHAPE_DATA_OFFSET\""),
        "{all}"
    );
    assert!(all.contains("reshape_count = 1"), "{all}");
    for number in 0..4 {
        assert_eq!(image(&vg, number), [(0, 1, 1), (1, 6, 0)], "image {number}");
    }
    let unended = ReshapeChange {
        data_start: Some(Bytes(1 << 19)),
        ..more.clone()
    };
    let why = refusal(reshape(&vg, &unended));
    assert!(why.contains("begin elsewhere"), "{why}");
    let unended = ReshapeChange {
        state: ArrayState::OutOfSync,
        ..more.clone()
    };
    let why = refusal(reshape(&vg, &unended));
    assert!(why.contains("not over"), "{why}");
    let ended = done(reshape(&vg, &more));
    let segment = &ended.lv(id(&ended, "a")).segments[0];
    assert_eq!((segment.length, segment.reshape), (Extents(18), Extents(0)));
    assert_eq!(segment.type_flags, []);
    for number in 0..4 {
        let lv = ended.lv(id(&ended, &format!("a_rimage_{number}")));
        assert_eq!(lv.extents(), Extents(6), "image {number}");
    }
}

/// Fewer stripes: space behind each image, and the last one is to go, as in stock's text. When it
/// is over the image is gone, and the space in front of the others is free.
#[test]
fn stripes_are_taken_away_and_the_space_is_given_up() {
    let before = array("raid5", 3);
    let fewer = ReshapeChange {
        stripes: Some(2),
        may_shrink: true,
        ..asked()
    };
    let change = reshape(&before, &fewer).expect("it can be");
    assert_eq!(
        heads(&change),
        [[0, 4, 3, 20], [1, 4, 3, 20], [2, 4, 3, 20], [3, 4, 3, 20]]
    );
    let vg = done(Ok(change));
    let segment = &vg.lv(id(&vg, "a")).segments[0];
    assert_eq!((segment.length, segment.reshape), (Extents(15), Extents(1)));
    for number in 0..4 {
        let list = image(&vg, number);
        let all: (u64, u64) = list.iter().fold((0, 0), |(length, space), one| {
            (length + one.1, space + one.2)
        });
        assert_eq!(all, (5, 1), "image {number}");
        for part in ["rimage", "rmeta"] {
            let lv = vg.lv(id(&vg, &format!("a_{part}_{number}")));
            let flags: &[TypeFlag] = match number {
                3 => &[TypeFlag::RemoveAfterReshape],
                _ => &[],
            };
            assert!(lv.segments.iter().all(|one| one.type_flags == flags));
        }
    }
    let first = |vg: &VolumeGroup| {
        let image = vg.lv(id(vg, "a_rimage_0"));
        match image.segments[0].areas() {
            [Area::Pv { pv, start }] => (*pv, start.0),
            other => panic!("{other:?}"),
        }
    };
    let (pv, start) = first(&vg);
    for (data_start, expected) in [(1 << 20, start + 1), (0, start)] {
        let ended = ReshapeChange {
            data_start: Some(Bytes(data_start)),
            ..fewer.clone()
        };
        let change = reshape(&vg, &ended).expect("it is over");
        let renewed = heads(&change);
        let vg = done(Ok(change));
        let segment = &vg.lv(id(&vg, "a")).segments[0];
        assert_eq!((segment.length, segment.reshape), (Extents(8), Extents(0)));
        assert_eq!(segment.type_flags, []);
        for number in 0..3 {
            assert_eq!(image(&vg, number), [(0, 4, 0)], "image {number}");
        }
        assert_eq!(first(&vg), (pv, expected));
        assert!(vg.lv_by_name("a_rimage_3").is_none());
        // Superblocks say where the data begin, so they are new where that changes.
        assert_eq!(renewed.len(), if data_start > 0 { 3 } else { 0 });
    }
}

/// Chunks and layouts change on the same images.
#[test]
fn chunks_and_layouts_change_on_the_same_images() {
    let before = array("raid6", 3);
    let chunks = ReshapeChange {
        stripe_size: Some(Sectors(256)),
        ..asked()
    };
    let layout = ReshapeChange {
        level: Some(options("raid6_n_6").level),
        ..asked()
    };
    for (change, level, chunk) in [(chunks, "raid6_zr", 256), (layout, "raid6_n_6", 128)] {
        let vg = done(reshape(&before, &change));
        let Some(SegmentType::Raid(raid)) = vg.lv(id(&vg, "a")).first() else {
            panic!("it is an array");
        };
        assert_eq!(
            raid.level.name().replace("raid6_zr", "raid6"),
            level.replace("raid6_zr", "raid6")
        );
        assert_eq!((raid.stripe_size, raid.images.len()), (Sectors(chunk), 5));
        assert_eq!(image(&vg, 4), [(0, 1, 1), (1, 4, 0)]);
    }
}

/// What is not done is refused, and says why.
#[test]
fn what_is_not_done_says_why() {
    let vg = array("raid5", 3);
    let cases = [
        (
            ReshapeChange {
                stripes: Some(2),
                ..asked()
            },
            "--force",
        ),
        (
            ReshapeChange {
                stripes: Some(0),
                may_shrink: true,
                ..asked()
            },
            "so many stripes",
        ),
        (
            ReshapeChange {
                stripes: Some(2),
                stripe_size: Some(Sectors(256)),
                may_shrink: true,
                ..asked()
            },
            "one after the other",
        ),
        (
            ReshapeChange {
                stripes: Some(3),
                ..asked()
            },
            "is that already",
        ),
        (
            ReshapeChange {
                stripes: Some(4),
                level: Some(options("raid5_rs").level),
                ..asked()
            },
            "one after the other",
        ),
        (
            ReshapeChange {
                stripes: Some(4),
                state: ArrayState::OutOfSync,
                ..asked()
            },
            "in-sync",
        ),
        (
            ReshapeChange {
                level: Some(options("raid6").level),
                ..asked()
            },
            "the level changes",
        ),
        (
            ReshapeChange {
                stripe_size: Some(Sectors(24)),
                ..asked()
            },
            "power of 2",
        ),
    ];
    for (change, expected) in cases {
        let why = refusal(reshape(&vg, &change));
        assert!(why.contains(expected), "{why}");
    }
    let mirror = done(create(&empty(), "a", "12", options("raid1")));
    let why = refusal(reshape(&mirror, &asked()));
    assert!(why.contains("raid4, raid5 and raid6"), "{why}");
}
