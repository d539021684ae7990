//! Measures the arithmetic of parity: bytes of data in a second of processor time, in the cache.
//!
//! ```text
//!   parity                              names the instructions that the processor has
//!   parity INSTRUCTIONS WHAT LEGS MS    measures for so long and prints one number
//!
//!   WHAT   p      P of the legs
//!          pq     P and Q of the legs
//!          add    one leg after the other is added to Q
//!          two    two legs from P and Q, again and again: twice their size counts
//! ```
//!
//! `copy` in place of instructions copies one leg after the other to where P would be: what moving
//! the bytes costs by itself. Legs have 64 KiB each.

use std::hint::black_box;

use ashlar_block::parity::Instructions;
use ashlar_block::{Buffer, BufferPool};
use rustix::time::{ClockId, clock_gettime};

/// What a row's piece of a leg is by default in LVM2.
const LEN: usize = 64 << 10;
/// Calls between two looks at the clock.
const CALLS: usize = 16;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [who, what, legs, milliseconds] = &arguments[..] else {
        for instructions in Instructions::available() {
            println!("{}", instructions.name());
        }
        return;
    };
    let legs: usize = legs.parse().expect("LEGS is a number");
    let milliseconds: f64 = milliseconds.parse().expect("MS is a number");
    let mut all = Instructions::available().into_iter();
    let instructions = all.find(|instructions| instructions.name() == who);
    println!(
        "{:.0}",
        Row::new(legs).measure(instructions, what, milliseconds / 1e3)
    );
}

/// The legs of a row, and its sums.
struct Row {
    legs: Vec<Buffer>,
    p: Buffer,
    q: Buffer,
}

impl Row {
    fn new(legs: usize) -> Self {
        let pool = BufferPool::new(1 << 24);
        let leg = |number: usize| {
            let mut leg = pool.get(LEN);
            for (at, byte) in leg.iter_mut().enumerate() {
                *byte = ((at * (2 * number + 3)) >> 3) as u8;
            }
            leg
        };
        Self {
            legs: (0..legs).map(leg).collect(),
            p: leg(legs),
            q: leg(legs + 1),
        }
    }

    /// Bytes of data in a second; without instructions of copies.
    fn measure(&mut self, instructions: Option<Instructions>, what: &str, seconds: f64) -> f64 {
        let start = processor_time();
        let (mut bytes, mut counted_from) = (0, start);
        let mut is_warm = false;
        loop {
            for _ in 0..CALLS {
                bytes += match instructions {
                    Some(instructions) => self.compute(instructions, what),
                    None => self.copy(),
                };
            }
            let now = processor_time();
            // The first tenth brings the legs to the cache and the processor to its speed.
            if !is_warm && now - start > seconds / 10.0 {
                (is_warm, bytes, counted_from) = (true, 0, now);
            } else if is_warm && now - start > seconds {
                return bytes as f64 / (now - counted_from);
            }
        }
    }

    fn copy(&mut self) -> usize {
        for leg in &self.legs {
            self.p.copy_from_slice(black_box(leg));
            black_box(&mut self.p);
        }
        self.legs.len() * LEN
    }

    fn compute(&mut self, instructions: Instructions, what: &str) -> usize {
        let (p, q) = (&mut self.p[..], &mut self.q[..]);
        let powers = (0..self.legs.len() as u8).rev();
        match what {
            "p" => {
                let legs: Vec<&[u8]> = self.legs.iter().map(|leg| &leg[..]).collect();
                instructions.sum(p, black_box(&legs));
            }
            "pq" => {
                let legs = powers.zip(self.legs.iter().map(|leg| &leg[..]));
                let legs: Vec<(u8, &[u8])> = legs.collect();
                instructions.sums(p, q, black_box(&legs));
            }
            "add" => {
                for (power, leg) in powers.zip(&self.legs) {
                    instructions.add_power(q, black_box(leg), power);
                }
            }
            "two" => {
                instructions.recover_two(p, q, 1, 0);
                black_box((p, q));
                return 2 * LEN;
            }
            _ => panic!("WHAT is p, pq, add or two"),
        }
        black_box((p, q));
        self.legs.len() * LEN
    }
}

/// Seconds of a processor that this thread has had.
fn processor_time() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}
