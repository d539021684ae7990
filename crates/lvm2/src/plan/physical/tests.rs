//! Tests: properties and sizes of physical volumes.

use super::{Allocatable, Force, PvAttribute, PvSize, change_pv, erase_label, resize_pv};
use crate::model::samples::{linear, read, text};
use crate::model::{PvId, VolumeGroup};
use crate::ondisk::{AreaUse, Label, PvHeader, PvUse};
use crate::plan::change::{GroupChange, HeaderEdit, Level, When};
use crate::plan::group::AreaState;
use crate::plan::initialise::{Device, NewPv, Topology};
use crate::plan::samples::{by_author, done, texts};
use crate::plan::unfinished::former_uuid;
use crate::{Bytes, Sectors};

fn group() -> (VolumeGroup, PvId) {
    let vg = read(&text(&[linear("a", 0, 10, 10)]));
    let pv = vg.pvs().next().expect("there are three").0;
    (vg, pv)
}

fn label(vg: &VolumeGroup, pv: PvId) -> Label {
    let device = Device {
        size: Sectors(210_000),
        page_size: Bytes(4096),
        topology: Topology::default(),
    };
    let new = NewPv::new(vg.pv(pv).uuid);
    new.lay_out(&device).expect("it fits").label
}

fn header(vg: &VolumeGroup, pv: PvId) -> PvHeader {
    label(vg, pv).pv
}

#[test]
fn properties_change() {
    // Proves: flags, tags and identity, and stock's refusals.
    let (vg, pv) = group();
    let change =
        |vg: &VolumeGroup, what| by_author(|author| change_pv(vg, pv, &[what], &[], author));
    let locked = done(change(&vg, PvAttribute::Allocatable(Allocatable::No)));
    assert!(!locked.pv(pv).is_allocatable());
    let again = change(&locked, PvAttribute::Allocatable(Allocatable::No)).expect("no error");
    assert!(again.groups.is_empty());
    let already = "Physical volume \"/dev/sd0\" is already unallocatable.";
    assert_eq!(texts(&again, Level::Note)[0], already);
    let fresh = change(&vg, PvAttribute::NewUuid).expect("it can");
    let header = fresh.headers[0];
    assert_eq!(
        (header.pv, header.when),
        (vg.pv(pv).uuid, When::BetweenCommits)
    );
    let [GroupChange::Commit(marked), GroupChange::Commit(last)] = &fresh.groups[..] else {
        panic!("{} commits", fresh.groups.len());
    };
    assert_eq!(former_uuid(marked.pv(pv)), Some(vg.pv(pv).uuid));
    assert_eq!(header.edit, HeaderEdit::Uuid(marked.pv(pv).uuid));
    assert_eq!(
        (last.pv(pv).uuid, &last.pv(pv).tags),
        (marked.pv(pv).uuid, &vec![])
    );
    assert_eq!(
        done(change(&vg, PvAttribute::AddTag("t"))).pv(pv).tags,
        ["t"]
    );
}

#[test]
fn the_last_metadata_stays() {
    // Proves: areas are ignored only while others are in use.
    let (vg, pv) = group();
    let states: Vec<AreaState> = vg
        .pvs()
        .map(|(_, pv)| AreaState {
            pv: pv.uuid,
            area: 0,
            usage: AreaUse::Used,
        })
        .collect();
    let ignore = [PvAttribute::Areas(AreaUse::Ignored)];
    let change = by_author(|author| change_pv(&vg, pv, &ignore, &states, author));
    assert_eq!(change.expect("two are left").areas.len(), 1);
    let error = by_author(|author| change_pv(&vg, pv, &ignore, &states[..1], author));
    assert_eq!(
        error.expect_err("none is left").context,
        "Cannot disable all metadata areas in volume group vg."
    );
}

#[test]
fn the_number_of_copies_that_is_wanted_follows() {
    // Proves: a group that wants two texts wants one when one of its areas is set aside by name, so
    // that the next change does not take another into use; one that wants none in particular keeps
    // that.
    let (mut vg, pv) = group();
    let areas = vg.pvs().map(|(id, other)| AreaState {
        pv: other.uuid,
        area: 0,
        usage: if id == pv || id.index() == 1 {
            AreaUse::Used
        } else {
            AreaUse::Ignored
        },
    });
    let areas: Vec<AreaState> = areas.collect();
    let ignore = [PvAttribute::Areas(AreaUse::Ignored)];
    let made = |vg: &VolumeGroup| {
        done(by_author(|author| {
            change_pv(vg, pv, &ignore, &areas, author)
        }))
    };
    assert_eq!(made(&vg).metadata_copies, vg.metadata_copies);
    vg.metadata_copies = Some(2);
    assert_eq!(made(&vg).metadata_copies, Some(1));
}

#[test]
fn sizes_follow_the_device() {
    // Proves: more extents, fewer, and none less than are in use.
    let (vg, pv) = group();
    let header = header(&vg, pv);
    let resize = |device: u64, asked: Option<u64>| {
        let size = PvSize {
            device: Sectors(device),
            asked: asked.map(Sectors),
            least: Sectors(1024),
        };
        by_author(|author| resize_pv(&vg, pv, &header, size, author))
    };
    assert_eq!(done(resize(2048 * 201, None)).pv(pv).pe_count.0, 200);
    let small = done(resize(210_000, Some(2048 * 21)));
    assert_eq!(small.pv(pv).pe_count.0, 20);
    // As in stock, the text counts from the first extent on, and the label stays.
    assert_eq!(small.pv(pv).dev_size, Some(Sectors(2048 * 20)));
    let change = resize(210_000, Some(2048 * 21)).expect("it can");
    assert!(change.headers.is_empty(), "{:?}", change.headers);
    let error = resize(2048 * 20, None).expect_err("later ones are in use");
    assert!(
        error.context.ends_with("as later ones are allocated."),
        "{error}"
    );
    let error = resize(2048 * 6, None).expect_err("more are in use");
    assert!(
        error.context.contains("to 5 extents as 10 are allocated"),
        "{error}"
    );
    resize(2048, Some(4096)).expect_err("larger than the device");
    for (size, said) in [
        (1023, "minimum of 1024 sectors"),
        (2047, "extent start of 2048 sectors"),
        (4095, "one physical extent of 2048 sectors"),
    ] {
        let error = resize(210_000, Some(size)).expect_err("there is no room for an extent");
        assert!(error.context.contains(said), "{error}");
    }
}

#[test]
fn labels_of_free_volumes_go() {
    // Proves: a volume in use needs to be insisted on.
    let (vg, pv) = group();
    let mut label = label(&vg, pv);
    let (at, bytes) = erase_label(&label, "/dev/sd0", None, Force::None).expect("it is free");
    assert_eq!((at, bytes.len()), (Bytes(512), 512));
    let error = erase_label(&label, "/dev/sd0", Some("vg"), Force::Once).expect_err("in use");
    assert!(
        error
            .context
            .starts_with("PV /dev/sd0 is used by VG vg so please use vgreduce first.")
    );
    label.pv.set_usage(PvUse::Used);
    erase_label(&label, "/dev/sd0", None, Force::Once).expect_err("it says that it is in use");
    erase_label(&label, "/dev/sd0", Some("vg"), Force::Twice).expect("it was insisted on");
}
