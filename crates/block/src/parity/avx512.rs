//! 64 bytes in a register, and one instruction for a product (GFNI): servers since 2019, AMD since
//! 2022.
//!
//! The product with a fixed factor is linear over the bits of a byte: a matrix of eight rows, which
//! `gf2p8affine` applies to each byte at once, whatever the field's polynomial is. Its sister
//! `gf2p8mul` knows only another polynomial.

use std::arch::x86_64::{
    __m512i, _mm512_gf2p8affine_epi64_epi8, _mm512_loadu_si512, _mm512_set1_epi64,
    _mm512_setzero_si512, _mm512_storeu_si512, _mm512_xor_si512,
};

use super::field::products;
use super::formula::{Formula, Start};
use super::kernels::kernels;

type Lanes = __m512i;
const LEN: usize = 64;
/// Of 32 registers P and Q take eight.
const WIDTH: usize = 4;
type Factor = Lanes;

#[inline]
#[target_feature(enable = "avx512f,gfni")]
fn zero() -> Lanes {
    _mm512_setzero_si512()
}

#[inline]
#[target_feature(enable = "avx512f,gfni")]
fn load(bytes: &[u8; LEN]) -> Lanes {
    // SAFETY: the reference is to 64 bytes, and this load asks for no alignment. Safe Rust would
    // put a register together from words.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f,gfni")]
fn store(bytes: &mut [u8; LEN], lanes: Lanes) {
    // SAFETY: the reference is to 64 bytes that nobody else has, and this store asks for no
    // alignment. Safe Rust would take a register apart into words.
    unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), lanes) }
}

#[inline]
#[target_feature(enable = "avx512f,gfni")]
fn xor(a: Lanes, b: Lanes) -> Lanes {
    _mm512_xor_si512(a, b)
}

#[inline]
#[target_feature(enable = "avx512f,gfni")]
fn double(lanes: Lanes) -> Lanes {
    const BY_TWO: i64 = matrix([2, 4, 8, 16, 32, 64, 128, 0x1d]);
    multiply(lanes, _mm512_set1_epi64(BY_TWO))
}

#[inline]
#[target_feature(enable = "avx512f,gfni")]
fn factor(by: u8) -> Factor {
    _mm512_set1_epi64(matrix(products(by)))
}

/// The matrix whose column for each bit is this product: the row of the product's bit `n` is byte
/// `7 - n`, and bit `m` of a row is for bit `m` of the other factor.
const fn matrix(products: [u8; 8]) -> i64 {
    let mut matrix: u64 = 0;
    let mut bit = 0;
    while bit < 8 {
        let mut row = 0;
        while row < 8 {
            let is_set = (products[bit] >> row) as u64 & 1;
            matrix |= is_set << (8 * (7 - row) + bit);
            row += 1;
        }
        bit += 1;
    }
    matrix.cast_signed()
}

#[inline]
#[target_feature(enable = "avx512f,gfni")]
fn multiply(lanes: Lanes, by: Factor) -> Lanes {
    _mm512_gf2p8affine_epi64_epi8::<0>(lanes, by)
}

kernels!(#[target_feature(enable = "avx512f,gfni")]);
