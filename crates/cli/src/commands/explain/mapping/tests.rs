//! Mappings of made-up groups, sound and hostile.

use lab::layout::{Area, Segment as Run};
use lvm2::model::{self, LogicalVolume, LvId, Segment, SegmentType, Striped, VolumeGroup};
use lvm2::{Extents, Sectors, Uuid};

use super::Mapping;

const MIB: u64 = 1 << 20;

/// A group of two physical volumes with extents of 1 MiB.
fn group() -> (VolumeGroup, [model::PvId; 2]) {
    let mut group = VolumeGroup::new("vg", Uuid::from_random(&[0; 32]), Sectors(2048));
    let pvs = [b'a', b'b'].map(|letter| {
        let uuid = Uuid::from_random(&[letter; 32]);
        group.add_pv(model::PhysicalVolume::new(
            uuid,
            Sectors(2048),
            Extents(100),
        ))
    });
    (group, pvs)
}

fn add(group: &mut VolumeGroup, number: u8, segments: Vec<Segment>) -> LvId {
    let uuid = Uuid::from_random(&[number + 1; 32]);
    let mut lv = LogicalVolume::new(format!("lv{number}"), uuid);
    lv.segments = segments;
    group.add_lv(lv).expect("a new name")
}

fn linear(start: u64, length: u64, area: model::Area) -> Segment {
    Segment::linear(Extents(start), Extents(length), area)
}

fn on(pv: model::PvId, start: u64) -> model::Area {
    let start = Extents(start);
    model::Area::Pv { pv, start }
}

fn within(lv: LvId, start: u64) -> model::Area {
    let start = Extents(start);
    model::Area::Lv { lv, start }
}

/// A volume on a part of another is seen through to the disks; what goes on is one run.
#[test]
fn volumes_below_are_seen_through() {
    let (mut group, [a, b]) = group();
    let parts = vec![
        linear(0, 4, on(a, 0)),
        linear(4, 4, on(a, 4)),
        linear(8, 4, on(b, 9)),
    ];
    let below = add(&mut group, 0, parts);
    let stripes = Striped {
        stripe_size: Sectors(128),
        areas: vec![within(below, 2), on(b, 50)],
    };
    let stripes = Segment::new(Extents(0), Extents(8), SegmentType::Striped(stripes));
    let upper = add(&mut group, 1, vec![stripes, linear(8, 6, within(below, 6))]);
    let found = Mapping::of(&group, "vg", upper).expect("a mapping");
    let area = |disk, mib: u64| Area {
        disk,
        start: mib * MIB,
    };
    let run = |len: u64, area| Run::Linear {
        len: len * MIB,
        area,
        cut: None,
    };
    // The first extent lies at 1 MiB.
    let striped = Run::Striped {
        len: 8 * MIB,
        chunk: 65536,
        areas: vec![area(0, 3), area(1, 51)],
    };
    let wanted = [striped, run(2, area(0, 7)), run(4, area(1, 10))];
    assert_eq!(found.segments, wanted);
    assert_eq!(found.disks, [a, b]);
}

/// A volume on itself, one that ends too early, and a tower that doubles at each level are refused,
/// and soon.
#[test]
fn hostile_metadata_is_refused() {
    let (mut group, [a, _]) = group();
    let itself = add(&mut group, 0, Vec::new());
    group.lv_mut(itself).segments = vec![linear(0, 1, within(itself, 0))];
    let refused = Mapping::of(&group, "vg", itself).expect_err("a loop");
    assert!(
        refused
            .to_string()
            .contains("vg/lv0 cannot be explained: it stands on itself")
    );
    let small = add(&mut group, 1, vec![linear(0, 1, on(a, 0))]);
    let beyond = add(&mut group, 2, vec![linear(0, 2, within(small, 0))]);
    let refused = Mapping::of(&group, "vg", beyond).expect_err("too short");
    assert!(refused.to_string().contains("more of a volume below"));
    let mut top = small;
    for level in 3..24 {
        let size = 1 << (level - 3);
        let both = vec![
            linear(0, size, within(top, 0)),
            linear(size, size, within(top, 0)),
        ];
        top = add(&mut group, level, both);
    }
    let refused = Mapping::of(&group, "vg", top).expect_err("too many pieces");
    assert!(refused.to_string().contains("pieces"), "{refused}");
    // Each level asks twice for the first extent of the one below.
    let mut top = small;
    for level in 24..50 {
        let both = vec![linear(0, 1, within(top, 0)), linear(1, 1, within(top, 0))];
        top = add(&mut group, level, both);
    }
    let found = Mapping::of(&group, "vg", top).expect("a mapping");
    assert_eq!(found.segments.len(), 2);
}
