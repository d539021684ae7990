//! What a repaired disk gets.

use alloc::vec;
use alloc::vec::Vec;

use super::{AREA_START, FoundArea, PvRepair, mended_label, rewritten};
use crate::model::samples::{linear, read, text};
use crate::model::{PvId, VolumeGroup, to_text};
use crate::ondisk::{AreaHeader, AreaUse, LABEL_SCAN_SIZE, Label, RawLocation, Ring, Span};
use crate::plan::initialise::Initialised;
use crate::text::Style;
use crate::{Bytes, Kind};

const SIZE: Bytes = Bytes(210_000 << 9);

fn group() -> VolumeGroup {
    read(&text(&[linear("a", 0, 0, 10)]))
}

fn first(vg: &VolumeGroup) -> PvId {
    vg.pvs().next().expect("it has one").0
}

fn repair<'a>(vg: &'a VolumeGroup, areas: &'a [FoundArea]) -> PvRepair<'a> {
    PvRepair {
        device: "/dev/sdb",
        device_size: SIZE,
        group: vg,
        pv: first(vg),
        areas,
        label: None,
    }
}

/// The beginning of the disk, after what is written.
fn disk(repaired: &Initialised) -> Vec<u8> {
    let mut disk = vec![0; 2 << 20];
    for (at, bytes) in repaired.writes().expect("it fits") {
        disk[at.0 as usize..][..bytes.len()].copy_from_slice(&bytes);
    }
    disk
}

/// The text that the first area of `disk` holds.
fn text_on(disk: &[u8], span: Span) -> Vec<u8> {
    let area = &disk[span.offset.0 as usize..][..span.size.0 as usize];
    let header = AreaHeader::decode(&area[..512], span, SIZE).expect("a header");
    let text = header.committed.expect("it points to a text");
    Ring::new(&header).text(area, &text).expect("a text")
}

#[test]
fn a_disk_of_zeros_becomes_what_it_was() {
    let vg = group();
    let text = to_text(&vg, Style::Raw);
    let repaired = repair(&vg, &[]).both(&text).expect("it can be repaired");
    let disk = disk(&repaired);
    let label = Label::scan(&disk[..LABEL_SCAN_SIZE])
        .label
        .expect("a label");
    assert_eq!(label.pv.uuid, vg.pv(first(&vg)).uuid);
    assert_eq!(label.pv.data_areas[0].offset, Bytes(1 << 20));
    let spans = label.metadata_areas();
    assert_eq!(spans.len(), 1);
    assert_eq!(spans[0].offset, AREA_START);
    assert_eq!(text_on(&disk, spans[0]).strip_suffix(&[0]), Some(&text[..]));
    assert!(
        disk[1 << 20..].iter().all(|byte| *byte == 0),
        "extents stay"
    );
}

#[test]
fn the_text_that_counts_stays_until_the_new_one_does() {
    let vg = group();
    let span = Span {
        offset: AREA_START,
        size: Bytes((1 << 20) - 4096),
    };
    let live = RawLocation {
        offset: Bytes(512),
        size: Bytes(3000),
        checksum: 7,
    };
    let header = AreaHeader {
        committed: Some(live),
        ..AreaHeader::new(span)
    };
    let areas = [FoundArea {
        span,
        header: Some(header),
    }];
    let text = to_text(&vg, Style::Raw);
    let repaired = repair(&vg, &areas).both(&text).expect("it can be repaired");
    let end = AREA_START.0 + 512 + 3000;
    assert!(repaired.texts.iter().all(|(at, _)| at.0 >= end));
    let ignored = [FoundArea {
        header: Some(AreaHeader {
            usage: AreaUse::Ignored,
            ..header
        }),
        span,
    }];
    let repaired = repair(&vg, &ignored)
        .both(&text)
        .expect("it can be repaired");
    assert_eq!((repaired.texts.len(), repaired.areas.len()), (0, 0));
}

#[test]
fn areas_lie_apart_from_all_else() {
    let vg = group();
    let at = |offset, size| FoundArea {
        span: Span {
            offset: Bytes(offset),
            size: Bytes(size),
        },
        header: None,
    };
    let refused = |areas: &[FoundArea], why: &str| {
        let error = repair(&vg, areas).header().expect_err(why);
        assert_eq!(error.kind, Kind::AreaHeader);
        assert!(error.to_string().contains(why), "{error}");
    };
    refused(&[at(0, 8192)], "meets the label");
    refused(&[at(4096, 8192), at(8192, 8192)], "another area");
    refused(&[at(4096, 2 << 20)], "meets the extents");
    refused(&[at(SIZE.0 - 512, 1024)], "does not lie on the device");
    refused(&[at(u64::MAX - 511, 1024)], "does not lie on the device");
    refused(&[at(4097, 8192)], "begins within a sector");
    // Behind the extents a second one has its place.
    let second = at((1 << 20) + (100 << 20), 512 << 10);
    let repaired = repair(&vg, &[at(4096, 8192), second]).header();
    assert_eq!(repaired.expect("it fits").label.pv.metadata_areas.len(), 2);
}

#[test]
fn metadata_alone_needs_the_label() {
    let vg = group();
    let error = repair(&vg, &[]).metadata(b"text").expect_err("no label");
    assert_eq!(error.kind, Kind::Label);
}

#[test]
fn a_label_is_mended_by_what_is_in_it() {
    let vg = group();
    let good = disk(&repair(&vg, &[]).header().expect("a label"));
    for damaged in [512..520, 528..532, 532..536, 536..544] {
        let mut disk = good.clone();
        disk[damaged].fill(b'X');
        let label = mended_label(&disk[..LABEL_SCAN_SIZE], "/dev/sdb").expect("it is readable");
        let written = rewritten(label, SIZE)
            .expect("it fits")
            .writes()
            .expect("it fits");
        let (at, bytes) = &written[0];
        assert_eq!((at.0, written.len()), (512, 1));
        assert_eq!(bytes[..], good[512..1024]);
    }
    let mut disk = good;
    disk[544..550].fill(0);
    let error = mended_label(&disk[..LABEL_SCAN_SIZE], "/dev/sdb").expect_err("it is damaged");
    assert_eq!(error.kind, Kind::PvHeader);
    assert!(mended_label(&[0; 100], "/dev/sdb").is_err());
}
