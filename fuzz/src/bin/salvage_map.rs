//! The map of a salvage: any text is one or is refused with its line, and one that was read is
//! written and read as the same, also when it is widened to whole blocks.
#![no_main]

use block::Kind;
use block::salvage::{Map, Status};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut map = match Map::parse(text) {
        Ok(map) => map,
        Err(error) => return assert_eq!(error.kind(), Kind::Invalid),
    };
    let bytes: u64 = Status::ALL.iter().map(|status| map.bytes(*status)).sum();
    assert_eq!(bytes, map.size());
    assert_eq!(read_again(&map), map);
    // Disks end before 2^63.
    if map.size() < 1 << 63 {
        let finished = map.bytes(Status::Finished);
        map.align(512);
        assert!(map.bytes(Status::Finished) <= finished);
        assert_eq!(read_again(&map), map);
    }
});

fn read_again(map: &Map) -> Map {
    let mut text = Vec::new();
    map.write(&[], &mut text).expect("memory takes it");
    Map::parse(std::str::from_utf8(&text).expect("it is text")).expect("it is a map")
}
