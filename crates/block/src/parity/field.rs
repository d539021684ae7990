//! The field of 256 elements: bytes that can be added, multiplied and divided.
//!
//! A byte stands for a polynomial over one bit. The sum of two is their exclusive or, so each is
//! its own negative; the product is taken modulo `x^8 + x^4 + x^3 + x^2 + 1` (0x11d). The powers of
//! 2 are all bytes but 0, and the 255th is 1 again: a product of single bytes is a sum of
//! logarithms. Whole buffers are multiplied elsewhere, with what [`products`] says of the factor.

/// What is added when a product reaches bit 8.
pub(super) const REDUCE: u8 = 0x1d;
/// How many bytes are powers of 2; the power of this number is 1 again.
pub(super) const ORDER: usize = 255;

/// The powers of 2 from 0 to 254, and once more, so that a sum of two logarithms finds its own.
const POWERS: [u8; 2 * ORDER] = powers();
/// For each byte but 0 which power of 2 it is.
const LOGARITHMS: [u8; 256] = logarithms();

const fn powers() -> [u8; 2 * ORDER] {
    let mut powers = [1; 2 * ORDER];
    let mut at = 1;
    while at < powers.len() {
        powers[at] = double(powers[at - 1]);
        at += 1;
    }
    assert!(powers[ORDER] == 1, "the powers begin again");
    powers
}

const fn logarithms() -> [u8; 256] {
    let mut logarithms = [0; 256];
    let mut power = 0;
    while power < ORDER {
        logarithms[POWERS[power] as usize] = power as u8;
        power += 1;
    }
    logarithms
}

/// Twice the byte.
pub(super) const fn double(byte: u8) -> u8 {
    (byte << 1) ^ if byte & 0x80 == 0 { 0 } else { REDUCE }
}

/// 2 to this power.
pub(super) fn power(power: u8) -> u8 {
    POWERS[usize::from(power)]
}

/// What gives 1 when it is multiplied with `byte`, which is not 0.
pub(super) fn inverse(byte: u8) -> u8 {
    assert!(byte != 0, "0 has no inverse");
    POWERS[ORDER - usize::from(LOGARITHMS[usize::from(byte)])]
}

/// The product of two bytes.
pub(super) fn multiply(a: u8, b: u8) -> u8 {
    if a == 0 || b == 0 {
        return 0;
    }
    let logarithm = |byte: u8| usize::from(LOGARITHMS[usize::from(byte)]);
    POWERS[logarithm(a) + logarithm(b)]
}

/// The power of 2 that makes `product` of `byte`; `None`: one of them is 0.
pub(super) fn power_between(byte: u8, product: u8) -> Option<u8> {
    if byte == 0 || product == 0 {
        return None;
    }
    let logarithm = |byte: u8| usize::from(LOGARITHMS[usize::from(byte)]);
    let power = (ORDER + logarithm(product) - logarithm(byte)) % ORDER;
    debug_assert!(
        multiply(byte, POWERS[power]) == product,
        "a quotient multiplies back"
    );
    Some(power as u8)
}

/// The factor's products with the eight bytes of one bit, lowest first. A product with any other
/// byte is the sum of those of its bits.
pub(super) fn products(factor: u8) -> [u8; 8] {
    let mut products = [factor; 8];
    for bit in 1..8 {
        products[bit] = double(products[bit - 1]);
    }
    products
}
