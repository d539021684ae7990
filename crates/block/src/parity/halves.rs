//! The products of a factor with each half of a byte: tables for instructions that look up sixteen.

use super::field::products;

/// How many values half a byte has.
pub(super) const HALF: usize = 16;

/// The products with 0 to 15, and with 0 to 240 in steps of 16.
pub(super) fn halves(factor: u8) -> [[u8; HALF]; 2] {
    let products = products(factor);
    let (low, high) = products.split_at(4);
    [low, high].map(|bits| {
        let mut table = [0; HALF];
        for value in 1..HALF {
            // What it is without its lowest bit is known already.
            let lowest = value.trailing_zeros() as usize;
            table[value] = table[value & (value - 1)] ^ bits[lowest];
        }
        table
    })
}
