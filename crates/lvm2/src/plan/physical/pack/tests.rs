//! Tests: extents move to the front, nothing is read and written, and what must not move stays.

use proptest::prelude::{ProptestConfig, any, prop, proptest};

use super::pack_pv;
use crate::model::samples::{PE_COUNT, every_type, hidden_linear, linear, lv, read, text};
use crate::model::{AllocationMap, Area, LvId, PvId, SegmentType, VolumeGroup};
use crate::ondisk::PvHeader;
use crate::plan::change::{Before, Change};
use crate::plan::initialise::{Device, NewPv, Topology};
use crate::plan::samples::{assert_sound, by_author, layout};
use crate::{Bytes, Result, Sectors};

fn header(vg: &VolumeGroup, pv: PvId) -> PvHeader {
    let device = Device {
        size: Sectors(210_000),
        page_size: Bytes(4096),
        topology: Topology::default(),
    };
    let new = NewPv::new(vg.pv(pv).uuid);
    new.lay_out(&device).expect("it fits").label.pv
}

fn pack(vg: &VolumeGroup) -> Result<Change> {
    Ok(fixed(vg)?.0)
}

/// Besides, which volumes stay.
fn fixed(vg: &VolumeGroup) -> Result<(Change, Vec<LvId>)> {
    let pv = vg.pvs().next().expect("there are three").0;
    by_author(|author| pack_pv(vg, pv, &header(vg, pv), author))
}

/// The first extents that are copied, with where they go and how many.
fn copies(vg: &VolumeGroup, change: &Change) -> Vec<(u64, u64, u64)> {
    let extent = vg.extent_size.to_bytes().expect("it is small").0;
    let start = vg.pvs().next().expect("there are three").1.pe_start;
    let start = start.to_bytes().expect("it is small").0;
    let number = |at: Bytes| (at.0 - start) / extent;
    let copies = change.before.iter().map(|step| match step {
        Before::Copy { from, to } => {
            assert_eq!((from.pv, from.length), (to.pv, to.length));
            (number(from.start), number(to.start), from.length.0 / extent)
        }
        other => panic!("{other:?}"),
    });
    copies.collect()
}

#[test]
fn what_lies_behind_goes_into_the_holes() {
    // Proves: the last volumes fill the first holes, in order, and segments that meet are joined.
    let vg = read(&text(&[
        linear("a", 0, 2, 3),
        linear("b", 0, 10, 5),
        linear("c", 0, 50, 1),
        linear("other", 1, 60, 9),
    ]));
    let change = pack(&vg).expect("it can");
    assert_eq!(copies(&vg, &change), [(10, 0, 2), (12, 5, 3), (50, 8, 1)]);
    let new = change.vg().expect("a group is left");
    let expected = [
        "a: 0+3 linear pv0:2",
        "b: 0+2 linear pv0:0",
        "b: 2+3 linear pv0:5",
        "c: 0+1 linear pv0:8",
        "other: 0+9 linear pv1:60",
    ];
    assert_eq!(layout(new), expected);
    assert!(
        pack(new).expect("it can").groups.is_empty(),
        "nothing is left"
    );
}

#[test]
fn parts_of_others_stay() {
    // Proves: mirrors, their images, stripes and contiguous volumes are not moved, and are named;
    // what lies behind them moves into holes in front of them.
    let stripes = "stripe_count = 2 stripe_size = 128 stripes = [\"pv0\", 20, \"pv1\", 0]";
    let mirror =
        "mirror_count = 2 region_size = 1024 mirrors = [\"m_mimage_0\", 0, \"m_mimage_1\", 0]";
    let contiguous = linear("z", 0, 30, 2).replacen(
        "segment_count",
        "allocation_policy = \"contiguous\" segment_count",
        1,
    );
    let vg = read(&text(&[
        lv("s", 4, "striped", stripes),
        lv("m", 2, "mirror", mirror),
        hidden_linear("m_mimage_0", 0, 40, 2),
        hidden_linear("m_mimage_1", 1, 40, 2),
        contiguous,
        linear("last", 0, 90, 3),
    ]));
    let (change, fixed) = fixed(&vg).expect("it can");
    assert_eq!(copies(&vg, &change), [(90, 0, 3)]);
    let names: Vec<&str> = fixed.iter().map(|lv| vg.lv(*lv).name()).collect();
    assert_eq!(names, ["s", "z", "m_mimage_0"]);
}

#[test]
fn groups_that_nobody_understands_are_refused() {
    // Proves: with a segment of an unknown type, no extent is free for certain; nor where a
    // metadata area lies among the extents.
    pack(&every_type()).expect_err("it has an unknown type");
    let vg = read(&text(&[linear("a", 0, 2, 3)]));
    let pv = vg.pvs().next().expect("there are three").0;
    let mut header = header(&vg, pv);
    header.metadata_areas[0].size = Bytes(2 << 20);
    let error = by_author(|author| pack_pv(&vg, pv, &header, author)).expect_err("it overlaps");
    assert!(
        error.context.contains("none of them can be taken for free"),
        "{error}"
    );
}

/// What the extents of volumes hold: which volume and extent.
fn content(vg: &VolumeGroup, disk: &[Option<u64>]) -> Vec<Option<u64>> {
    let mut found = Vec::new();
    for (_, lv) in vg.lvs() {
        for segment in &lv.segments {
            let SegmentType::Striped(striped) = &segment.kind else {
                panic!("it is linear");
            };
            let Area::Pv { start, .. } = striped.areas[0] else {
                panic!("it is on a disk");
            };
            let range = start.0 as usize..(start + segment.length).0 as usize;
            found.extend_from_slice(&disk[range]);
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn volumes_keep_what_they_hold(
        runs in prop::collection::vec((0_u64..8, 1_u64..9, any::<bool>()), 1..12),
    ) {
        // Proves, against a disk of numbers: volumes hold the same after the copies, no copy writes
        // what a volume has or another copy reads, and all that could be free at the end is.
        let mut next = 0;
        let mut lvs = Vec::new();
        let mut fixed_end = 0;
        for (number, (gap, length, is_fixed)) in runs.into_iter().enumerate() {
            let start = next + gap;
            next = start + length;
            if next > PE_COUNT {
                break;
            }
            let volume = linear(&format!("v{number}"), 0, start, length);
            let policy = "allocation_policy = \"contiguous\" segment_count";
            lvs.push(if is_fixed {
                volume.replacen("segment_count", policy, 1)
            } else {
                volume
            });
            if is_fixed {
                fixed_end = next;
            }
        }
        let vg = read(&text(&lvs));
        let pv = vg.pvs().next().expect("there are three").0;
        let map = AllocationMap::of(&vg);
        let used: u64 = map.allocations(pv).iter().map(|one| one.range.length.0).sum();
        let change = pack(&vg).expect("it can");
        assert_sound(&change);
        let mut disk: Vec<Option<u64>> = (0..PE_COUNT).map(Some).collect();
        let before = content(&vg, &disk);
        for (from, to, length) in copies(&vg, &change) {
            for at in 0..length {
                assert!(map.owner(pv, crate::Extents(to + at)).is_none(), "it is free");
                disk[(to + at) as usize] = disk[(from + at) as usize];
            }
        }
        assert_eq!(content(&vg, &disk), before, "the old group is whole");
        let new = change.vg().unwrap_or(&vg);
        assert_eq!(content(new, &disk), before, "the new group holds the same");
        let map = AllocationMap::of(new);
        let end = map.allocations(pv).iter().map(|one| one.range.end().0).max();
        assert_eq!(end.unwrap_or(0), used.max(fixed_end));
    }
}
