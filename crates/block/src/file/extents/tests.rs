//! What is asked outside a file is refused, and who tells nothing holds data.

use std::sync::Arc;

use super::{extents, merged};
use crate::file::{Access, Caching, FileDevice};
use crate::{Device, Extent, ExtentKind, Kind, Range};

const SIZE: u64 = 64 << 10;

fn device() -> FileDevice {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let file = rustix::fs::memfd_create("extents", flags).expect("a file in memory");
    rustix::fs::ftruncate(&file, SIZE).expect("grows");
    FileDevice::from_fd(file, "m", Access::ReadWrite, Caching::Probe).expect("opens")
}

/// Nothing, and what lies behind the end, is no range of a file; all of it is, and is a hole.
#[test]
fn ranges_outside_are_refused() {
    let device = device();
    for range in [
        Range::new(4096, 0),
        Range::new(SIZE, 1),
        Range::new(SIZE - 1, 2),
    ] {
        let error = device.extents(range, 8).expect_err("it is outside");
        assert_eq!(error.kind(), Kind::InvalidRequest);
    }
    for count in [0, 1, 8] {
        let found = device
            .extents(Range::new(0, SIZE), count)
            .expect("is inside");
        assert_eq!((found.len(), found[0].len), (1, SIZE));
        assert_eq!(found[0].kind, ExtentKind::Hole);
    }
}

/// A file that does not tell its holes is data to the end of what was asked, and no further.
#[test]
fn files_that_do_not_tell_are_data() {
    let mut shared = {
        let device = device();
        device.shared()
    };
    let (pipe, _writer) = rustix::pipe::pipe().expect("a pipe");
    Arc::get_mut(&mut shared).expect("the device is gone").file = pipe;
    let found = extents(&shared, Range::new(4096, 8192), 8).expect("is inside");
    assert_eq!((found.len(), found[0].len), (1, 8192));
    assert_eq!(found[0].kind, ExtentKind::Data);
}

/// Each extent has a byte at least, also where a file contradicts itself: `/dev/zero` says that its
/// first byte begins both data and a hole.
#[test]
fn contradictions_are_passed_over() {
    let mut shared = {
        let device = device();
        device.shared()
    };
    let zero = std::fs::File::open("/dev/zero").expect("every machine has it");
    Arc::get_mut(&mut shared).expect("the device is gone").file = zero.into();
    let found = extents(&shared, Range::new(0, 8192), 8).expect("is inside");
    let (len, kind) = (8, ExtentKind::Data);
    assert_eq!(found, [Extent { len, kind }]);
}

/// Neighbours of one kind become one, of which nothing is lost.
#[test]
fn neighbours_are_merged() {
    let (data, hole) = (ExtentKind::Data, ExtentKind::Hole);
    let extents = |list: &[(u64, ExtentKind)]| -> Vec<Extent> {
        let all = list.iter().map(|&(len, kind)| Extent { len, kind });
        all.collect()
    };
    let found = merged(extents(&[
        (1, data),
        (2, data),
        (4, hole),
        (8, hole),
        (16, hole),
        (32, data),
    ]));
    assert_eq!(found, extents(&[(3, data), (28, hole), (32, data)]));
    assert_eq!(merged(Vec::new()), []);
}
