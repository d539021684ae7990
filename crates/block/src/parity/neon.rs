//! 16 bytes in a register: every 64-bit ARM.
//!
//! As with AVX2: doubling with a mask of the negative bytes, products by two lookups.

use std::arch::aarch64::{
    uint8x16_t, vandq_u8, vcltzq_s8, vdupq_n_u8, veorq_u8, vld1q_u8, vqtbl1q_u8,
    vreinterpretq_s8_u8, vshlq_n_u8, vshrq_n_u8, vst1q_u8,
};

use super::field::REDUCE;
use super::formula::{Formula, Start};
use super::halves::halves;
use super::kernels::kernels;

type Lanes = uint8x16_t;
const LEN: usize = 16;
/// Of 32 registers P and Q take sixteen.
const WIDTH: usize = 8;

/// The products with the lower and the upper halves of bytes.
#[derive(Clone, Copy)]
struct Factor {
    low: Lanes,
    high: Lanes,
}

#[inline]
#[target_feature(enable = "neon")]
fn zero() -> Lanes {
    vdupq_n_u8(0)
}

#[inline]
#[target_feature(enable = "neon")]
fn load(bytes: &[u8; LEN]) -> Lanes {
    // SAFETY: the reference is to 16 bytes, and this load asks for no alignment. Safe Rust would
    // put a register together from words.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

#[inline]
#[target_feature(enable = "neon")]
fn store(bytes: &mut [u8; LEN], lanes: Lanes) {
    // SAFETY: the reference is to 16 bytes that nobody else has, and this store asks for no
    // alignment. Safe Rust would take a register apart into words.
    unsafe { vst1q_u8(bytes.as_mut_ptr(), lanes) }
}

#[inline]
#[target_feature(enable = "neon")]
fn xor(a: Lanes, b: Lanes) -> Lanes {
    veorq_u8(a, b)
}

#[inline]
#[target_feature(enable = "neon")]
fn double(lanes: Lanes) -> Lanes {
    let negative = vcltzq_s8(vreinterpretq_s8_u8(lanes));
    xor(
        vshlq_n_u8::<1>(lanes),
        vandq_u8(negative, vdupq_n_u8(REDUCE)),
    )
}

#[inline]
#[target_feature(enable = "neon")]
fn factor(by: u8) -> Factor {
    let [low, high] = halves(by);
    Factor {
        low: load(&low),
        high: load(&high),
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn multiply(lanes: Lanes, by: Factor) -> Lanes {
    let low = vandq_u8(lanes, vdupq_n_u8(0x0f));
    let high = vshrq_n_u8::<4>(lanes);
    xor(vqtbl1q_u8(by.low, low), vqtbl1q_u8(by.high, high))
}

kernels!(#[target_feature(enable = "neon")]);
