//! Spares of arrays in each format.

use crate::raid::config::FirstSync;
use crate::raid::md::{
    Claim, KeptSuperblock, NewArray, NewBitmap, Place, Role, Shape, Verdict, judge,
};

const MIB: u64 = 1 << 20;

/// The superblocks of an array's legs.
fn legs(place: Place) -> Vec<KeptSuperblock> {
    let array = NewArray {
        place,
        uuid: *b"an array of ours",
        name: String::new(),
        created: 1_800_000_000,
        shape: Shape {
            level: 5,
            layout: Some(2),
            chunk: 64 << 10,
        },
        legs: 3,
        first: FirstSync::Assumed,
        bitmap: NewBitmap::Internal(None),
    };
    let made = array.format(&[8 * MIB; 3], || [7; 16]).expect("it can be");
    let superblock = |writes: &Vec<(u64, Vec<u8>)>| {
        let (_, bytes) = writes.last().expect("superblocks are last");
        let read = KeptSuperblock::decode(bytes, place, 8 * MIB);
        read.unwrap().expect("it is one")
    };
    made.devices.iter().map(superblock).collect()
}

/// A spare has a number that nobody has, is found to be one, and a device that is too small cannot
/// be one.
#[test]
fn spares_join_each_format() {
    for place in [Place::Start, Place::SecondBlock, Place::End, Place::EndOld] {
        let legs = legs(place);
        let claims: Vec<Claim> = legs.iter().map(|leg| leg.claim(8 * MIB)).collect();
        let mut all = claims.clone();
        for (count, size) in [8 * MIB, 11 * MIB].into_iter().enumerate() {
            let spare = legs[0].spare(&all, size, [9; 16]).expect("it is large");
            let claim = spare.claim;
            assert_eq!(place.offset(size), Some(spare.at));
            assert_eq!(claim.role(), Role::Spare, "{place:?}");
            assert!(all.iter().all(|other| other.number != claim.number));
            assert_eq!(claim.number as usize, 3 + count);
            all.push(claim);
        }
        let array = judge(&all).expect("they are one array");
        assert_eq!(array.verdicts[3..], [Verdict::Spare; 2], "{place:?}");
        assert!(array.legs.iter().all(Option::is_some));
        let error = legs[0].spare(&claims, 4 * MIB, [9; 16]);
        let error = error.expect_err("it is too small").to_string();
        assert!(error.contains("have no room"), "{error}");
    }
}
