//! Parity: sums over the legs of an array from which missing ones are computed again.
//!
//! Pure functions over bytes, for which legs are buffers of equal length and each has a power. They
//! know nothing of rows, chunks or devices. The formulas are from H. Peter Anvin, "The mathematics
//! of RAID-6" (<https://www.kernel.org/pub/linux/kernel/people/hpa/raid6.pdf>), as md has them:
//! bytes are elements of the field of 256 (`field.rs`), in which adding is exclusive or.
//!
//! ```text
//!   P = D0 + D1 + D2 + …                  any one leg:        Dx = P + all others
//!   Q = 2^0*D0 + 2^1*D1 + 2^2*D2 + …      one, without P:     Dx = (Q + all others) / 2^x
//!
//!   two legs, with p = Dx + Dy and q = 2^x*Dx + 2^y*Dy, what is left of P and Q when all others
//!   have been added:                      Dx = (2^y*p + q) / (2^x + 2^y)      Dy = p + Dx
//! ```
//!
//! ```text
//!   sums.rs           the functions
//!   instructions.rs   what computes them on this processor
//!   formula.rs        what there is to compute
//!   kernels.rs        the loops, for each kind of registers: avx512, avx2, neon, words, bytes
//! ```
//!
//! Buffers may have any length and lie anywhere. Lengths and powers are the caller's own state and
//! asserted. What it costs: each leg is read once and each sum written once, with the processor's
//! widest registers; blocks of 64 to 256 bytes, what is left in words and bytes.
//!
//! Where P and Q are both off and one leg is to blame, [`wrong_power`] says which; it does not find
//! out whether only one is.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod bytes;
mod field;
mod formula;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod halves;
mod instructions;
mod kernels;
#[cfg(target_arch = "aarch64")]
mod neon;
mod sums;
mod words;

pub use instructions::Instructions;
pub use sums::{add_power, recover_two, recover_with_q, sum, sums, wrong_power, xor_into};
