//! Tests: commands on groups, alone and after each other.

use std::collections::BTreeSet;

use super::{
    AreaState, GroupAttribute, Insistence, Member, MetadataCopies, NewGroup, PartialVolumes,
    Resizing, SplitInto, SplitOff, VolumesOf, balance, change_group, create_group, export_group,
    extend_group, import_group, losses, merge_groups, reduce_group, remove_group, remove_missing,
    rename_group, restore_group, split_group, still_partial,
};
use crate::model::samples::{every_type, golden, hidden_linear, linear, lv, read, text};
use crate::model::{AllocationPolicy, LvFlag, PvFlag, PvId, VgFlag, VolumeGroup};
use crate::ondisk::{AreaUse, PvUse};
use crate::plan::change::{Change, GroupChange, HeaderEdit, Level, When};
use crate::plan::initialise::{Device, NewPv, Topology};
use crate::plan::logical::{ImageStates, repair_volume};
use crate::plan::samples::{assert_sound, by_author, done, free, layout, texts, uuid};
use crate::plan::unfinished::{finish, is_unfinished, replaces, split_from};
use crate::{Bytes, Kind, Result, Sectors};

fn member(number: u64) -> Member {
    let device = Device {
        size: Sectors(524_288),
        page_size: Bytes(4096),
        topology: Topology::default(),
    };
    let new = NewPv::new(uuid(9_000 + number));
    Member {
        header: new.lay_out(&device).expect("it fits").label.pv,
        device: format!("/dev/sd{number}"),
        device_id_type: None,
        device_id: None,
        size: device.size,
        areas: vec![AreaUse::Used],
    }
}

fn areas_of(vg: &VolumeGroup) -> Vec<AreaState> {
    let state = |pv: &crate::model::PhysicalVolume| AreaState {
        pv: pv.uuid,
        area: 0,
        usage: AreaUse::Used,
    };
    vg.pvs().map(|(_, pv)| state(pv)).collect()
}

fn pvs(vg: &VolumeGroup) -> Vec<PvId> {
    vg.pvs().map(|(id, _)| id).collect()
}

fn set(vg: &VolumeGroup, what: GroupAttribute<'_>) -> Result<Change> {
    by_author(|author| change_group(vg, &[what], &areas_of(vg), author))
}

#[test]
fn a_group_is_created_and_grows() {
    // Proves: extents per physical volume, the flag of use behind the commit, and limits.
    let members = [member(1), member(2)];
    let mut new = NewGroup::new("vg", &members);
    new.max_pv = 3;
    let change = by_author(|author| create_group(&new, author)).expect("it can be");
    assert_sound(&change);
    assert_eq!(change.headers.len(), 2);
    assert_eq!(change.headers[0].when, When::AfterCommit);
    assert_eq!(change.headers[0].edit, HeaderEdit::Usage(PvUse::Used));
    let vg = done(Ok(change));
    assert_eq!((vg.seqno, vg.extent_count().0), (1, 126));
    let extend = |vg: &VolumeGroup, number| {
        by_author(|author| extend_group(vg, &[member(number)], &areas_of(vg), author))
    };
    let vg = done(extend(&vg, 3));
    let error = extend(&vg, 4).expect_err("three are the limit");
    assert_eq!(
        error.context,
        "No space for '/dev/sd4' - volume group 'vg' holds max 3 physical volume(s)."
    );
    let error = extend(&vg, 3).expect_err("it is there");
    assert_eq!(
        error.context,
        "Physical volume '/dev/sd3' is already in volume group 'vg'"
    );
    let refusal = |new: &NewGroup<'_>| by_author(|author| create_group(new, author));
    let mut odd = NewGroup::new("vg", &members);
    odd.extent_size = Sectors(6);
    assert_eq!(
        refusal(&odd).expect_err("3 KiB").context,
        "Physical Extent size must be a multiple of 128.00 KiB when not a power of 2."
    );
    refusal(&NewGroup::new("-vg", &members)).expect_err("no name");
    refusal(&NewGroup::new("vg", &[])).expect_err("nothing to stand on");
}

