//! Tests: old versions in stock's ring, and hostile rings.

use proptest::collection::vec;
use proptest::prelude::{any, proptest};

use super::{Standing, versions};
use crate::ondisk::{AreaHeader, RawLocation, Ring, Span, checksum};
use crate::text;
use crate::units::Bytes;

const WRAPPED: &[u8] = include_bytes!("../../../fixtures/area-wrapped.bin");

fn header() -> AreaHeader {
    let area = Span {
        offset: Bytes(4096),
        size: Bytes(32768),
    };
    AreaHeader::decode(WRAPPED, area, Bytes(16 << 20)).unwrap()
}

#[test]
fn stock_ring_holds_its_last_versions() {
    // Proves: in a ring that went round several times, the whole versions are found, one for each
    // seqno up to the committed one, and all of them parse.
    let found = versions(WRAPPED, &header());
    let last = found.last().unwrap();
    assert_eq!(last.standing, Standing::Committed);
    assert_eq!(Some(last.location), header().committed);
    assert!(found.len() >= 8, "{} versions", found.len());
    for (index, version) in found.iter().enumerate() {
        assert_eq!(version.vg_name, "ring");
        assert_eq!(version.seqno + (found.len() - 1 - index) as u64, last.seqno);
        let bytes = Ring::new(&header())
            .text(WRAPPED, &version.location)
            .unwrap();
        version.location.verify(&bytes).unwrap();
        let root = text::parse(&bytes).unwrap();
        let vg = root.section("ring").unwrap();
        assert_eq!(
            vg.value("seqno"),
            Some(&text::Value::Integer(version.seqno as i64))
        );
        assert_eq!(
            vg.value("id"),
            Some(&text::Value::String(version.vg_uuid.as_str().into()))
        );
    }
}

#[test]
fn without_a_committed_text_the_versions_are_still_found() {
    // Proves: after vgremove (both slots zero) or with a bad checksum, history is still there.
    let count = versions(WRAPPED, &header()).len();
    let removed = AreaHeader {
        committed: None,
        ..header()
    };
    let found = versions(WRAPPED, &removed);
    assert_eq!(found.len(), count);
    assert!(
        found
            .iter()
            .all(|version| version.standing == Standing::Old)
    );
    let mut broken = header();
    broken.committed.as_mut().unwrap().checksum ^= 1;
    assert_eq!(versions(WRAPPED, &broken).len(), count);
}

#[test]
fn a_committed_text_in_another_layout_is_a_version() {
    // Proves: what the header points to is found by parsing where its first lines are unusual.
    let mut area = vec![0; 4096];
    let text = b"contents = \"x\" a { seqno = 7 id = \"u\" }\0";
    area[1000..1000 + text.len()].copy_from_slice(text);
    let committed = RawLocation {
        offset: Bytes(1000),
        size: Bytes(text.len() as u64),
        checksum: checksum(text),
    };
    let span = Span {
        offset: Bytes(4096),
        size: Bytes(4096),
    };
    let header = AreaHeader {
        committed: Some(committed),
        ..AreaHeader::new(span)
    };
    let found = versions(&area, &header);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].vg_name.as_str(), found[0].seqno), ("a", 7));
}

#[test]
fn overwritten_texts_are_no_versions() {
    // Proves: a text into which another one was written is left out, and the other one is not.
    let lines = |seqno: u64| {
        format!(
            "vg {{\nid = \"{}\"\nseqno = {seqno}\n{}}}\n\0",
            "u".repeat(38),
            "a=1\n".repeat(400)
        )
    };
    let mut area = vec![0; 8192];
    let mut put =
        |at: usize, text: &str| area[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(512, &lines(1));
    put(1024, &lines(2));
    put(4096, &lines(3));
    let span = Span {
        offset: Bytes(0),
        size: Bytes(8192),
    };
    let found = versions(&area, &AreaHeader::new(span));
    let seqnos: Vec<u64> = found.iter().map(|version| version.seqno).collect();
    assert_eq!(seqnos, [2, 3]);
    // A ring full of beginnings without ends costs no more than its length.
    let start = format!("vg {{\nid = \"{}\"\nseqno = 1\n", "u".repeat(38));
    let sector: Vec<u8> = start
        .bytes()
        .chain(std::iter::repeat(b' '))
        .take(512)
        .collect();
    let area = sector.repeat(8192);
    let span = Span {
        offset: Bytes(0),
        size: Bytes(area.len() as u64),
    };
    assert_eq!(versions(&area, &AreaHeader::new(span)), []);
}

proptest! {
    #[test]
    fn any_ring_ends_well(
        changes in vec((512_usize..32768, any::<u8>()), 0..200), len in 0_usize..=32768,
        offset in any::<u64>(), size in any::<u64>(),
    ) {
        // Proves: no bytes, no cut and no location make the search panic, and everything that it
        // returns can be read.
        let mut area = WRAPPED.to_vec();
        for (at, byte) in changes {
            area[at] = byte;
        }
        area.truncate(len);
        let hostile = RawLocation { offset: Bytes(offset), size: Bytes(size), checksum: 0 };
        let header = AreaHeader { precommitted: Some(hostile), ..header() };
        let ring = Ring::new(&header);
        for version in versions(&area, &header) {
            let text = ring.text(&area, &version.location).unwrap();
            version.location.verify(&text).unwrap();
        }
    }
}
