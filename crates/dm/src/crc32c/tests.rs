//! Sums against published values, and bit by bit.

use super::{POLYNOMIAL, crc32c};

/// One bit after the other, as it is defined.
fn slow(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ if crc & 1 == 1 { POLYNOMIAL } else { 0 };
        }
    }
    !crc
}

/// The values of RFC 3720 come out, and those of all short lengths as bits give them.
#[test]
fn sums_are_those_of_the_definition() {
    assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
    assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
    let bytes: Vec<u8> = (0..600_u32).map(|at| (at * 7 + at / 13) as u8).collect();
    for len in 0..bytes.len() {
        assert_eq!(crc32c(&bytes[..len]), slow(&bytes[..len]), "{len}");
    }
}