#[test]
fn a_group_shrinks_to_what_is_in_use() {
    // Proves: what is in use stays, the last one stays, the rest is released in the right order.
    let vg = read(&text(&[linear("a", 1, 0, 5)]));
    let ids = pvs(&vg);
    let reduce =
        |which: &[PvId]| by_author(|author| reduce_group(&vg, which, &areas_of(&vg), author));
    let error = reduce(&ids[1..2]).expect_err("it is in use");
    let expected = "Physical volume \"/dev/sd1\" still in use: move what lies on it to other \
                    physical volumes of the group first (ashlar pvmove /dev/sd1)";
    assert_eq!(error.context, expected);
    let change = reduce(&[ids[0], ids[2]]).expect("nothing stands there");
    assert_eq!(change.released.len(), 2);
    assert!(
        change
            .headers
            .iter()
            .all(|header| header.when == When::BeforeCommit)
    );
    assert_eq!(
        texts(&change, Level::Note)[0],
        "Removed \"/dev/sd0\" from volume group \"vg\""
    );
    let one = done(Ok(change));
    let error = by_author(|author| reduce_group(&one, &pvs(&one), &areas_of(&one), author));
    error.expect_err("it is in use");
    let empty = read(&text(&[]));
    let error = by_author(|author| reduce_group(&empty, &pvs(&empty), &areas_of(&empty), author));
    assert_eq!(
        error.expect_err("one stays").context,
        "Can't remove final physical volume \"/dev/sd2\" from volume group \"vg\""
    );
    let none = by_author(|author| reduce_group(&vg, &ids[..1], &areas_of(&vg)[..1], author));
    assert_eq!(
        none.expect_err("the metadata would be gone").context,
        "Cannot remove final metadata area on \"/dev/sd0\" from \"vg\""
    );
}

#[test]
fn properties_change() {
    // Proves: each property, and stock's sentences for what is so already.
    let vg = read(&text(&[linear("a", 0, 0, 8), linear("b", 1, 0, 8)]));
    let refusal = |what| set(&vg, what).expect_err("it is refused").context;
    assert_eq!(
        refusal(GroupAttribute::MaxLv(1)),
        "MaxLogicalVolume is less than the current number 2 of LVs for vg"
    );
    assert_eq!(
        refusal(GroupAttribute::MaxPv(2)),
        "MaxPhysicalVolumes is less than the current number 3 of PVs for \"vg\""
    );
    assert_eq!(
        refusal(GroupAttribute::Allocation(None)),
        "Volume Group allocation policy cannot inherit from anything"
    );
    assert_eq!(
        refusal(GroupAttribute::Allocation(Some(AllocationPolicy::Normal))),
        "Volume group allocation policy is already normal"
    );
    assert_eq!(
        refusal(GroupAttribute::Resizing(Resizing::Allowed)),
        "Volume group \"vg\" is already resizeable"
    );
    let fixed = done(set(&vg, GroupAttribute::Resizing(Resizing::Forbidden)));
    let error = by_author(|author| extend_group(&fixed, &[member(1)], &[], author));
    assert_eq!(
        error.expect_err("it is fixed").context,
        "Volume group vg is not resizeable."
    );
    assert_eq!(
        set(&fixed, GroupAttribute::MaxLv(9))
            .expect_err("it is fixed")
            .context,
        "Volume group \"vg\" must be resizeable to change MaxLogicalVolume"
    );
    let other = done(set(&vg, GroupAttribute::NewUuid));
    assert_ne!(other.uuid, vg.uuid);
    let tagged = done(set(&vg, GroupAttribute::AddTag("t")));
    assert_eq!(tagged.tags, ["t"]);
    let named = done(by_author(|author| rename_group(&vg, "vg2", author)));
    assert_eq!((named.name.as_str(), named.seqno), ("vg2", 2));
}

