//! Marks are told apart, and what is written over them is seen.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;

use super::{EXTENT, Marks, Written, at};
use crate::damaged::template::DISK;
use crate::scratch::Scratch;

/// What is written to the front of an extent is noticed once, and nothing else is.
#[test]
fn what_is_written_is_seen() {
    let folder = Scratch::new("marks");
    let disk = folder.sparse("disk", DISK);
    let marks = Marks::with_logs(vec![(3, 2)]);
    marks.write(3, &disk);
    let written = || {
        let mut written = Written::new();
        marks.written(3, &disk, &mut written);
        written.into_iter().collect::<Vec<_>>()
    };
    assert_eq!(written(), []);
    let file = OpenOptions::new().write(true).open(&disk).expect("a disk");
    file.write_all_at(&[0; 8192], at(2)).expect("zeros");
    file.write_all_at(&[7], at(46) + 100).expect("a byte");
    file.write_all_at(&[9; 512], at(4) + EXTENT / 2)
        .expect("what nobody looks at");
    let found = written();
    let places: Vec<(usize, u64)> = found.iter().map(|(place, _)| *place).collect();
    assert_eq!(places, [(3, 2), (3, 46)]);
    assert_eq!(found[0].1, "zeros");
    assert!(found[1].1.contains("07*1"), "{}", found[1].1);
    assert_eq!(written(), [], "the marks are there again");
}

/// No two extents hold the same, and a log says that all is in sync.
#[test]
fn marks_differ() {
    let marks = Marks::with_logs(vec![(0, 1)]);
    assert_ne!(marks.bytes(0, 0), marks.bytes(1, 0));
    assert_ne!(marks.bytes(0, 0), marks.bytes(0, 2));
    let log = marks.bytes(0, 1);
    assert_eq!(log[..4], 0x4d69_5272_u32.to_le_bytes());
    assert_eq!((log[4], log[8], log[1024]), (2, 2, 0xff));
}
