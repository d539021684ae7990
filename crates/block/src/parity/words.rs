//! Eight bytes in a word: what every processor has.
//!
//! A word is doubled at once: each byte is shifted without the bit that would reach its neighbour,
//! and where that bit was set, 0x1d is added. To spread it over its byte, it is moved down to the
//! lowest bit and subtracted from itself moved up: 0x100 - 1 is 0xff, and what is taken from the
//! byte above is what the move put there.

use super::field::{REDUCE, products};
use super::formula::{Formula, Start};
use super::kernels::kernels;

type Lanes = u64;
const LEN: usize = 8;
/// A cache line, of which compilers make vectors where the processor has some.
const WIDTH: usize = 8;
/// The products with each single bit, in each byte of a word.
type Factor = [u64; 8];

/// The lowest bit of each byte.
const LOW: u64 = 0x0101010101010101;

fn zero() -> Lanes {
    0
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the kernels lend the bytes of wider registers, too"
)]
fn load(bytes: &[u8; LEN]) -> Lanes {
    u64::from_ne_bytes(*bytes)
}

fn store(bytes: &mut [u8; LEN], lanes: Lanes) {
    *bytes = lanes.to_ne_bytes();
}

fn xor(a: Lanes, b: Lanes) -> Lanes {
    a ^ b
}

fn double(lanes: Lanes) -> Lanes {
    let shifted = (lanes << 1) & (LOW * 0xfe);
    shifted ^ (spread((lanes >> 7) & LOW) & (LOW * u64::from(REDUCE)))
}

/// The lowest bit of each byte in all bits of it.
fn spread(bits: u64) -> u64 {
    (bits << 8).wrapping_sub(bits)
}

fn factor(by: u8) -> Factor {
    products(by).map(|product| LOW * u64::from(product))
}

fn multiply(lanes: Lanes, by: Factor) -> Lanes {
    let mut product = 0;
    for (bit, value) in by.into_iter().enumerate() {
        product ^= spread((lanes >> bit) & LOW) & value;
    }
    product
}

kernels!();