#[test]
fn extents_change_their_size() {
    // Proves: the same bytes in smaller and larger extents, and no boundary lost.
    let vg = read(&text(&[linear("a", 0, 4, 8)]));
    let small = done(set(&vg, GroupAttribute::ExtentSize(Sectors(1024))));
    assert_eq!(layout(&small), ["a: 0+16 linear pv0:8"]);
    assert_eq!(free(&small), 600 - 16);
    let large = done(set(&small, GroupAttribute::ExtentSize(Sectors(8192))));
    assert_eq!(layout(&large), ["a: 0+2 linear pv0:1"]);
    let error = set(&vg, GroupAttribute::ExtentSize(Sectors(16384))).expect_err("4 is no multiple");
    assert!(
        error
            .context
            .starts_with("New extent size is not a perfect fit"),
        "{error}"
    );
    set(&every_type(), GroupAttribute::ExtentSize(Sectors(64))).expect_err("unknown types");
}

#[test]
fn groups_leave_and_come() {
    // Proves: export forbids changes, import is its opposite.
    let vg = read(&text(&[linear("a", 0, 4, 8)]));
    let away = done(by_author(|author| export_group(&vg, author)));
    assert!(away.flags.has(VgFlag::Exported));
    let error = set(&away, GroupAttribute::NewUuid).expect_err("it is exported");
    assert_eq!(error.context, "Volume group vg is exported");
    let mut back = done(by_author(|author| import_group(&away, None, author)));
    let error = by_author(|author| import_group(&back, None, author)).expect_err("it is here");
    assert_eq!(error.context, "Volume group \"vg\" is not exported");
    (back.seqno, back.header) = (vg.seqno, vg.header.clone());
    assert_eq!(back, vg);
}

fn mirrored() -> VolumeGroup {
    let fields = "mirror_count = 2 mirror_log = \"m_mlog\" region_size = 1024 mirrors = \
                  [\"m_mimage_0\", 0, \"m_mimage_1\", 0]";
    read(&text(&[
        linear("a", 0, 0, 8),
        lv("m", 4, "mirror", fields),
        hidden_linear("m_mimage_0", 0, 20, 4),
        hidden_linear("m_mimage_1", 1, 20, 4),
        hidden_linear("m_mlog", 1, 30, 1),
    ]))
}

/// All images are up to date.
fn in_sync(vg: &VolumeGroup) -> ImageStates {
    ImageStates {
        current: vg.lvs().map(|(id, _)| id).collect(),
        outdated: Vec::new(),
    }
}

#[test]
fn what_is_missing_goes() {
    // Proves: nothing goes without consent, mirrors keep what is left, what is lost is given up.
    let vg = mirrored();
    let ids = pvs(&vg);
    let without = |pv: usize, partial| {
        let gone = BTreeSet::from([ids[pv]]);
        let states = in_sync(&vg);
        by_author(|author| remove_missing(&vg, &gone, partial, &states, &areas_of(&vg), author))
    };
    for pv in [0, 1] {
        let error = without(pv, PartialVolumes::Keep).expect_err("m is partial");
        let start = "There are still partial LVs in VG vg.\n";
        assert!(error.context.contains(start), "{error}");
        let warned = "WARNING: Partial LV m_mimage_";
        assert!(error.context.contains(warned), "{error}");
        let lost = match pv {
            0 => "lost: a; with fewer images, and lost unless these were in sync: m.",
            _ => "with fewer images: m.",
        };
        assert!(error.context.contains(lost), "{error}");
    }
    let reduced = done(without(0, PartialVolumes::Reduce));
    assert_eq!(
        layout(&reduced),
        ["a: 0+8 linear pv0:0", "m: 0+4 linear pv1:20"]
    );
    assert!(reduced.pv(ids[0]).flags.has(PvFlag::Missing));
    assert!(still_partial(&reduced).is_some_and(|text| text.contains("lost: a.")));
    let first = done(without(0, PartialVolumes::Remove));
    assert_eq!(layout(&first), ["m: 0+4 linear pv1:20"]);
    assert_eq!((first.pv_count(), still_partial(&first)), (2, None));
    assert_eq!(done(without(2, PartialVolumes::Keep)).pv_count(), 2);
    let none = BTreeSet::new();
    let error = by_author(|author| {
        let states = in_sync(&vg);
        remove_missing(&vg, &none, PartialVolumes::Keep, &states, &[], author)
    });
    let error = error.expect_err("nothing is missing");
    assert_eq!(error.context, "Volume group \"vg\" is already consistent.");
}

