//! Tests: where texts lie and where they go, against naive oracles.

use std::collections::BTreeSet;

use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};

use super::{RawLocation, Ring, RingSpan};
use crate::error::Kind;
use crate::ondisk::{AreaHeader, Span};
use crate::units::Bytes;

const WRAPPED: &[u8] = include_bytes!("../../../fixtures/area-wrapped.bin");

fn ring(start: u64, size: u64) -> Ring {
    Ring {
        start: Bytes(start),
        size: Bytes(size),
    }
}

fn at(offset: u64, size: u64) -> RawLocation {
    RawLocation {
        offset: Bytes(offset),
        size: Bytes(size),
        checksum: 0,
    }
}

/// The bytes of an area that a text takes, one by one.
fn bytes_of(ring: &Ring, text: &RawLocation) -> Vec<u64> {
    let wrap = |at: u64| {
        if at < ring.size.0 {
            at
        } else {
            at - ring.size.0 + 512
        }
    };
    (0..text.size.0)
        .map(|index| wrap(text.offset.0 + index))
        .collect()
}

#[test]
fn stock_wrapped_text_is_read() {
    // Proves: a text of stock's that goes on behind the header has the right checksum.
    let area = Span {
        offset: Bytes(4096),
        size: Bytes(32768),
    };
    let header = AreaHeader::decode(WRAPPED, area, Bytes(16 << 20)).unwrap();
    let live = header.committed.unwrap();
    assert!(live.offset + live.size > header.size);
    let ring = Ring::new(&header);
    assert_eq!(ring.spans(&live).unwrap().len(), 2);
    let text = ring.text(WRAPPED, &live).unwrap();
    live.verify(&text).unwrap();
    assert!(text.starts_with(b"ring {\n"));
    assert_eq!(
        ring.text(&WRAPPED[..32767], &live).unwrap_err().kind,
        Kind::AreaText
    );

    // Written back to the same place, it makes the same bytes.
    for write in ring.writes(live.offset, &text, Bytes(512)) {
        let there = &WRAPPED[write.offset.0 as usize..][..write.bytes.len()];
        assert_eq!(write.bytes, there);
    }
}

#[test]
fn hostile_locations_are_refused() {
    // Proves: offsets and sizes at and past every bound.
    let ring = ring(4096, 4096);
    let kind = |offset, size| ring.spans(&at(offset, size)).map_err(|error| error.kind);
    for (offset, size) in [
        (0, 1),
        (511, 1),
        (4096, 1),
        (u64::MAX, 1),
        (512, 0),
        (512, 3585),
        (512, u64::MAX),
        (u64::MAX, u64::MAX),
    ] {
        assert_eq!(kind(offset, size), Err(Kind::AreaText), "{offset} {size}");
    }
    let piece = |offset, size| RingSpan {
        offset: Bytes(offset),
        size: Bytes(size),
    };
    assert_eq!(kind(512, 3584), Ok(vec![piece(512, 3584)]));
    assert_eq!(kind(4095, 1), Ok(vec![piece(4095, 1)]));
    assert_eq!(kind(4095, 3584), Ok(vec![piece(4095, 1), piece(512, 3583)]));
    assert_eq!(
        ring_of(1 << 40).spans(&at(512, 1 << 30)).unwrap_err().kind,
        Kind::Limit
    );
    assert_eq!(
        ring_of(512).spans(&at(512, 1)).unwrap_err().kind,
        Kind::AreaText
    );
}

fn ring_of(size: u64) -> Ring {
    ring(4096, size)
}

#[test]
fn stock_puts_texts_one_behind_the_other() {
    // Proves: stock's rule at its edges.
    let ring = ring_of(8192);
    assert_eq!(ring.next_stock(None), Bytes(512));
    assert_eq!(ring.next_stock(Some(&at(512, 1))), Bytes(1024));
    // A text that ends with its sector leaves a sector free.
    assert_eq!(ring.next_stock(Some(&at(512, 512))), Bytes(1536));
    assert_eq!(ring.next_stock(Some(&at(7168, 400))), Bytes(7680));
    assert_eq!(ring.next_stock(Some(&at(7168, 513))), Bytes(512));
    assert_eq!(ring.next_stock(Some(&at(7168, 1024))), Bytes(512));
    assert_eq!(ring.next_stock(Some(&at(7680, 1024))), Bytes(1536));
    // Ones that cannot be do no harm.
    assert_eq!(ring.next_stock(Some(&at(u64::MAX, u64::MAX))), Bytes(512));
}

#[test]
fn stock_next_place_is_where_stock_wrote() {
    // Proves: our reading of stock's rule, on the ring that stock wrote: each version lies where
    // the version before it says.
    let area = Span {
        offset: Bytes(4096),
        size: Bytes(32768),
    };
    let header = AreaHeader::decode(WRAPPED, area, Bytes(16 << 20)).unwrap();
    let versions = crate::ondisk::versions(WRAPPED, &header);
    assert!(versions.len() > 5);
    for pair in versions.windows(2) {
        assert_eq!(pair[1].seqno, pair[0].seqno + 1);
        let next = Ring::new(&header).next_stock(Some(&pair[0].location));
        assert_eq!(next, pair[1].location.offset);
    }
}

