//! Superblocks that mdadm 4.2 and Linux 6.1 wrote.
//!
//! Made with devices of 8 MiB (one of 12 MiB), and read from them when the arrays were stopped:
//!
//! ```text
//!   five   1.2   level 5, 3 legs, bitmap; leg 2 was made to fail, and the array was written then
//!   one    1.0   level 1, 2 legs
//!   old    0.90  level 5, 2 legs
//!   zero   1.1   stripes over 2 legs, of which the second one is larger
//!   ten    1.2   level 10, 2 far copies, 3 legs
//! ```

use block::Range;

use super::{Claim, Guard, Layout, Place, Readiness, Role, Superblock1, Superblock090, Verdict};
use super::{ZoneOrder, Zones, find, judge};
use crate::raid::bitmap::Bitmap;
use crate::raid::geometry::{Geometry, Scheme};
use crate::raid::rotation::{Parity, Rotation};
use crate::raid::superblock::Position;

const DEVICE: u64 = 8 << 20;
const LARGER: u64 = 12 << 20;

/// Bytes that differ from others, as hexadecimal digits, and where they are.
type Parts = &'static [(usize, &'static str)];

/// Leg 0 of `five`, beside a superblock of 128 unused roles and otherwise zeros.
const FIVE_0: Parts = &[
    (0, "fc4e2ba90100000001"),
    (16, "a8b436e8ec953445224966af47b8a749686f73743a66697665"),
    (64, "2a75086b0000000005000000020000000038"),
    (88, "800000000300000008"),
    (129, "08"),
    (137, "38"),
    (144, "08"),
    (
        168,
        "b4cdb3a3da1f17ac2fac24c79423743300000800100000003475086b",
    ),
    (200, "06"),
    (208, "ffffffffffffffffe691ffda80"),
    (256, "00000100fe"),
];
/// Leg 1, beside leg 0.
const FIVE_1: Parts = &[
    (160, "01"),
    (168, "acccff77f3d7215279b63e8c54c9712b"),
    (216, "02f96d12"),
];
/// Leg 2, beside leg 0: it does not know yet that it failed.
const FIVE_2: Parts = &[
    (160, "02"),
    (168, "3bcc45e647c8efa2252ef02a9c106af0"),
    (192, "2f"),
    (200, "02"),
    (216, "d6a72a35"),
    (260, "0200"),
];
/// Leg 0 of `one`.
const ONE_0: Parts = &[
    (0, "fc4e2ba901"),
    (16, "111cb47ec12a7e38f5a68baca6a3b6d9686f73743a6f6e65"),
    (64, "2b75086b0000000001"),
    (80, "803f"),
    (92, "02"),
    (136, "e03f"),
    (144, "f03f"),
    (
        168,
        "04e8849c1ed81d531e7fa1cd5cb0990200000800f8ffffff3075086b",
    ),
    (200, "02"),
    (208, "ffffffffffffffffd7587a5680"),
    (256, "00000100"),
];
/// Leg 1, beside leg 0.
const ONE_1: Parts = &[
    (160, "01"),
    (168, "870ca14c383ebe956f54722816546037"),
    (216, "7f5cced8"),
];
/// Leg 0 of `zero`.
const ZERO_0: Parts = &[
    (0, "fc4e2ba9010000000010"),
    (16, "c753c760e1b49dd42173f2e1d9ee2927686f73743a7a65726f"),
    (64, "2d75086b"),
    (76, "01"),
    (88, "8000000002"),
    (129, "08"),
    (137, "38"),
    (
        168,
        "db341fbdee9fee380a045d38ea406e2b00000800080000002d75086b",
    ),
    (208, "ffffffffffffffffd7f878fe80"),
    (256, "00000100"),
];
/// Leg 1, beside leg 0.
const ZERO_1: Parts = &[
    (137, "58"),
    (160, "01"),
    (168, "760c324377a03a15074be89b742d033b"),
    (216, "8324f8d3"),
];
/// Leg 1 of `ten`.
const TEN_1: Parts = &[
    (0, "fc4e2ba901"),
    (16, "8a8b71e3f77f2ffe7ea5d95f78e05d1a686f73743a74656e"),
    (64, "2d75086b000000000a000000010200000038"),
    (88, "8000000003"),
    (129, "08"),
    (137, "38"),
    (144, "08"),
    (160, "01"),
    (
        168,
        "962a0fa593066eb830cb0941afbec13900000800100000003475086b",
    ),
    (200, "02"),
    (208, "ffffffffffffffffb1e43e9680"),
    (256, "000001000200"),
];
/// Leg 0 of `old`, beside zeros.
const OLD_0: Parts = &[
    (0, "fc4e2ba9000000005a"),
    (20, "fb3e303b2c75086b05000000c01f0000020000000200000003"),
    (52, "8f76892c86dd1cf45142e904"),
    (128, "3075086b010000000200000002"),
    (152, "2833fddf01"),
    (164, "01"),
    (172, "ffffffff"),
    (256, "02000000000001"),
    (516, "fe00000060"),
    (528, "06"),
    (640, "01000000fe000000700000000100000006"),
    (3972, "fe00000060"),
    (3984, "06"),
];
/// Leg 1, beside leg 0.
const OLD_1: Parts = &[(152, "3a"), (3968, "01"), (3976, "7000000001")];
/// The first sector of the bitmap on leg 0 of `five`, beside ones behind byte 256.
const BITMAP: Parts = &[
    (0, "6269746d04000000a8b436e8ec953445224966af47b8a74906"),
    (32, "01"),
    (41, "38"),
    (55, "0405"),
];