#[test]
fn what_is_back_is_free() {
    // Proves: a flagged volume that is there is released, one that is not there is left alone.
    let vg = mirrored();
    let ids = pvs(&vg);
    let mut back = vg.clone();
    back.pv_mut(ids[2]).flags.insert(PvFlag::Missing);
    let gone = BTreeSet::from([ids[1]]);
    let states = in_sync(&vg);
    let partial = PartialVolumes::Remove;
    let change = by_author(|author| {
        remove_missing(&back, &gone, partial, &states, &areas_of(&back), author)
    });
    assert_eq!(change.expect("a change").released, [vg.pv(ids[2]).uuid]);
}

#[test]
fn outdated_images_are_not_promoted() {
    // Proves: an image out of date becomes the volume only where people name it.
    let vg = mirrored();
    let ids = pvs(&vg);
    let (mirror, first) = (vg.lv_by_name("m"), vg.lv_by_name("m_mimage_0"));
    assert!(mirror.is_some());
    let states = |outdated: &[&str]| ImageStates {
        current: first.into_iter().collect(),
        outdated: outdated.iter().map(|name| (*name).to_owned()).collect(),
    };
    let gone = BTreeSet::from([ids[0]]);
    let without = |gone: &BTreeSet<PvId>, outdated: &[&str]| {
        let (states, areas) = (states(outdated), areas_of(&vg));
        by_author(|author| {
            remove_missing(&vg, gone, PartialVolumes::Remove, &states, &areas, author)
        })
    };
    let repair = |outdated: &[&str]| {
        by_author(|author| repair_volume(&vg, "m", &gone, &states(outdated), author))
    };
    for refused in [without(&gone, &[]), repair(&[])] {
        let error = refused.expect_err("the last data is away");
        assert!(error.context.contains("out of date"), "{error}");
        assert!(
            error.context.contains("--useoutdated m_mimage_1"),
            "{error}"
        );
    }
    for agreed in [without(&gone, &["m_mimage_1"]), repair(&["m_mimage_1"])] {
        assert!(layout(&done(agreed)).contains(&"m: 0+4 linear pv1:20".to_owned()));
    }
    // Where the image that is up to date is left, no other name is taken.
    let second = BTreeSet::from([ids[1]]);
    assert!(without(&second, &["m_mimage_0"]).is_err());
    assert_eq!(
        layout(&done(without(&second, &[]))),
        ["a: 0+8 linear pv0:0", "m: 0+4 linear pv0:20"]
    );
}

