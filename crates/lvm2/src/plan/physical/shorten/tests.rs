//! Tests: physical volumes end where they can, and what they give back is zeroed first.

use super::{Lengths, shorten_pv};
use crate::model::samples::{linear, read, text};
use crate::model::{PvId, VolumeGroup};
use crate::ondisk::{PvHeader, Span};
use crate::plan::change::{Before, Change, HeaderEdit, Piece};
use crate::plan::initialise::{AreaCount, Device, NewPv, Topology};
use crate::plan::samples::{assert_sound, by_author};
use crate::{Bytes, Extents, Result, Sectors};

const DEVICE: Sectors = Sectors(210_000);
const LEAST: Sectors = Sectors(4096);

fn group(start: u64, length: u64) -> (VolumeGroup, PvId) {
    let vg = read(&text(&[linear("a", 0, start, length)]));
    let pv = vg.pvs().next().expect("there are three").0;
    (vg, pv)
}

fn header(vg: &VolumeGroup, pv: PvId, areas: AreaCount) -> PvHeader {
    let device = Device {
        size: DEVICE,
        page_size: Bytes(4096),
        topology: Topology::default(),
    };
    let new = NewPv {
        areas,
        ..NewPv::new(vg.pv(pv).uuid)
    };
    new.lay_out(&device).expect("it fits").label.pv
}

fn shorten(vg: &VolumeGroup, pv: PvId, header: &PvHeader) -> Result<(Change, Lengths)> {
    by_author(|author| shorten_pv(vg, pv, header, (DEVICE, LEAST), author))
}

#[test]
fn it_ends_behind_the_last_extent() {
    // Proves: its size, its extents, and zeros in all that it gives back and nowhere else.
    let (vg, pv) = group(3, 10);
    let (change, lengths) = shorten(&vg, pv, &header(&vg, pv, AreaCount::One)).expect("it can");
    assert_sound(&change);
    let new = Sectors(2048 * 14);
    assert_eq!((lengths.old, lengths.new), (DEVICE, new));
    let volume = change.vg().expect("a group is left").pv(pv);
    assert_eq!((volume.pe_count, volume.dev_size), (Extents(13), Some(new)));
    assert_eq!(
        change.headers[0].edit,
        HeaderEdit::DeviceSize(Bytes(new.0 * 512))
    );
    let zeros = Piece {
        pv: volume.uuid,
        start: Bytes(new.0 * 512),
        length: Bytes((DEVICE.0 - new.0) * 512),
    };
    let [Before::Fill { pieces, byte: 0 }] = &change.before[..] else {
        panic!("{:?}", change.before);
    };
    assert_eq!(pieces, &[zeros]);
}

#[test]
fn what_only_its_label_counts_is_not_its_own() {
    // Proves: it ends where the text says; of what lies between that and the size in its label
    // nothing is zeroed, whether it gets shorter or only its label does.
    let (mut vg, pv) = group(3, 10);
    let end = Sectors(2048 * 20);
    vg.pv_mut(pv).dev_size = Some(end);
    vg.pv_mut(pv).pe_count = Extents(19);
    let mut header = header(&vg, pv, AreaCount::One);
    assert_eq!(header.device_size, Bytes(DEVICE.0 * 512));
    let (change, lengths) = shorten(&vg, pv, &header).expect("it can");
    let new = Sectors(2048 * 14);
    assert_eq!((lengths.old, lengths.new), (end, new));
    let [Before::Fill { pieces, .. }] = &change.before[..] else {
        panic!("{:?}", change.before);
    };
    assert_eq!(pieces[0].length, Bytes((end.0 - new.0) * 512));
    vg.pv_mut(pv).dev_size = Some(new);
    vg.pv_mut(pv).pe_count = Extents(13);
    let (change, lengths) = shorten(&vg, pv, &header).expect("it can");
    assert_sound(&change);
    assert_eq!((lengths.old, lengths.new), (new, new));
    assert_eq!(change.before, []);
    let edit = HeaderEdit::DeviceSize(Bytes(new.0 * 512));
    assert_eq!(change.headers[0].edit, edit);
    header.device_size = Bytes(new.0 * 512);
    let (change, _) = shorten(&vg, pv, &header).expect("it can");
    assert!(change.groups.is_empty() && change.headers.is_empty());
}

#[test]
fn it_keeps_a_little() {
    // Proves: an empty one has an extent, and none is smaller than the configuration wants.
    let vg = read(&text(&[linear("a", 1, 0, 1)]));
    let pv = vg.pvs().next().expect("there are three").0;
    let header = header(&vg, pv, AreaCount::One);
    let (_, lengths) = shorten(&vg, pv, &header).expect("it can");
    assert_eq!(lengths.new, Sectors(2 * 2048));
    let least = Sectors(5 * 2048);
    let change = by_author(|author| shorten_pv(&vg, pv, &header, (DEVICE, least), author));
    assert_eq!(change.expect("it can").1.new, least);
}

#[test]
fn areas_are_never_cut() {
    // Proves: a second metadata area at the end keeps all of it; one in the middle what is in
    // front of it; one among the extents is refused.
    let (vg, pv) = group(3, 10);
    let (change, lengths) = shorten(&vg, pv, &header(&vg, pv, AreaCount::Two)).expect("it can");
    assert!(change.groups.is_empty() && change.before.is_empty());
    assert_eq!(lengths.new, lengths.old);
    let mut behind = header(&vg, pv, AreaCount::One);
    behind.metadata_areas.push(Span {
        offset: Bytes(102 << 20),
        size: Bytes(1 << 19),
    });
    let (_, lengths) = shorten(&vg, pv, &behind).expect("it can");
    assert_eq!(lengths.new, Sectors(102 * 2048 + 1024));
    behind.metadata_areas[1].offset = Bytes(50 << 20);
    let error = shorten(&vg, pv, &behind).expect_err("it lies among the extents");
    assert!(
        error.context.contains("lies where the extents are"),
        "{error}"
    );
}
