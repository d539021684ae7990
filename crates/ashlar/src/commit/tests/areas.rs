//! What commits make of areas: where texts lie, what headers say, and whom failures name.

use std::sync::Arc;

use block::partition::PartitionDevice;
use block::sim::{Image, SimDevice};
use block::{Device, Kind as BlockKind, Range};
use lvm2::Bytes;
use lvm2::ondisk::{AREA_HEADER_SIZE, AreaHeader, AreaUse, Label, Span};
use lvm2::plan::AreaChange;

use super::super::{FlushPolicy, Held, NoHooks, OpenPv, write_group};
use super::disks::{
    self, Areas, SIZE, blank, committed, group, newest, next, open, open_devices, uuid,
};
use crate::Kind;

/// Where the first area of a disk is.
const AREA: u64 = 4096;

fn first_header(image: &Image) -> AreaHeader {
    let span = Span {
        offset: Bytes(AREA),
        size: Bytes(0xff000),
    };
    let sector = image.bytes(Range::new(AREA, AREA_HEADER_SIZE as u64));
    AreaHeader::decode(&sector, span, Bytes(SIZE)).expect("is good")
}

/// On a partition that begins within a physical block of its disk, as DOS had them, no text shares
/// a block of the disk with the header or with the text before it.
#[test]
fn texts_keep_apart_on_the_blocks_of_the_disk_below() {
    let start = 63 * 512;
    let mut image = Image::new(start + SIZE);
    for (at, bytes) in disks::writes(1, Areas::One) {
        image.write(start + at.0, &bytes);
    }
    let whole: Arc<dyn Device> = Arc::new(SimDevice::with_blocks(image, 512, 4096));
    let part = PartitionDevice::window(whole, Range::new(start, SIZE), "part".to_owned());
    let devices = [Arc::new(part.expect("fits")) as Arc<dyn Device>];
    let blocks = |from: u64, len: u64| {
        let from = start + AREA + from;
        (from / 4096, (from + len - 1) / 4096)
    };
    let (mut vg, mut before) = (group(&[1]), blocks(0, 512));
    let head = before;
    for _ in 0..20 {
        vg = next(&vg);
        let mut pvs = open_devices(&devices);
        write_group(&mut pvs, &vg, &[], FlushPolicy::Strict, &mut NoHooks).expect("commits");
        let header = pvs[0].areas()[0].header.expect("is good");
        let text = header.committed.expect("is there");
        let there = blocks(text.offset.0, text.size.0);
        for other in [head, before] {
            assert!(
                there.1 < other.0 || other.1 < there.0,
                "{there:?} {other:?}"
            );
        }
        before = there;
    }
}

/// An area that is set aside keeps its text, and nothing of a change that was under way.
#[test]
fn areas_that_are_set_aside_forget_what_was_under_way() {
    let mut images = committed(&[(1, Areas::Two)], 3);
    let mut header = first_header(&images[0]);
    header.precommitted = header.committed;
    images[0].write(AREA, &header.encode());
    let devices = disks::devices(&images);
    let mut pvs = open_devices(&devices);
    let mut vg = group(&[1]);
    vg.seqno = 4;
    let ignored = [AreaChange {
        pv: uuid(1),
        area: 0,
        usage: AreaUse::Ignored,
    }];
    write_group(&mut pvs, &vg, &ignored, FlushPolicy::Strict, &mut NoHooks).expect("commits");
    let expected = AreaHeader {
        precommitted: None,
        usage: AreaUse::Ignored,
        ..header
    };
    let reread = open_devices(&devices);
    for pvs in [pvs, reread] {
        assert_eq!(pvs[0].areas()[0].header, Some(expected));
    }
}

/// How long an area is its header says, as for stock, also where the label leaves room for the
/// header only; with less room there is none.
#[test]
fn an_area_is_as_long_as_its_header_says() {
    for (room, is_there) in [(512, true), (511, false)] {
        let mut images = committed(&[(1, Areas::One)], 3);
        let head = images[0].bytes(Range::new(0, 2048));
        let mut label = Label::scan(&head).label.expect("is there");
        label.pv.metadata_areas[0].size = Bytes(room);
        images[0].write(512, &label.encode().expect("fits"));
        assert_eq!(newest(&images), is_there.then_some(3), "{room}");
        let held = open(&images)[0].areas()[0].held;
        assert_eq!(held == Held::Damaged, !is_there, "{room}");
    }
}

/// Where headers could not be written, people are told which physical volumes have the new version
/// and which may not have it, each once.
#[test]
fn those_that_a_commit_may_not_have_reached_are_named() {
    const DISKS: [(&str, Areas); 3] = [
        ("left", Areas::Two),
        ("middle", Areas::One),
        ("right", Areas::One),
    ];
    let on = |good: &str, bad: &str| {
        format!("the change of VG vg0 is committed on {good}, and possibly not on {bad}; ")
    };
    let cases = [
        (&[0][..], on("middle, right", "left")),
        (&[1], on("left, right", "middle")),
        (&[2, 1], on("left", "middle, right")),
        (
            &[0, 1, 2],
            "the change of VG vg0 may or may not have reached left, middle, right; ".to_owned(),
        ),
    ];
    for (failing, expected) in cases {
        let seeds = [1, 2, 3];
        let images = seeds.map(|seed| blank(seed, DISKS[usize::from(seed) - 1].1));
        let sims = disks::sims(&images);
        let mut pvs = Vec::new();
        for (sim, (name, _)) in sims.iter().zip(DISKS) {
            let device: Arc<dyn Device> = Arc::new(sim.clone());
            pvs.push(OpenPv::open(disks::taken(name, &device)).expect("has a label"));
        }
        for number in failing {
            let texts = pvs[*number].areas().len() as u64;
            let mut disk = sims[*number].disk();
            // The texts are flushed before the first header.
            let header = disk.begun() + texts + 2;
            disk.faults_mut().failing.insert(header, BlockKind::Io);
        }
        let vg = next(&group(&seeds));
        let error = write_group(&mut pvs, &vg, &[], FlushPolicy::Strict, &mut NoHooks)
            .expect_err("not all were reached");
        assert_eq!(error.kind(), Kind::Incomplete, "{error}");
        assert!(error.to_string().starts_with(&expected), "{error}");
    }
}
