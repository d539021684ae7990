//! A metadata area: any bytes have a header or none; what the header points to is read inside the
//! area or refused; a place for the next text is apart from the header and the live texts; and
//! the versions that are found can be read.
//!
//! The header's checksum, magic, version and start are put right first, or nothing would get past
//! them.
#![no_main]

use std::ops::Range;

use libfuzzer_sys::fuzz_target;
use lvm2::Bytes;
use lvm2::ondisk::{AreaHeader, RawLocation, Ring, Span, checksum, versions};

const START: u64 = 4096;
const DEVICE: Bytes = Bytes(1 << 40);

fuzz_target!(|bytes: &[u8]| {
    let mut area = bytes.to_vec();
    let Some(sector) = area.get_mut(..512) else {
        return;
    };
    sector[4..20].copy_from_slice(b" LVM2 x[5A%r0N*>");
    sector[20..24].copy_from_slice(&1_u32.to_le_bytes());
    sector[24..32].copy_from_slice(&START.to_le_bytes());
    let sum = checksum(&sector[4..]);
    sector[..4].copy_from_slice(&sum.to_le_bytes());
    let span = Span {
        offset: Bytes(START),
        size: Bytes(area.len() as u64),
    };
    let Ok(header) = AreaHeader::decode(&area, span, DEVICE) else {
        return;
    };
    assert_eq!(
        AreaHeader::decode(&header.encode(), span, DEVICE),
        Ok(header)
    );

    let ring = Ring::new(&header);
    let live: Vec<RawLocation> = header
        .committed
        .into_iter()
        .chain(header.precommitted)
        .collect();
    for location in &live {
        if let Ok(text) = ring.text(&area, location) {
            assert_eq!(text.len() as u64, location.size.0);
        }
    }
    let len = u64::from(area[0]) * 100 + 1;
    for block in [512, 4096] {
        check_place(&ring, &header, &live, len, block);
    }
    for version in versions(&area, &header) {
        let text = ring
            .text(&area, &version.location)
            .expect("a version lies in its area");
        version
            .location
            .verify(&text)
            .expect("a version's checksum is that of its text");
    }
});

/// The place for a text of `len` bytes overlaps neither the header nor a live text.
fn check_place(ring: &Ring, header: &AreaHeader, live: &[RawLocation], len: u64, block: u64) {
    let Ok(offset) = ring.place(live, Bytes(len), Bytes(block)) else {
        return;
    };
    let new = ranges(
        ring,
        &RawLocation {
            offset,
            size: Bytes(len),
            checksum: 0,
        },
    );
    assert!(!new.is_empty());
    for range in &new {
        assert!(range.start >= 512 && range.end <= header.size.0);
        for taken in live.iter().flat_map(|location| ranges(ring, location)) {
            assert!(range.end <= taken.start || taken.end <= range.start);
        }
    }
}

fn ranges(ring: &Ring, location: &RawLocation) -> Vec<Range<u64>> {
    let spans = ring.spans(location).unwrap_or_default();
    spans
        .iter()
        .map(|span| span.offset.0..span.offset.0 + span.size.0)
        .collect()
}
