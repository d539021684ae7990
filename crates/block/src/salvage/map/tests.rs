//! Maps beside arrays, and their texts.

use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

use super::{Map, Status};
use crate::Range;

proptest! {
    /// A map behaves like an array of statuses, and is read as it was written.
    #[test]
    fn a_map_is_an_array(
        sets in proptest::collection::vec((0..64_u64, 0..64_u64, 0..5_usize), 0..30),
        from in 0..65_u64,
    ) {
        let (mut map, mut array) = (Map::new(64), [Status::NonTried; 64]);
        for (start, len, status) in sets {
            let (len, status) = (len.min(64 - start), Status::ALL[status]);
            map.set(Range::new(start, len), status);
            array[start as usize..(start + len) as usize].fill(status);
        }
        for (run, status) in map.runs() {
            let mut part = array[run.start() as usize..run.end() as usize].iter();
            prop_assert!(part.all(|found| *found == status));
        }
        for status in Status::ALL {
            let first = (from..64).find(|at| array[*at as usize] == status);
            prop_assert_eq!(map.next(status, from).map(Range::start), first);
            let last = (0..from).rev().find(|at| array[*at as usize] == status);
            prop_assert_eq!(map.previous(status, from).map(|run| run.end() - 1), last);
        }
        let mut text = Vec::new();
        map.write(&[], &mut text).expect("memory");
        prop_assert_eq!(Map::parse(std::str::from_utf8(&text).expect("text")).expect("a map"), map);
    }

    /// No text makes the parser fall over.
    #[test]
    fn any_text_is_read_or_refused(text in "[0-9x?*/+#FG \n-]{0,60}") {
        if let Ok(map) = Map::parse(&text) {
            map.check();
        }
    }
}

#[test]
fn a_map_of_ddrescue_is_read() {
    // Proves: the texts that GNU ddrescue writes are understood, and what is no map is refused with
    // its line.
    let text = "# Mapfile. Created by GNU ddrescue version 1.27\n\
        # Command line: ddrescue -r 3 /dev/sda disk.img disk.map\n\
        # Start time:   2026-11-23 10:00:00\n\
        # current_pos  current_status  current_pass\n\
        0x00001400     /               1\n\
        #      pos        size  status\n\
        0x00000000  0x00001000  +\n\
        0x00001000  0x00000200  -\n\
        0x00001200  512         /\n\
        0x00001400  0x00000C00  ?\n";
    let map = Map::parse(text).expect("a map");
    assert_eq!((map.size(), map.count()), (0x2000, 4));
    assert_eq!((map.phase(), map.pass()), (Status::NonScraped, 1));
    assert_eq!(map.bytes(Status::Bad), 512);
    for (text, what) in [
        ("", "line 1 of the map has no content"),
        ("0x0 + 1\n0 5 +\n6 5 +\n", "line 3"),
        ("0x0 + 1\n0 0xg +\n", "line 2"),
        (
            "0x0 + 1\n0 0xFFFFFFFFFFFFFFFF +\n0xFFFFFFFFFFFFFFFF 9 +\n",
            "line 3",
        ),
        ("+ 0x0\n", "line 1"),
    ] {
        let error = Map::parse(text).expect_err("no map").to_string();
        assert!(error.contains(what), "{text}: {error}");
    }
}

#[test]
fn crooked_maps_are_widened() {
    // Proves: of a map whose runs are no whole blocks, no byte is lost that was to be read.
    let mut map = Map::new(4096);
    map.set(Range::new(0, 4096), Status::Finished);
    map.set(Range::new(700, 10), Status::NonTried);
    map.set(Range::new(710, 1000), Status::Bad);
    map.align(512);
    let runs: Vec<(u64, u64, Status)> = map
        .runs()
        .map(|(run, status)| (run.start(), run.len(), status))
        .collect();
    let wanted = [
        (0, 512, Status::Finished),
        (512, 512, Status::NonTried),
        (1024, 1024, Status::Bad),
        (2048, 2048, Status::Finished),
    ];
    assert_eq!(runs, wanted);
}
