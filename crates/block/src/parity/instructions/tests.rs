//! All instructions compute what a multiplication bit by bit says, for buffers of any length that
//! lie anywhere, and nothing else.

use std::collections::BTreeSet;

use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, proptest};

use super::super::field;
use super::Instructions;

/// The longest buffers: two of the largest blocks, and some of each kind behind them.
const LEN_MAX: usize = 700;
/// Where buffers begin, counted from where memory is aligned.
const PLACES: usize = 64;
/// What lies around a buffer and stays.
const EDGE: u8 = 0xa5;

/// The product as it is defined: a sum of shifted factors, and of what is left when the polynomial
/// is divided out from the top.
fn product(a: u8, b: u8) -> u8 {
    let mut product: u16 = 0;
    for bit in 0..8 {
        if b >> bit & 1 == 1 {
            product ^= u16::from(a) << bit;
        }
    }
    for bit in (8..16).rev() {
        if product >> bit & 1 == 1 {
            product ^= 0x11d << (bit - 8);
        }
    }
    u8::try_from(product).expect("it was divided")
}

fn power_of_two(power: u8) -> u8 {
    (0..power).fold(1, |value, _| product(value, 2))
}

fn naive_sum(len: usize, legs: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let byte = |at: usize| legs.iter().fold(0, |sum, (_, leg)| sum ^ leg[at]);
    (0..len).map(byte).collect()
}

fn naive_powers(len: usize, legs: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let factors: Vec<u8> = legs.iter().map(|(power, _)| power_of_two(*power)).collect();
    let byte = |at: usize| {
        let products = legs.iter().zip(&factors);
        products.fold(0, |sum, ((_, leg), factor)| sum ^ product(leg[at], *factor))
    };
    (0..len).map(byte).collect()
}

/// A buffer at some place, with something around it.
struct Placed {
    memory: Vec<u8>,
    start: usize,
    len: usize,
}

impl Placed {
    fn new(place: usize, content: &[u8]) -> Self {
        let mut memory = vec![EDGE; content.len() + 3 * PLACES];
        let aligned = memory.as_ptr().align_offset(PLACES);
        let start = aligned + place;
        memory[start..start + content.len()].copy_from_slice(content);
        Self {
            memory,
            start,
            len: content.len(),
        }
    }

    fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.len]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.len]
    }

    fn is_alone_changed(&self) -> bool {
        let (before, rest) = self.memory.split_at(self.start);
        let behind = &rest[self.len..];
        before.iter().chain(behind).all(|byte| *byte == EDGE)
    }
}

/// Legs with distinct powers, the highest first, each filled from its own seed.
fn legs() -> impl Strategy<Value = (usize, Vec<(u8, Vec<u8>)>)> {
    let powers = proptest::collection::btree_set(0..=254_u8, 2..=10);
    // Most arrays have all powers from 0 up.
    let powers = (powers, any::<bool>(), any::<u64>(), 0..LEN_MAX);
    powers.prop_map(|(powers, is_dense, seed, len)| {
        let count = powers.len() as u8;
        let powers: BTreeSet<u8> = if is_dense {
            (0..count).collect()
        } else {
            powers
        };
        let leg = |power: u8| (power, noise(seed ^ u64::from(power), len));
        (len, powers.into_iter().rev().map(leg).collect())
    })
}

/// Bytes that look random (splitmix64).
fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed;
    let byte = |_| {
        state = state.wrapping_add(0x9e3779b97f4a7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58476d1ce4e5b9);
        (mixed ^ (mixed >> 27)).wrapping_mul(0x94d049bb133111eb) as u8
    };
    (0..len).map(byte).collect()
}

/// Gives each leg a place, and lends them out.
fn placed(legs: &[(u8, Vec<u8>)], place: usize) -> Vec<(u8, Placed)> {
    let leg = |(number, (power, leg)): (usize, &(u8, Vec<u8>))| {
        (*power, Placed::new((place + 7 * number) % PLACES, leg))
    };
    legs.iter().enumerate().map(leg).collect()
}

fn borrowed(legs: &[(u8, Placed)]) -> Vec<(u8, &[u8])> {
    legs.iter()
        .map(|(power, leg)| (*power, leg.bytes()))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn sums_are_what_a_loop_over_bytes_says(
        (len, legs) in legs(),
        place in 0..PLACES,
    ) {
        // Together and P alone they replace what was there; leg by leg they come to the same.
        let (p_wanted, q_wanted) = (naive_sum(len, &legs), naive_powers(len, &legs));
        let legs = placed(&legs, place);
        let legs = borrowed(&legs);
        for instructions in Instructions::available() {
            let mut p = Placed::new(place, &noise(1, len));
            let mut q = Placed::new(PLACES - 1 - place, &noise(2, len));
            instructions.sums(p.bytes_mut(), q.bytes_mut(), &legs);
            prop_assert_eq!(p.bytes(), &p_wanted, "P, {:?}", instructions);
            prop_assert_eq!(q.bytes(), &q_wanted, "Q, {:?}", instructions);

            let data: Vec<&[u8]> = legs.iter().map(|(_, leg)| *leg).collect();
            let mut alone = Placed::new(place, &noise(3, len));
            instructions.sum(alone.bytes_mut(), &data);
            prop_assert_eq!(alone.bytes(), &p_wanted, "P alone, {:?}", instructions);
            prop_assert!(p.is_alone_changed() && q.is_alone_changed() && alone.is_alone_changed());

            for (power, leg) in &legs {
                instructions.xor_into(p.bytes_mut(), leg);
                instructions.add_power(q.bytes_mut(), leg, *power);
            }
            prop_assert_eq!(p.bytes(), &vec![0; len], "P without all, {:?}", instructions);
            prop_assert_eq!(q.bytes(), &vec![0; len], "Q without all, {:?}", instructions);
            prop_assert!(p.is_alone_changed() && q.is_alone_changed());
        }
    }

    #[test]
    fn every_leg_and_every_two_come_back(
        (len, legs) in legs(),
        place in 0..PLACES,
    ) {
        // From naive sums without them: one from Q, two from both, in either order.
        for instructions in Instructions::available() {
            for (x, x_data) in &legs {
                let only = [(*x, x_data.clone())];
                let mut target = Placed::new(place, &naive_powers(len, &only));
                instructions.recover_with_q(target.bytes_mut(), *x);
                prop_assert_eq!(target.bytes(), x_data, "{} from Q, {:?}", x, instructions);
                prop_assert!(target.is_alone_changed());
                for (y, y_data) in legs.iter().filter(|(y, _)| y != x) {
                    let both = [(*x, x_data.clone()), (*y, y_data.clone())];
                    let mut a = Placed::new(place, &naive_sum(len, &both));
                    let mut b = Placed::new(PLACES - 1 - place, &naive_powers(len, &both));
                    instructions.recover_two(a.bytes_mut(), b.bytes_mut(), *x, *y);
                    prop_assert_eq!(a.bytes(), x_data, "{} with {}, {:?}", x, y, instructions);
                    prop_assert_eq!(b.bytes(), y_data, "{} with {}, {:?}", y, x, instructions);
                    prop_assert!(a.is_alone_changed() && b.is_alone_changed());
                }
            }
        }
    }
}