#[test]
fn an_origin_goes_with_a_store_that_is_merged_into_it() {
    // Proves: as with stock, an origin of which nobody knows what is new goes with its snapshots
    // where the store that is merged into it is lost, and that is foretold by the names that people
    // know; where the snapshot stands beside it, only that goes.
    let group = |role: &str| {
        let of =
            |role: &str, cow: &str| format!("chunk_size = 8 origin = \"data\" {role} = \"{cow}\"");
        read(&text(&[
            linear("data", 0, 0, 20),
            linear("other", 0, 20, 4),
            hidden_linear("lost", 1, 0, 4),
            hidden_linear("kept", 0, 30, 4),
            lv("snapshot0", 20, "snapshot", &of(role, "lost")),
            lv("snapshot1", 20, "snapshot", &of("cow_store", "kept")),
        ]))
    };
    let without = |vg: &VolumeGroup| {
        let gone = BTreeSet::from([pvs(vg)[1]]);
        let (states, areas) = (in_sync(vg), areas_of(vg));
        let change = by_author(|author| {
            remove_missing(vg, &gone, PartialVolumes::Remove, &states, &areas, author)
        });
        let change = change.expect("that was agreed to");
        let warned = texts(&change, Level::Warning).join(" ");
        (losses(vg, &gone).lost, warned, layout(&done(Ok(change))))
    };
    let (lost, warned, left) = without(&group("merging_store"));
    assert_eq!(lost, ["data", "lost", "kept"]);
    assert!(warned.contains("Removing partial LV vg/data."), "{warned}");
    assert_eq!(left, ["other: 0+4 linear pv0:20"]);
    let (lost, _, left) = without(&group("cow_store"));
    assert_eq!(lost, ["lost"]);
    assert_eq!(left.len(), 4, "{left:?}");
}

#[test]
fn images_being_rebuilt_are_no_redundancy() {
    // Proves: a RAID volume is not left to an image that does not hold all data yet.
    let mut vg = golden();
    let image = vg.lv_by_name("raid1_rimage_1").expect("it is there");
    vg.lv_mut(image).flags.insert(LvFlag::Rebuild);
    let first = pvs(&vg)[0];
    let gone = BTreeSet::from([first]);
    let without = |outdated: &[&str]| {
        let states = ImageStates {
            outdated: outdated.iter().map(|name| (*name).to_owned()).collect(),
            ..in_sync(&vg)
        };
        let partial = PartialVolumes::Reduce;
        let areas = areas_of(&vg);
        by_author(|author| remove_missing(&vg, &gone, partial, &states, &areas, author))
    };
    assert!(losses(&vg, &gone).lost.contains(&"raid1".to_owned()));
    let error = without(&[]).expect_err("the other image is not whole");
    let wanted = "--useoutdated raid1_rimage_1";
    assert!(error.context.contains(wanted), "{error}");
    let named = without(&["raid1_rimage_1"]).expect("it was named");
    let said = texts(&named, Level::Warning).join(" ");
    assert!(said.contains("what it does not hold yet is lost"), "{said}");
}

fn divided(vg: &VolumeGroup, into: SplitInto<'_>, off: SplitOff<'_>) -> Result<Change> {
    by_author(|author| split_group(vg, into, off, &areas_of(vg), author))
}

