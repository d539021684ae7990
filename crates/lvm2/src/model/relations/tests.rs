//! Parts, parents and visibility as stock reports them.

use super::{Relations, Role};
use crate::model::geometry::Part;
use crate::model::samples;

#[test]
fn hidden_volumes_of_the_golden_disks() {
    // Proves: what people see, and what the hidden volumes belong to.
    let vg = samples::golden();
    let relations = Relations::of(&vg);
    let id = |name: &str| vg.lv_by_name(name).expect("it is there");
    let visible: Vec<_> = vg
        .lvs()
        .filter(|(id, _)| relations.is_visible(&vg, *id))
        .map(|(_, lv)| lv.name())
        .collect();
    assert_eq!(visible.len(), 22, "{visible:?}");
    assert!(visible.contains(&"snap1") && !visible.contains(&"snapshot0"));
    for (name, role, top) in [
        ("raid5", Role::Whole, "raid5"),
        ("raid5_rimage_1", Role::Part(Part::RaidImage(1)), "raid5"),
        ("raid5_rmeta_2", Role::Part(Part::RaidMeta(2)), "raid5"),
        ("mirror2_mlog", Role::Part(Part::MirrorLog), "mirror2"),
        ("mirror2_mimage_0", Role::Part(Part::MirrorImage), "mirror2"),
        ("snap1", Role::Part(Part::SnapshotCow), "snap1"),
        ("snapshot0", Role::SnapshotHolder, "snapshot0"),
        ("origin", Role::Whole, "origin"),
        ("pool_tdata", Role::Part(Part::ThinPoolData), "pool"),
        ("pool_tmeta", Role::Part(Part::ThinPoolMetadata), "pool"),
        ("lvol0_pmspare", Role::Spare, "lvol0_pmspare"),
    ] {
        assert_eq!(relations.role(&vg, id(name)), role, "{name}");
        assert_eq!(vg.lv(relations.top(&vg, id(name))).name(), top, "{name}");
    }
    let stores: Vec<_> = relations
        .snapshots(&vg, id("origin"))
        .map(|snapshot| vg.lv(snapshot.cow).name())
        .collect();
    assert_eq!(stores, ["snap1", "snap2"]);
    assert!(relations.is_origin(id("origin")) && !relations.is_origin(id("snap1")));
    assert!(relations.is_cow(id("snap1")));
    let users: Vec<_> = relations
        .used_by(id("pool"))
        .iter()
        .map(|used| vg.lv(used.by).name())
        .collect();
    assert_eq!(users, ["thin1", "thin1s"]);
}
