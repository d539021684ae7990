//! Every version of the volume group that stock left in the golden disks' rings.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;

use lvm2::Bytes;
use lvm2::model;
use lvm2::ondisk::{AreaHeader, Label, RawLocation, Ring, Standing, Version, versions};
use lvm2::text::{Style, parse};
use tests::{Access, Golden, LoopDevice, Stock};

/// The disks were written by 44 commands, and no ring went round.
const VERSION_COUNT: usize = 44;

/// One area of one disk, and what is in it.
struct Area {
    bytes: Vec<u8>,
    header: AreaHeader,
    versions: Vec<Version>,
}

fn areas(golden: &Golden) -> Vec<Area> {
    let read = |path| {
        let mut head = Vec::new();
        let mut file: File = File::open(path).expect("an image");
        let size = file.metadata().expect("its size").len();
        file.by_ref()
            .take(1 << 20)
            .read_to_end(&mut head)
            .expect("its head");
        let label = Label::scan(&head).label.expect("a label");
        let span = label.metadata_areas()[0];
        let start = usize::try_from(span.offset.0).expect("in the head");
        let bytes = head.split_off(start);
        let header = AreaHeader::decode(&bytes, span, Bytes(size)).expect("an area");
        let versions = versions(&bytes, &header);
        Area {
            bytes,
            header,
            versions,
        }
    };
    golden.images().into_iter().map(read).collect()
}

#[test]
fn all_versions_are_found() {
    // Proves: history finds every version that stock ever wrote, on every disk.
    for area in areas(&Golden::shared()) {
        let seqnos: Vec<u64> = area.versions.iter().map(|version| version.seqno).collect();
        let expected: Vec<u64> = (1..=VERSION_COUNT as u64).collect();
        assert_eq!(seqnos, expected);
        let last = area.versions.last().expect("a version");
        assert_eq!(last.standing, Standing::Committed);
        assert_eq!(Some(last.location), area.header.committed);
    }
}

#[test]
fn all_versions_are_printed_as_stock_wrote_them() {
    // Proves: text to model to text gives every one of them back byte for byte.
    for area in areas(&Golden::shared()) {
        let ring = Ring::new(&area.header);
        for version in &area.versions {
            let text = ring
                .text(&area.bytes, &version.location)
                .expect("it lies in the area");
            version.location.verify(&text).expect("its checksum");
            let root = parse(&text).expect("it parses");
            let mut vg = model::from_text(&root).expect("it is a volume group");
            let shown = String::from_utf8_lossy(&text);
            model::read_header_comments(&mut vg.header, &shown);
            let mut printed = model::to_text(&vg, Style::Raw);
            printed.push(0);
            assert_eq!(
                String::from_utf8_lossy(&printed),
                shown,
                "version {}",
                version.seqno
            );
        }
    }
}

#[test]
fn stock_puts_each_version_where_we_expect_it() {
    // Proves: our reading of stock's rule for the next place, over all of its changes.
    for area in areas(&Golden::shared()) {
        let ring = Ring::new(&area.header);
        for pair in area.versions.windows(2) {
            let next = ring.next_stock(Some(&pair[0].location));
            assert_eq!(
                next, pair[1].location.offset,
                "behind version {}",
                pair[0].seqno
            );
        }
    }
}

/// Raises the seqno of the golden text by one, and puts it where we put texts on disks with 4 KiB
/// blocks.
fn rewrite(image: &Path, area: &Area) -> RawLocation {
    let ring = Ring::new(&area.header);
    let live = area.header.committed.expect("a text");
    let old = ring.text(&area.bytes, &live).expect("it lies in the area");
    let mut vg = model::from_text(&parse(&old).expect("it parses")).expect("a volume group");
    vg.seqno += 1;
    let mut text = model::to_text(&vg, Style::Raw);
    text.push(0);
    let block = Bytes(4096);
    let size = Bytes(text.len() as u64);
    let place = ring.place(&[live], size, block).expect("a place");
    let new = RawLocation::new(place, &text);
    let disk = OpenOptions::new().write(true).open(image).expect("a copy");
    let at = |offset: Bytes| (area.header.start + offset).0;
    for write in ring.writes(place, &text, block) {
        disk.write_all_at(&write.bytes, at(write.offset))
            .expect("the text is written");
    }
    let header = AreaHeader {
        committed: Some(new),
        ..area.header
    };
    disk.write_all_at(&header.encode(), at(Bytes(0)))
        .expect("the header is written");
    new
}

#[test]
fn stock_reads_texts_that_we_place_and_goes_on() {
    // Proves: stock accepts our places, texts, checksums and headers, makes its next change behind
    // them, and that change is in turn read by us.
    let golden = Golden::copy();
    for (image, area) in golden.images().iter().zip(areas(&golden)) {
        assert_eq!(rewrite(image, &area).offset.0 % 4096, 0);
    }
    let attach = |image: &std::path::PathBuf| LoopDevice::attach(image, Access::ReadWrite);
    let loops: Vec<LoopDevice> = golden.images().iter().map(attach).collect();
    let stock = Stock::on(&loops);
    let seqno = || {
        let report = stock
            .without_driver("vgs")
            .args(["--noheadings", "-o", "vg_seqno"])
            .succeed();
        report.text().trim().to_owned()
    };
    assert_eq!(seqno(), "45");
    stock.without_driver("vgck").arg("vg0").succeed();
    stock
        .without_driver("vgchange")
        .args(["--addtag", "behind.ours", "vg0"])
        .succeed();
    assert_eq!(seqno(), "46");
    drop(loops);
    for area in areas(&golden) {
        let [.., ours, theirs] = &area.versions[..] else {
            panic!("two versions at least");
        };
        assert_eq!((ours.seqno, theirs.seqno), (45, 46));
        assert_eq!(Some(theirs.location), area.header.committed);
        let ring = Ring::new(&area.header);
        assert_eq!(
            ring.next_stock(Some(&ours.location)),
            theirs.location.offset
        );
    }
}