#[test]
fn groups_are_split_and_merged() {
    // Proves: whole volumes go, references follow, and merging is the opposite.
    let vg = mirrored();
    let ids = pvs(&vg);
    let split = |off: &[PvId]| {
        let off: BTreeSet<PvId> = off.iter().copied().collect();
        divided(&vg, SplitInto::named("vg2"), SplitOff::Pvs(&off))
    };
    let error = split(&ids[..1]).expect_err("m stands on two");
    assert_eq!(
        error.context,
        "Can't split Logical Volume m between two Volume Groups"
    );
    let change = split(&ids[..2]).expect("nothing is cut");
    assert_sound(&change);
    let [
        GroupChange::Commit(hidden),
        GroupChange::Commit(rest),
        GroupChange::Commit(new),
    ] = &change.groups[..]
    else {
        panic!("{:?}", change.groups.len());
    };
    assert!(hidden.flags.has(VgFlag::Exported) && !new.flags.has(VgFlag::Exported));
    assert_eq!((hidden.seqno, rest.seqno, new.seqno), (1, 2, 2));
    assert_eq!((rest.pv_count(), rest.lv_count()), (1, 0));
    assert_eq!(layout(new), layout(&vg));
    assert_eq!(
        texts(&change, Level::Note),
        ["New volume group \"vg2\" successfully split from \"vg\""]
    );
    let again = by_author(|author| merge_groups(rest, new, author)).expect("they are alike");
    assert_eq!(again.volumes.len(), new.lv_count());
    let last = again.groups.last().cloned();
    let marked = done(Ok(again));
    let Some(GroupChange::Commit(merged)) = last else {
        panic!("the mark is taken away");
    };
    assert_eq!((merged.pv_count(), merged.lv_count()), (3, 5));
    let origin = replaces(&marked).expect("it is marked");
    assert_eq!((origin.group, origin.seqno), (new.uuid, new.seqno));
    assert_eq!((marked.seqno, merged.seqno, merged.tags.len()), (3, 4, 0));
    assert_eq!(split_from(hidden).map(|origin| origin.group), Some(vg.uuid));
    // Cut off after the first commit, or after the second, it is ended the same way.
    for source in [&vg, rest] {
        let ended = by_author(|author| finish(hidden, Some(source), author)).expect("it can");
        assert_sound(&ended);
        let count = if source.seqno == vg.seqno { 3 } else { 2 };
        assert_eq!(ended.groups.len(), count);
        let Some(GroupChange::Commit(last)) = ended.groups.last() else {
            panic!("a commit");
        };
        assert_eq!(
            (layout(last), last.flags.has(VgFlag::Exported)),
            (layout(new), false)
        );
        assert!(!is_unfinished(last));
    }
    let mut changed = vg.clone();
    changed.seqno += 1;
    let error = by_author(|author| finish(hidden, Some(&changed), author));
    error.expect_err("somebody has changed the other group");
    let mut limited = rest.clone();
    limited.max_lv = 1;
    let error = by_author(|author| merge_groups(&limited, new, author)).expect_err("too many");
    assert!(
        error.context.contains("logical volumes (1) exceeded"),
        "{error}"
    );
    let all = split(&ids).expect("everything can go");
    assert_eq!(all.groups.len(), 2);
    let off = BTreeSet::from([pvs(rest)[0]]);
    let into = divided(rest, SplitInto::Existing(new), SplitOff::Pvs(&off));
    assert_eq!(into.expect("it can").groups.len(), 2);
    let one = divided(&vg, SplitInto::named("vg2"), SplitOff::Volume("m"));
    one.expect("a goes along, since it stands there too");
    by_author(|author| merge_groups(&vg, &vg, author)).expect_err("the same");
    let mut other = mirrored();
    "vg2".clone_into(&mut other.name);
    other.uuid = uuid(77);
    let error = by_author(|author| merge_groups(&vg, &other, author)).expect_err("same names");
    assert!(
        error
            .context
            .starts_with("Duplicate logical volume name \"a\""),
        "{error}"
    );
}

#[test]
fn everything_can_go() {
    // Proves: a group goes with its volumes where that was agreed to, and a broken one does not.
    let vg = mirrored();
    let error = remove_group(&vg, VolumesOf::Keep).expect_err("there are volumes");
    assert_eq!(
        error.context,
        "Volume group \"vg\" still contains 2 logical volume(s)"
    );
    let change = remove_group(&vg, VolumesOf::Remove).expect("it was agreed to");
    assert!(matches!(change.groups[..], [GroupChange::Erase(_)]));
    assert_eq!((change.released.len(), change.volumes.len()), (3, 5));
    assert_eq!(change.freed.len(), 4);
    let error = remove_group(&every_type(), VolumesOf::Remove).expect_err("unknown types");
    assert_eq!(error.kind, Kind::Refused);
}

