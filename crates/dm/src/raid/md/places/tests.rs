//! Where superblocks are, beside what md's formulas say in sectors.

use block::Range;
use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

use super::{Place, candidates, find};
use crate::Kind;
use crate::raid::md::superblock1::tests::sample as new;
use crate::raid::md::superblock090::tests::sample as old;

const DEVICE: u64 = 16 << 20;

/// A device that holds these bytes.
fn device(parts: &[(u64, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![0; DEVICE as usize];
    for (at, part) in parts {
        bytes[*at as usize..*at as usize + part.len()].copy_from_slice(part);
    }
    bytes
}

fn look(bytes: &[u8]) -> crate::Result<Option<super::Claim>> {
    find(bytes.len() as u64, |range: Range| {
        Ok(bytes[range.start() as usize..range.end() as usize].to_vec())
    })
}

/// A device that is too small for a place has none.
#[test]
fn small_devices_have_few_places() {
    assert_eq!(candidates(4095), []);
    assert_eq!(candidates(4096), [(Place::Start, Range::new(0, 4096))]);
    let places: Vec<Place> = candidates(64 << 10)
        .into_iter()
        .map(|(place, _)| place)
        .collect();
    let all = [Place::Start, Place::SecondBlock, Place::End, Place::EndOld];
    assert_eq!(places, all);
    assert_eq!(Place::EndOld.offset(65535), None);
}

/// Each format is found at its place, and a device without one says nothing.
#[test]
fn each_format_is_found() {
    assert_eq!(look(&device(&[])).unwrap(), None);
    for place in [Place::Start, Place::SecondBlock, Place::End] {
        let bytes = new(place, DEVICE).encode();
        let at = place.offset(DEVICE).unwrap();
        let claim = look(&device(&[(at, &bytes)]))
            .unwrap()
            .expect("it is there");
        assert_eq!(claim, new(place, DEVICE).claim());
    }
    let at = Place::EndOld.offset(DEVICE).unwrap();
    let claim = look(&device(&[(at, &old().encode())])).unwrap();
    assert_eq!(claim, Some(old().claim(DEVICE)));
}

/// Of several the array that was made last is believed, and a damaged one only hides nothing.
#[test]
fn the_latest_array_counts() {
    let mut late = new(Place::SecondBlock, DEVICE);
    late.created += 1;
    let early = new(Place::End, DEVICE);
    let end = Place::End.offset(DEVICE).unwrap();
    let (late_bytes, mut early_bytes) = (late.encode(), early.encode());
    let both = device(&[(4096, &late_bytes), (end, &early_bytes)]);
    assert_eq!(look(&both).unwrap(), Some(late.claim()));
    early_bytes[40] ^= 1;
    let both = device(&[(4096, &late_bytes), (end, &early_bytes)]);
    assert_eq!(look(&both).unwrap(), Some(late.claim()));
    let damaged = look(&device(&[(end, &early_bytes)])).expect_err("the sum is wrong");
    assert_eq!(damaged.kind(), Kind::Damaged);
}

proptest! {
    /// Places lie on the device, and where md's own formulas put them.
    #[test]
    fn places_are_md_s(device in 0_u64..(1 << 50)) {
        for (_, range) in candidates(device) {
            prop_assert!(range.end() <= device);
        }
        let sectors = device / 512;
        if sectors >= 16 {
            let end = (sectors - 16) & !7;
            prop_assert_eq!(Place::End.offset(device), Some(end * 512));
        }
        if sectors >= 128 {
            let end = (sectors & !127) - 128;
            prop_assert_eq!(Place::EndOld.offset(device), Some(end * 512));
        }
    }
}