#[test]
fn a_growing_group_always_finds_a_place() {
    // Proves: with blocks of 4 KiB a text may grow to stock's limit, change by change.
    let ring = ring_of(1044480);
    let block = Bytes(4096);
    let mut live: Option<RawLocation> = None;
    // The ends of the ring are not whole blocks, so the very last sizes need smaller blocks.
    let largest = ring.text_max().0 - 2 * block.0;
    for size in (1000..largest).step_by(700) {
        let live_texts: Vec<_> = live.into_iter().collect();
        let place = ring.place(&live_texts, Bytes(size), block).unwrap();
        live = Some(at(place.0, size));
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    // Proves: tiny and full areas give an error that says what to do.
    for size in [512, 513, 1023, 1536, 2047] {
        let error = ring_of(size)
            .place(&[], Bytes(513), Bytes(512))
            .unwrap_err();
        assert_eq!(error.kind, Kind::Limit);
        assert!(error.context.contains("--metadatasize"));
    }
    let ring = ring_of(1044480);
    assert_eq!(ring.text_max(), Bytes(521472));
    assert!(ring.place(&[], Bytes(521472), Bytes(512)).is_ok());
    assert!(ring.place(&[], Bytes(521473), Bytes(512)).is_err());
    // Three texts do not fit, whatever the block.
    let live = [at(512, 521472), at(521984, 521472)];
    assert!(ring.place(&live, Bytes(521472), Bytes(512)).is_err());
    // A block as large as the area leaves no place.
    assert!(ring.place(&[], Bytes(1), Bytes(1 << 20)).is_err());
}

fn block() -> impl Strategy<Value = u64> {
    prop_oneof![Just(512_u64), Just(4096), Just(16384)]
}

proptest! {
    #[test]
    fn pieces_are_the_bytes_in_order(
        size in 512_u64..6000, offset in 0_u64..6000, len in 0_u64..6000,
    ) {
        // Proves: where a text is read equals the definition, byte for byte.
        let ring = ring_of(size);
        let text = at(offset, len);
        if let Ok(spans) = ring.spans(&text) {
            let read = spans.iter().flat_map(|s| s.offset.0..s.offset.0 + s.size.0);
            let read: Vec<u64> = read.collect();
            let distinct: BTreeSet<u64> = read.iter().copied().collect();
            assert_eq!(read, bytes_of(&ring, &text));
            assert_eq!(distinct.len() as u64, len);
            assert!(read.iter().all(|at| (512..size).contains(at)));
        } else {
            assert!(offset < 512 || offset >= size || len == 0 || len > size - 512);
        }
    }

    #[test]
    fn a_place_shares_no_block(
        start in prop_oneof![Just(4096_u64), (0_u64..40).prop_map(|sector| sector * 512)],
        size in 1024_u64..200_000, first in 512_u64..200_000, first_len in 1_u64..100_000,
        second in any::<Option<(u16, u16)>>(), len in 1_u64..100_000, block in block(),
    ) {
        // Proves: with any live texts, the new one begins on a block, stays in the ring, and
        // shares no block with the header or with a live text; stock can read it.
        let ring = ring(start, size);
        let mut live = vec![at(first, first_len)];
        live.extend(second.map(|(offset, len)| at(offset.into(), len.into())));
        if let Ok(place) = ring.place(&live, Bytes(len), Bytes(block)) {
            let new = at(place.0, len);
            assert!(ring.spans(&new).is_ok());
            let text: Vec<u8> = std::iter::repeat_n(b'x', len as usize - 1).chain([0]).collect();
            let blocks_of = |bytes: &mut dyn Iterator<Item = u64>| -> BTreeSet<u64> {
                bytes.map(|byte| (start + byte) / block).collect()
            };
            let writes = ring.writes(place, &text, Bytes(block));
            let written = blocks_of(&mut writes.iter().flat_map(|write| {
                write.offset.0..write.offset.0 + write.bytes.len() as u64
            }));
            assert!(written.is_disjoint(&blocks_of(&mut (0..512))));
            for live in live.iter().filter(|live| ring.spans(live).is_ok()) {
                let mut bytes = bytes_of(&ring, live).into_iter();
                assert!(written.is_disjoint(&blocks_of(&mut bytes)));
            }
            if block > 512 {
                assert_eq!((start + place.0) % block, 0);
                assert_eq!(writes.len(), 1);
                assert_eq!(writes[0].bytes.len() as u64 % block, 0);
            }
        } else if block == 512 && start.is_multiple_of(512) && second.is_none() {
            // Stock would have found one, unless its own limit forbids, or its live text is none.
            let stock = ring.next_stock(live.first());
            let new = at(stock.0, len);
            let overlaps = ring.spans(&new).is_err() || ring.spans(&live[0]).is_ok_and(|_| {
                let live = bytes_of(&ring, &live[0]);
                let live: BTreeSet<u64> = live.iter().map(|at| at / 512).collect();
                bytes_of(&ring, &new).iter().any(|at| live.contains(&(at / 512)))
            });
            assert!(len > ring.text_max().0 || overlaps);
        }
    }
}

#[test]
fn texts_keep_to_the_blocks_of_the_whole_disk() {
    // Proves: in a partition that begins inside a physical block, texts share none of the disk's.
    let (partition, block) = (63 * 512, Bytes(4096));
    let first = Bytes(block.0 - partition % block.0);
    let ring = ring(4096, 1 << 20).aligned_at(first, block);
    let on_disk = |text: &RawLocation| partition + 4096 + text.offset.0;
    let live = at(ring.place(&[], Bytes(5000), block).unwrap().0, 5000);
    let next = at(ring.place(&[live], Bytes(5000), block).unwrap().0, 5000);
    for text in [live, next] {
        assert_eq!(on_disk(&text) % block.0, 0);
    }
    let header = (partition + 4096) / block.0;
    assert!(on_disk(&live) / block.0 > header);
    assert!(on_disk(&next) / block.0 > (on_disk(&live) + 5000 - 1) / block.0);
}