fn patch(mut bytes: Vec<u8>, parts: Parts) -> Vec<u8> {
    for (at, hex) in parts {
        for (index, digits) in hex.as_bytes().chunks(2).enumerate() {
            let digits = str::from_utf8(digits).unwrap();
            bytes[at + index] = u8::from_str_radix(digits, 16).unwrap();
        }
    }
    bytes
}

fn new_format(parts: Parts) -> Vec<u8> {
    let mut bytes = vec![0; 4096];
    bytes[256..512].fill(0xff);
    patch(bytes, parts)
}

/// What a device says that holds a superblock at a place.
fn claim(device: u64, place: Place, superblock: &[u8]) -> Claim {
    let at = place.offset(device).unwrap() as usize;
    let mut bytes = vec![0; device as usize];
    bytes[at..at + superblock.len()].copy_from_slice(superblock);
    let read = |range: Range| Ok(bytes[range.start() as usize..range.end() as usize].to_vec());
    find(device, read).unwrap().expect("it is there")
}

fn five() -> [Vec<u8>; 3] {
    let first = new_format(FIVE_0);
    let second = patch(first.clone(), FIVE_1);
    let third = patch(first.clone(), FIVE_2);
    [first, second, third]
}

/// What the kernel wrote comes out of the encoders byte for byte.
#[test]
fn golden_superblocks_are_written_as_they_were() {
    let [first, second, third] = five();
    let one = new_format(ONE_0);
    let zero = new_format(ZERO_0);
    for (place, device, bytes) in [
        (Place::SecondBlock, DEVICE, first),
        (Place::SecondBlock, DEVICE, second),
        (Place::SecondBlock, DEVICE, third),
        (Place::End, DEVICE, patch(one.clone(), ONE_1)),
        (Place::End, DEVICE, one),
        (Place::Start, LARGER, patch(zero.clone(), ZERO_1)),
        (Place::Start, DEVICE, zero),
        (Place::SecondBlock, DEVICE, new_format(TEN_1)),
    ] {
        let read = Superblock1::decode(&bytes, place, device).unwrap();
        assert!(read.expect("it is one").encode() == bytes, "{place:?}");
    }
    let old = patch(vec![0; 4096], OLD_0);
    for bytes in [patch(old.clone(), OLD_1), old] {
        let read = Superblock090::decode(&bytes, DEVICE).unwrap();
        assert!(read.expect("it is one").encode() == bytes);
    }
}

