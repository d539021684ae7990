//! Tests: lists, extension, and their limits.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Strategy, any, proptest};

use super::{Extension, PvHeader, PvUse, Span};
use crate::error::Kind;
use crate::units::Bytes;
use crate::uuid::Uuid;

/// What is left of a sector behind the label's header.
const PLACE: usize = 480;

fn spans(max: usize) -> impl Strategy<Value = Vec<Span>> {
    vec((1_u64.., any::<u64>()), 0..max).prop_map(|spans| {
        let span = |(offset, size)| Span {
            offset: Bytes(offset),
            size: Bytes(size),
        };
        spans.into_iter().map(span).collect()
    })
}

fn header() -> impl Strategy<Value = PvHeader> {
    let extension =
        (1_u32..=2, any::<u32>(), spans(4)).prop_map(|(version, flags, bootloader_areas)| {
            Extension {
                version,
                flags,
                bootloader_areas,
            }
        });
    (
        any::<[u8; 32]>(),
        any::<u64>(),
        spans(6),
        spans(6),
        option::of(extension),
    )
        .prop_map(
            |(uuid, size, data_areas, metadata_areas, extension)| PvHeader {
                uuid: Uuid::from_random(&uuid),
                device_size: Bytes(size),
                data_areas,
                metadata_areas,
                extension,
            },
        )
}

fn sample() -> PvHeader {
    PvHeader {
        uuid: Uuid::from_random(&[7; 32]),
        device_size: Bytes(1 << 30),
        data_areas: vec![Span {
            offset: Bytes(1 << 20),
            size: Bytes(0),
        }],
        metadata_areas: vec![Span {
            offset: Bytes(4096),
            size: Bytes(1044480),
        }],
        extension: None,
    }
}

proptest! {
    #[test]
    fn every_header_comes_back(header in header()) {
        // Proves: what fits is written and read the same; what does not fit is refused.
        let mut place = [0; PLACE];
        let lists = header.data_areas.len() + header.metadata_areas.len() + 2;
        let extension = header.extension.as_ref();
        let extension = extension.map_or(0, |e| 8 + 16 * (e.bootloader_areas.len() + 1));
        match header.encode(&mut place) {
            Ok(()) => assert_eq!(PvHeader::decode(&place).unwrap(), header),
            Err(error) => {
                assert_eq!(error.kind, Kind::Limit);
                assert!(40 + 16 * lists + extension > PLACE);
            }
        }
    }

    #[test]
    fn any_bytes_end_well(bytes in vec(any::<u8>(), 0..520)) {
        // Proves: no bytes make it panic.
        let _ = PvHeader::decode(&bytes);
        let mut valid = vec![b'a'; 32];
        valid.extend_from_slice(&bytes);
        let _ = PvHeader::decode(&valid);
    }
}

#[test]
fn lists_must_end_in_the_sector() {
    // Proves: a list without an end is an error that names the list.
    let mut bytes = [0xff; PLACE];
    bytes[..32].fill(b'x');
    let error = PvHeader::decode(&bytes).unwrap_err();
    assert_eq!(error.kind, Kind::PvHeader);
    assert!(error.context.contains("data areas"), "{error}");
    for cut in 0..PLACE {
        let mut place = [0; PLACE];
        sample().encode(&mut place).unwrap();
        let read = PvHeader::decode(&place[..cut]);
        assert_eq!(read.is_ok(), cut >= 40 + 4 * 16, "cut at {cut}");
    }
    let mut bytes = [0; PLACE];
    let mut header = sample();
    header.set_usage(PvUse::Used);
    header.encode(&mut bytes).unwrap();
    bytes[40 + 64 + 8..].fill(0xff);
    let error = PvHeader::decode(&bytes).unwrap_err();
    assert!(error.context.contains("bootloader areas"), "{error}");
}

#[test]
fn later_extensions_are_read_and_not_written() {
    // Proves: we never downgrade a header that a newer LVM2 wrote.
    let mut header = sample();
    header.set_usage(PvUse::Used);
    let mut bytes = [0; PLACE];
    header.encode(&mut bytes).unwrap();
    bytes[104] = 3;
    let read = PvHeader::decode(&bytes).unwrap();
    assert_eq!(read.usage(), PvUse::Used);
    assert_eq!(
        read.encode(&mut [0; PLACE]).unwrap_err().kind,
        Kind::PvHeader
    );
}

#[test]
fn usage_needs_the_second_extension() {
    // Proves: an older header does not say whether it is used, and setting it adds the extension.
    let mut header = sample();
    assert_eq!(header.usage(), PvUse::Unknown);
    header.set_usage(PvUse::Unknown);
    assert_eq!(header, sample());
    header.extension = Some(Extension {
        version: 1,
        flags: 1,
        bootloader_areas: Vec::new(),
    });
    assert_eq!(header.usage(), PvUse::Unknown);
    header.set_usage(PvUse::Free);
    assert_eq!(header.usage(), PvUse::Free);
    header.set_usage(PvUse::Used);
    assert_eq!(header.usage(), PvUse::Used);
    assert_eq!(header.extension.as_ref().unwrap().version, 2);
}

#[test]
fn spans_are_checked_against_the_device() {
    // Proves: sums that overflow are off the device, too.
    let span = |offset, size| Span {
        offset: Bytes(offset),
        size: Bytes(size),
    };
    assert_eq!(span(512, 512).end_within(Bytes(1024)), Some(Bytes(1024)));
    assert_eq!(span(512, 513).end_within(Bytes(1024)), None);
    assert_eq!(span(u64::MAX, u64::MAX).end_within(Bytes(u64::MAX)), None);
}

#[test]
fn a_foreign_character_in_the_uuid_is_an_error() {
    // Proves: the UUID is checked.
    assert_eq!(
        PvHeader::decode(&[0; PLACE]).unwrap_err().kind,
        Kind::PvHeader
    );
}

#[test]
fn an_area_at_zero_cannot_be_written() {
    // Proves: nobody writes a list that reads shorter.
    let mut header = sample();
    header.data_areas[0].offset = Bytes(0);
    assert_eq!(
        header.encode(&mut [0; PLACE]).unwrap_err().kind,
        Kind::PvHeader
    );
}
