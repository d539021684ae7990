//! 32 bytes in a register: x86 since 2013.
//!
//! A byte is doubled by adding it to itself, and 0x1d where it was negative. A product is looked up
//! twice, for the lower and the upper half of each byte: a shuffle is sixteen lookups in a table of
//! sixteen bytes, in each half of a register.

use std::arch::x86_64::{
    __m256i, _mm256_add_epi8, _mm256_and_si256, _mm256_cmpgt_epi8, _mm256_loadu_si256,
    _mm256_set1_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_srli_epi64,
    _mm256_storeu_si256, _mm256_xor_si256,
};

use super::field::REDUCE;
use super::formula::{Formula, Start};
use super::halves::{HALF, halves};
use super::kernels::kernels;

type Lanes = __m256i;
const LEN: usize = 32;
/// Of sixteen registers P and Q take eight.
const WIDTH: usize = 4;

/// The products with the lower and the upper halves of bytes.
#[derive(Clone, Copy)]
struct Factor {
    low: Lanes,
    high: Lanes,
}

#[inline]
#[target_feature(enable = "avx2")]
fn zero() -> Lanes {
    _mm256_setzero_si256()
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(bytes: &[u8; LEN]) -> Lanes {
    // SAFETY: the reference is to 32 bytes, and this load asks for no alignment. Safe Rust would
    // put a register together from words.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(bytes: &mut [u8; LEN], lanes: Lanes) {
    // SAFETY: the reference is to 32 bytes that nobody else has, and this store asks for no
    // alignment. Safe Rust would take a register apart into words.
    unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), lanes) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn xor(a: Lanes, b: Lanes) -> Lanes {
    _mm256_xor_si256(a, b)
}

#[inline]
#[target_feature(enable = "avx2")]
fn double(lanes: Lanes) -> Lanes {
    let negative = _mm256_cmpgt_epi8(zero(), lanes);
    let reduce = _mm256_and_si256(negative, _mm256_set1_epi8(REDUCE.cast_signed()));
    xor(_mm256_add_epi8(lanes, lanes), reduce)
}

#[inline]
#[target_feature(enable = "avx2")]
fn factor(by: u8) -> Factor {
    let [low, high] = halves(by);
    Factor {
        low: twice(low),
        high: twice(high),
    }
}

/// A table in both halves of a register.
#[inline]
#[target_feature(enable = "avx2")]
fn twice(table: [u8; HALF]) -> Lanes {
    let mut both = [0; LEN];
    both[..HALF].copy_from_slice(&table);
    both[HALF..].copy_from_slice(&table);
    load(&both)
}

#[inline]
#[target_feature(enable = "avx2")]
fn multiply(lanes: Lanes, by: Factor) -> Lanes {
    let mask = _mm256_set1_epi8(0x0f);
    let low = _mm256_and_si256(lanes, mask);
    let high = _mm256_and_si256(_mm256_srli_epi64::<4>(lanes), mask);
    xor(
        _mm256_shuffle_epi8(by.low, low),
        _mm256_shuffle_epi8(by.high, high),
    )
}

kernels!(#[target_feature(enable = "avx2")]);
