//! The arithmetic, with the fastest instructions that the processor has.

use super::field;
use super::instructions::Instructions;

/// Adds `data` to `sum`: with all of a row but one leg, and its P, this gives that leg.
pub fn xor_into(sum: &mut [u8], data: &[u8]) {
    Instructions::best().xor_into(sum, data);
}

/// P of several legs; zeros if there are none. What `p` held does not count.
pub fn sum(p: &mut [u8], data: &[&[u8]]) {
    Instructions::best().sum(p, data);
}

/// P and Q of several legs, each with its power, the highest first; powers may be left out. What
/// `p` and `q` held does not count.
pub fn sums(p: &mut [u8], q: &mut [u8], data: &[(u8, &[u8])]) {
    Instructions::best().sums(p, q, data);
}

/// Adds a leg to Q, or takes it away, or with the sum of its old and new data changes it there.
pub fn add_power(q: &mut [u8], data: &[u8], power: u8) {
    Instructions::best().add_power(q, data, power);
}

/// The leg of this power from Q alone: `target` holds Q without it (all others were added to Q
/// again), and then its data.
pub fn recover_with_q(target: &mut [u8], power: u8) {
    Instructions::best().recover_with_q(target, power);
}

/// The legs of powers `x` and `y` from P and Q: `a` and `b` hold P and Q without both (all others
/// were added to them again), and then the data of `x` and of `y`.
pub fn recover_two(a: &mut [u8], b: &mut [u8], x: u8, y: u8) {
    Instructions::best().recover_two(a, b, x, y);
}

/// The power of the only leg that is wrong at a byte where P is off by `p` and Q by `q`: data that
/// are off by `p` are off by `2^power * p` in Q. `None`: one of the two is right, so it is not data
/// that is wrong, or more than one leg is.
pub fn wrong_power(p: u8, q: u8) -> Option<u8> {
    field::power_between(p, q)
}
