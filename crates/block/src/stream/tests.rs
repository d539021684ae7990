//! Streams deliver everything once, in order, and skip holes.

use super::{Holes, Piece, read_ranges, read_stream};
use crate::memory::MemoryDevice;
use crate::{Device, Driver, Error, Extent, ExtentKind, Info, Kind, Queue, Range, Result};

/// Memory that knows where it is zero, a kilobyte at a time or less.
struct Holey {
    memory: MemoryDevice,
}

impl Device for Holey {
    fn info(&self) -> Info {
        self.memory.info()
    }

    fn open_queue(&self, driver: &Driver) -> Result<Box<dyn Queue>> {
        self.memory.open_queue(driver)
    }

    fn extents(&self, range: Range, count_max: usize) -> Result<Vec<Extent>> {
        let bytes = self.memory.snapshot();
        let span = &bytes[range.start() as usize..range.end() as usize];
        let mut extents: Vec<Extent> = Vec::new();
        for chunk in span.chunks(100) {
            let kind = if chunk.iter().all(|&byte| byte == 0) {
                ExtentKind::Hole
            } else {
                ExtentKind::Data
            };
            let len = chunk.len() as u64;
            let full = extents.len() == count_max;
            match extents.last_mut() {
                Some(last) if last.kind == kind => last.len += len,
                _ if full => break,
                _ => extents.push(Extent { len, kind }),
            }
        }
        Ok(extents)
    }
}

fn holey() -> (Holey, Vec<u8>) {
    let mut bytes = vec![0; 5 << 20];
    for at in (0..bytes.len()).step_by(300_000) {
        let end = (at + (at * 7) % 200_000).min(bytes.len());
        for (offset, byte) in bytes[at..end].iter_mut().enumerate() {
            *byte = (offset % 251) as u8;
        }
    }
    let memory = MemoryDevice::from_bytes("holey", bytes.clone());
    (Holey { memory }, bytes)
}

#[test]
fn a_stream_is_the_range() {
    // What the sink gets, in order, is what the device holds; zeros come as such if wanted.
    let (device, bytes) = holey();
    for (range, holes) in [
        (Range::new(0, 5 << 20), Holes::Skip),
        (Range::new(512, 3 << 20), Holes::Skip),
        (Range::new(1 << 20, 3 << 20), Holes::Read),
        (Range::new(5 << 20, 0), Holes::Skip),
    ] {
        let mut seen = Vec::new();
        let mut skipped = 0;
        read_stream(&device, range, holes, |start, piece| {
            assert_eq!(start, range.start() + seen.len() as u64);
            match piece {
                Piece::Data(bytes) => seen.extend_from_slice(bytes),
                Piece::Zeroes(len) => {
                    seen.resize(seen.len() + len as usize, 0);
                    skipped += len;
                }
            }
            Ok::<_, Error>(())
        })
        .unwrap();
        assert!(seen == bytes[range.start() as usize..range.end() as usize]);
        assert_eq!(skipped > 0, holes == Holes::Skip && !range.is_empty());
    }
}

#[test]
fn errors_end_a_stream() {
    // The sink's error comes back, and a range outside is refused before the sink sees anything.
    let (device, _) = holey();
    let stop = || Error::new(Kind::NoSpace, "full");
    let all = Range::new(0, 5 << 20);
    let error = read_stream(&device, all, Holes::Read, |_, _| Err(stop())).unwrap_err();
    assert_eq!(error.kind(), Kind::NoSpace);
    let beyond = Range::new(0, (5 << 20) + 512);
    let error = read_stream(&device, beyond, Holes::Read, |_, _| Err(stop())).unwrap_err();
    assert_eq!(error.kind(), Kind::InvalidRequest);
}

#[test]
fn ranges_come_one_after_the_other() {
    // Ranges are delivered in their order, each whole and nothing between them.
    let (device, bytes) = holey();
    let block = 512;
    let ranges = [
        Range::new(block, 3 * block),
        Range::new(300_032, 1 << 20),
        Range::new(4 << 20, block),
    ];
    for holes in [Holes::Skip, Holes::Read] {
        let mut got: Vec<(u64, Vec<u8>)> = Vec::new();
        let read = read_ranges::<Error>(&device, &ranges, holes, |start, piece| {
            let content = match piece {
                Piece::Data(bytes) => bytes.to_vec(),
                Piece::Zeroes(count) => vec![0; count as usize],
            };
            match got.last_mut() {
                Some((at, known)) if *at + known.len() as u64 == start => known.extend(content),
                _ => got.push((start, content)),
            }
            Ok(())
        });
        read.expect("it is read");
        let wanted = ranges.map(|range| {
            let span = range.start() as usize..range.end() as usize;
            (range.start(), bytes[span].to_vec())
        });
        assert!(got == wanted, "{holes:?}");
    }
}