#[test]
fn backups_are_restored() {
    // Proves: a newer seqno than any, and only with all physical volumes and no pools.
    let old = read(&text(&[linear("a", 0, 0, 8)]));
    let mut now = read(&text(&[linear("b", 0, 2, 8)]));
    now.seqno = 9;
    let all: BTreeSet<_> = old.pvs().map(|(_, pv)| pv.uuid).collect();
    let restore = |backup: &VolumeGroup, present: &BTreeSet<_>| {
        by_author(|author| restore_group(backup, Some(&now), present, Insistence::None, author))
    };
    let change = restore(&old, &all).expect("all is there");
    assert_eq!(change.freed.len(), 1);
    let vg = done(Ok(change));
    assert_eq!(
        (vg.seqno, layout(&vg)),
        (10, vec!["a: 0+8 linear pv0:0".to_owned()])
    );
    let error = restore(&old, &BTreeSet::new()).expect_err("nothing is there");
    let lines: Vec<&str> = error.context.lines().collect();
    let missing = "WARNING: Couldn't find device with uuid ";
    assert_eq!(lines.len(), old.pv_count() + 1, "each is told");
    assert!(lines[0].starts_with(missing), "{error}");
    assert_eq!(
        lines[old.pv_count()],
        "Cannot restore Volume Group vg with 3 PVs marked as missing."
    );
    let mut pools = golden();
    "vg".clone_into(&mut pools.name);
    let all: BTreeSet<_> = pools.pvs().map(|(_, pv)| pv.uuid).collect();
    restore(&pools, &all).expect_err("it has thin volumes");
}

#[test]
fn copies_of_the_metadata_are_balanced() {
    // Proves: as many areas as wanted, spread over physical volumes, with few changes.
    let area = |pv: u64, area: usize, usage| AreaState {
        pv: uuid(pv),
        area,
        usage,
    };
    let (used, ignored) = (AreaUse::Used, AreaUse::Ignored);
    let areas = [
        area(1, 0, used),
        area(1, 1, used),
        area(2, 0, ignored),
        area(3, 0, ignored),
    ];
    assert!(balance(&areas, MetadataCopies::Unmanaged).is_empty());
    assert!(balance(&areas, MetadataCopies::Exactly(2)).is_empty());
    let more = balance(&areas, MetadataCopies::Exactly(3));
    assert_eq!((more.len(), more[0].pv, more[0].usage), (1, uuid(2), used));
    let less = balance(&areas, MetadataCopies::Exactly(1));
    assert_eq!((less.len(), less[0].area, less[0].usage), (1, 1, ignored));
    assert_eq!(balance(&areas, MetadataCopies::All).len(), 2);
    assert_eq!(balance(&areas, MetadataCopies::Exactly(9)).len(), 2);
    assert_eq!(balance(&areas[2..], MetadataCopies::Unmanaged).len(), 1);
}

#[test]
fn both_sides_of_a_split_keep_a_text() {
    // Proves: an area that was set aside is used where its side has no other. The side that stays
    // has its text there before the other one's is written over it; without areas none is split.
    let vg = mirrored();
    let ids = pvs(&vg);
    let mut areas = areas_of(&vg);
    areas[1].usage = AreaUse::Ignored;
    areas[2].usage = AreaUse::Ignored;
    let split = |off: &[PvId], areas: &[AreaState]| {
        let off: BTreeSet<PvId> = off.iter().copied().collect();
        let (into, off) = (SplitInto::named("vg2"), SplitOff::Pvs(&off));
        by_author(|author| split_group(&vg, into, off, areas, author))
    };
    let change = split(&ids[2..], &areas).expect("its area is used again");
    assert_eq!((change.groups.len(), change.areas.len()), (3, 1));
    assert_eq!(change.areas[0].pv, areas[2].pv);
    let change = split(&ids[..2], &areas).expect("the area of the other is used again");
    let [GroupChange::Commit(first), GroupChange::Commit(hidden), ..] = &change.groups[..] else {
        panic!("{:?}", change.groups.len());
    };
    assert_eq!((change.groups.len(), first.uuid), (4, vg.uuid));
    assert_eq!((first.seqno, first.pv_count()), (vg.seqno + 1, 3));
    assert_eq!(split_from(hidden).map(|from| from.seqno), Some(first.seqno));
    let error = split(&ids[2..], &areas[..2]).expect_err("it has no area");
    assert_eq!(error.kind, Kind::Refused);
}
