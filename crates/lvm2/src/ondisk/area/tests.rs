//! Tests: the header of a metadata area, stock's own and hostile ones.

use proptest::option;
use proptest::prelude::{Strategy, any, proptest};

use super::{AreaHeader, AreaUse, RawLocation, Span};
use crate::error::Kind;
use crate::ondisk::checksum;
use crate::units::Bytes;

const WRAPPED: &[u8] = include_bytes!("../../../fixtures/area-wrapped.bin");
const IGNORED: &[u8] = include_bytes!("../../../fixtures/area-ignored.bin");
const EMPTY: &[u8] = include_bytes!("../../../fixtures/area-empty.bin");
const DEVICE: Bytes = Bytes(16 << 20);
const AT: u64 = 4096;

fn area(size: u64) -> Span {
    Span {
        offset: Bytes(AT),
        size: Bytes(size),
    }
}

fn patch(at: usize, new: &[u8]) -> Vec<u8> {
    let mut sector = WRAPPED[..512].to_vec();
    sector[at..at + new.len()].copy_from_slice(new);
    let sum = checksum(&sector[4..]);
    sector[..4].copy_from_slice(&sum.to_le_bytes());
    sector
}

#[test]
fn stock_headers_come_back_byte_for_byte() {
    // Proves: decode and encode agree with stock.
    for (bytes, size, usage) in [
        (WRAPPED, 32768, AreaUse::Used),
        (IGNORED, 1044480, AreaUse::Ignored),
        (EMPTY, 1044480, AreaUse::Used),
    ] {
        let header = AreaHeader::decode(bytes, area(size), DEVICE).unwrap();
        assert_eq!(header.size, Bytes(size));
        assert_eq!(header.usage, usage);
        assert_eq!(header.precommitted, None);
        assert_eq!(header.encode(), bytes[..512]);
    }
    assert_eq!(
        AreaHeader::decode(EMPTY, area(1044480), DEVICE)
            .unwrap()
            .committed,
        None
    );
}

#[test]
fn damaged_headers_are_errors() {
    // Proves: each field that must be right is checked, and says what is wrong.
    let kind =
        |sector: &[u8]| AreaHeader::decode(sector, area(32768), DEVICE).map_err(|error| error.kind);
    let refused = Err(Kind::AreaHeader);
    assert_eq!(kind(&WRAPPED[..511]), refused);
    assert_eq!(kind(&[]), refused);
    assert_eq!(kind(&[0; 512]), refused);
    let mut sector = WRAPPED[..512].to_vec();
    sector[100] ^= 1;
    assert_eq!(kind(&sector), Err(Kind::Checksum));
    assert_eq!(kind(&patch(20, &2_u32.to_le_bytes())), refused);
    assert_eq!(kind(&patch(24, &8192_u64.to_le_bytes())), refused);
    for size in [0, 1, 511, DEVICE.0, 1 << 63, u64::MAX] {
        assert_eq!(
            kind(&patch(32, &size.to_le_bytes())),
            refused,
            "size {size}"
        );
    }
    for size in [512, 513, DEVICE.0 - AT] {
        assert!(kind(&patch(32, &size.to_le_bytes())).is_ok(), "size {size}");
    }
}

#[test]
fn a_text_must_match_its_location() {
    // Proves: length and checksum are both checked.
    let text = b"text\0";
    let location = RawLocation::new(Bytes(512), text);
    assert!(location.verify(text).is_ok());
    assert_eq!(
        location.verify(&text[..4]).unwrap_err().kind,
        Kind::AreaText
    );
    assert_eq!(location.verify(b"test\0").unwrap_err().kind, Kind::Checksum);
}

fn slot() -> impl Strategy<Value = Option<RawLocation>> {
    option::of(
        (1_u64.., any::<u64>(), any::<u32>()).prop_map(|(offset, size, checksum)| RawLocation {
            offset: Bytes(offset),
            size: Bytes(size),
            checksum,
        }),
    )
}

proptest! {
    #[test]
    fn every_header_comes_back(
        committed in slot(), precommitted in slot(), size in 512_u64..1 << 23,
        is_used in any::<bool>(),
    ) {
        // Proves: nothing is lost between values and bytes.
        let usage = if is_used { AreaUse::Used } else { AreaUse::Ignored };
        let header = AreaHeader { committed, precommitted, usage, ..AreaHeader::new(area(size)) };
        assert_eq!(AreaHeader::decode(&header.encode(), area(size), DEVICE), Ok(header));
    }
}