#[test]
fn every_product_is_the_defined_one() {
    // All factors that are powers with all bytes, by all instructions: 255 times 256 products.
    let all: Vec<u8> = (0..=255).collect();
    for power in 0..=254 {
        let factor = power_of_two(power);
        let wanted: Vec<u8> = all.iter().map(|byte| product(*byte, factor)).collect();
        for instructions in Instructions::available() {
            let mut sum = vec![0; all.len()];
            instructions.add_power(&mut sum, &all, power);
            assert_eq!(sum, wanted, "2^{power} by {instructions:?}");
            instructions.recover_with_q(&mut sum, power);
            assert_eq!(sum, all, "divided by 2^{power} by {instructions:?}");
        }
    }
}

#[test]
fn the_field_is_the_defined_one() {
    // Products and inverses of single bytes, all of them.
    for a in 0..=255 {
        for b in 0..=255 {
            assert_eq!(field::multiply(a, b), product(a, b), "{a} times {b}");
        }
        if a != 0 {
            assert_eq!(product(a, field::inverse(a)), 1, "{a} by its inverse");
        }
    }
}

#[test]
fn the_wrong_leg_is_the_one_whose_product_is_missing() {
    // Proves: for every byte and every power, what P and Q are off by names that power; and nothing
    // is named where one of them is right.
    for power in 0..=254 {
        let factor = power_of_two(power);
        for byte in 1..=255 {
            let q = product(byte, factor);
            assert_eq!(super::super::wrong_power(byte, q), Some(power));
        }
    }
    for byte in 0..=255 {
        assert_eq!(super::super::wrong_power(byte, 0), None);
        assert_eq!(super::super::wrong_power(0, byte), None);
    }
}

#[test]
fn every_length_is_computed_to_its_end() {
    // Lengths from nothing to over a block of any kind, with three legs of other bytes each.
    for len in 0..300 {
        let legs: Vec<(u8, Vec<u8>)> = [5, 1, 0].map(|n| (n, noise(u64::from(n), len))).into();
        let (p_wanted, q_wanted) = (naive_sum(len, &legs), naive_powers(len, &legs));
        let data: Vec<(u8, &[u8])> = legs.iter().map(|(n, leg)| (*n, &leg[..])).collect();
        for instructions in Instructions::available() {
            let (mut p, mut q) = (vec![1; len], vec![2; len]);
            instructions.sums(&mut p, &mut q, &data);
            assert_eq!(
                (&p, &q),
                (&p_wanted, &q_wanted),
                "{len} by {instructions:?}"
            );
        }
    }
}

#[test]
fn no_legs_have_sums_of_zeros() {
    // An array never asks so, and the answer is the only one that fits the others.
    for instructions in Instructions::available() {
        let (mut p, mut q) = ([1; 777], [2; 777]);
        instructions.sums(&mut p, &mut q, &[]);
        assert_eq!((p, q), ([0; 777], [0; 777]), "{instructions:?}");
        p.fill(3);
        instructions.sum(&mut p, &[]);
        assert_eq!(p, [0; 777], "{instructions:?}");
    }
}

#[test]
fn the_portable_instructions_are_always_there() {
    // Others are tested only beside them, and the best come first.
    let names: Vec<&str> = Instructions::available()
        .iter()
        .map(|instructions| instructions.name())
        .collect();
    assert_eq!(names.last(), Some(&"portable"));
    assert_eq!(names.first(), Some(&Instructions::best().name()));
}

#[test]
#[should_panic(expected = "equally long")]
fn legs_of_other_lengths_are_refused() {
    // A shorter leg would leave the end of a sum wrong.
    Instructions::best().xor_into(&mut [0; 10], &[0; 9]);
}

#[test]
#[should_panic(expected = "highest power")]
fn powers_that_rise_are_refused() {
    // From the highest down is the only order in which Q comes out right.
    let (mut p, mut q) = ([0; 4], [0; 4]);
    Instructions::best().sums(&mut p, &mut q, &[(0, &[0; 4]), (1, &[0; 4])]);
}

#[test]
#[should_panic(expected = "254")]
fn the_power_that_is_one_again_is_refused() {
    // 2^255 is 2^0: two legs would be one.
    Instructions::best().add_power(&mut [0; 4], &[0; 4], 255);
}