/// The leg that failed has fewer events, and is not believed although it says that all is well.
#[test]
fn a_failed_leg_is_stale() {
    let claims = five().map(|bytes| claim(DEVICE, Place::SecondBlock, &bytes));
    assert_eq!(claims[0].name, "host:five");
    assert_eq!(claims.each_ref().map(|claim| claim.events), [6, 6, 2]);
    assert_eq!(claims[2].role(), Role::Leg(2));
    let array = judge(&claims).unwrap();
    assert_eq!(
        array.verdicts,
        [Verdict::Leg(0), Verdict::Leg(1), Verdict::Stale]
    );
    assert_eq!(
        (array.readiness, array.resync),
        (Readiness::Degraded, Position::End)
    );
    let scheme = Scheme::Parity(Parity::One, Rotation::LeftSymmetric);
    let geometry = Geometry::new(scheme, 3, 64 << 10, 7 << 20).unwrap();
    assert_eq!(array.layout, Layout::Redundant(geometry));
    assert_eq!(geometry.size(), 14_680_064, "as blockdev said");
}

/// The bitmap is where the superblock says, is of the same array, and says that what was written
/// since is missing on the leg that failed.
#[test]
fn a_golden_bitmap_says_what_is_missing() {
    let claim = claim(DEVICE, Place::SecondBlock, &five()[0]);
    assert_eq!((claim.bitmap, claim.guard), (Some(8192), Guard::None));
    let mut bytes = vec![0; 256];
    bytes.resize(512, 0xff);
    let bitmap = Bitmap::decode(&patch(bytes, BITMAP)).unwrap().unwrap();
    assert_eq!((bitmap.uuid, bitmap.sync_size), (claim.uuid, 7 << 20));
    assert!(bitmap.is_current(claim.events) && bitmap.events_cleared < claim.events);
    assert_eq!((bitmap.dirty.count(), bitmap.dirty.regions()), (1, 1));
}

/// The other arrays are whole, and as large as the kernel said.
#[test]
fn golden_arrays_are_whole() {
    let one = new_format(ONE_0);
    let mirror = [one.clone(), patch(one, ONE_1)];
    let array = judge(&mirror.map(|bytes| claim(DEVICE, Place::End, &bytes))).unwrap();
    assert_eq!(array.readiness, Readiness::Whole);
    let geometry = Geometry::new(Scheme::Mirror, 2, 0, 8_323_072).unwrap();
    assert_eq!(array.layout, Layout::Redundant(geometry));
    let old = patch(vec![0; 4096], OLD_0);
    let parity = [old.clone(), patch(old, OLD_1)];
    let array = judge(&parity.map(|bytes| claim(DEVICE, Place::EndOld, &bytes))).unwrap();
    let scheme = Scheme::Parity(Parity::One, Rotation::LeftSymmetric);
    let geometry = Geometry::new(scheme, 2, 64 << 10, 8_323_072).unwrap();
    assert_eq!(array.readiness, Readiness::Whole);
    assert_eq!(array.layout, Layout::Redundant(geometry));
    let ten = claim(DEVICE, Place::SecondBlock, &new_format(TEN_1));
    let Layout::Redundant(geometry) = judge(&[ten]).unwrap().layout else {
        panic!("it has copies");
    };
    assert_eq!((geometry.size(), geometry.copies()), (11_010_048, 2));
}

/// Stripes over legs of two sizes are two zones, in the order that the superblock says.
#[test]
fn golden_stripes_have_an_order() {
    let zero = new_format(ZERO_0);
    let claims = [
        claim(DEVICE, Place::Start, &zero),
        claim(LARGER, Place::Start, &patch(zero, ZERO_1)),
    ];
    let order = Some(ZoneOrder::Original);
    let zones = Zones::new(&[7 << 20, 11 << 20], 64 << 10, order).unwrap();
    assert_eq!(zones.size(), 18_874_368, "as blockdev said");
    let array = judge(&claims).unwrap();
    assert_eq!(
        (array.layout, array.readiness),
        (Layout::Striped(zones), Readiness::Whole)
    );
}
