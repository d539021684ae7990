//! One byte after the other: what is left behind the last whole block of others.

use super::field;
use super::formula::{Formula, Start};
use super::kernels::kernels;

type Lanes = u8;
const LEN: usize = 1;
const WIDTH: usize = 1;
type Factor = u8;

fn zero() -> Lanes {
    0
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the kernels lend the bytes of wider registers, too"
)]
fn load(bytes: &[u8; LEN]) -> Lanes {
    bytes[0]
}

fn store(bytes: &mut [u8; LEN], lanes: Lanes) {
    bytes[0] = lanes;
}

fn xor(a: Lanes, b: Lanes) -> Lanes {
    a ^ b
}

fn double(lanes: Lanes) -> Lanes {
    field::double(lanes)
}

fn factor(by: u8) -> Factor {
    by
}

fn multiply(lanes: Lanes, by: Factor) -> Lanes {
    field::multiply(lanes, by)
}

kernels!();
