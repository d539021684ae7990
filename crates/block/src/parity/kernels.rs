//! The loops, once for each kind of registers.
//!
//! A block is as many registers as P and Q of it can be held in while all legs are read: each byte
//! of a leg is loaded once and each sum is stored once, however many legs there are. Q is Horner's
//! scheme: from the highest power down it is doubled and the next leg is added; for a power that no
//! leg has it is only doubled.
//!
//! This is a macro, since a function with `#[target_feature]` cannot be generic over what has the
//! feature: a method of a trait must not have one. So all of it is safe code, and who calls `run`
//! says once why the processor has the instructions. The module that uses the macro has:
//!
//! ```text
//!   Lanes, LEN, WIDTH        a register, its bytes, how many of them are a block
//!   zero load store xor      what they say
//!   double                   each byte twice
//!   Factor factor multiply   a factor, made ready before the loop, and each byte's product with it
//! ```

macro_rules! kernels {
    ($(#[$enable:meta])*) => {
        const BLOCK: usize = LEN * WIDTH;
        type Block = [Lanes; WIDTH];

        /// Computes whole blocks from byte `from` on, and returns where the rest begins.
        $(#[$enable])*
        pub(super) fn run(formula: &mut Formula<'_>, from: usize) -> usize {
            let end = from + (formula.len() - from) / BLOCK * BLOCK;
            match formula {
                Formula::Sum { p, start, data } => sum(&mut p[from..], *start, data, from),
                Formula::Sums { p, q, data } => sums(&mut p[from..], &mut q[from..], data, from),
                Formula::AddProduct { sum, data, factor } => {
                    add_product(&mut sum[from..], &data[from..], *factor);
                }
                Formula::Multiply { bytes, factor } => multiply_all(&mut bytes[from..], *factor),
                Formula::Split { a, b, of_a, of_b } => {
                    split(&mut a[from..], &mut b[from..], *of_a, *of_b);
                }
            }
            end
        }

        $(#[$enable])*
        fn sum(p: &mut [u8], start: Start, data: &[&[u8]], from: usize) {
            for (number, p) in p.as_chunks_mut::<BLOCK>().0.iter_mut().enumerate() {
                let mut sum = match start {
                    Start::Zero => [zero(); WIDTH],
                    Start::Present => load_block(p),
                };
                for leg in data {
                    add(&mut sum, load_block(block_of(leg, from + number * BLOCK)));
                }
                store_block(p, sum);
            }
        }

        $(#[$enable])*
        fn sums(p: &mut [u8], q: &mut [u8], data: &[(u8, &[u8])], from: usize) {
            let p = p.as_chunks_mut::<BLOCK>().0;
            let q = q.as_chunks_mut::<BLOCK>().0;
            let highest = data.first().map_or(0, |(power, _)| *power);
            for (number, (p, q)) in p.iter_mut().zip(q).enumerate() {
                let mut sum = [zero(); WIDTH];
                let mut powers = [zero(); WIDTH];
                let mut above = highest;
                for (power, leg) in data {
                    for _ in *power..above {
                        double_block(&mut powers);
                    }
                    above = *power;
                    let leg = load_block(block_of(leg, from + number * BLOCK));
                    add(&mut sum, leg);
                    add(&mut powers, leg);
                }
                for _ in 0..above {
                    double_block(&mut powers);
                }
                store_block(p, sum);
                store_block(q, powers);
            }
        }

        $(#[$enable])*
        fn add_product(sum: &mut [u8], data: &[u8], by: u8) {
            let by = factor(by);
            let data = data.as_chunks::<BLOCK>().0;
            for (sum, data) in sum.as_chunks_mut::<BLOCK>().0.iter_mut().zip(data) {
                let mut total = load_block(sum);
                add(&mut total, multiply_block(load_block(data), by));
                store_block(sum, total);
            }
        }

        $(#[$enable])*
        fn multiply_all(bytes: &mut [u8], by: u8) {
            let by = factor(by);
            for bytes in bytes.as_chunks_mut::<BLOCK>().0 {
                let product = multiply_block(load_block(bytes), by);
                store_block(bytes, product);
            }
        }

        $(#[$enable])*
        fn split(a: &mut [u8], b: &mut [u8], of_a: u8, of_b: u8) {
            let (of_a, of_b) = (factor(of_a), factor(of_b));
            let b = b.as_chunks_mut::<BLOCK>().0;
            for (a, b) in a.as_chunks_mut::<BLOCK>().0.iter_mut().zip(b) {
                let mut both = load_block(a);
                let mut one = multiply_block(both, of_a);
                add(&mut one, multiply_block(load_block(b), of_b));
                add(&mut both, one);
                store_block(a, one);
                store_block(b, both);
            }
        }

        #[inline]
        $(#[$enable])*
        fn load_block(bytes: &[u8; BLOCK]) -> Block {
            let mut block = [zero(); WIDTH];
            for (lanes, bytes) in block.iter_mut().zip(bytes.as_chunks::<LEN>().0) {
                *lanes = load(bytes);
            }
            block
        }

        #[inline]
        $(#[$enable])*
        fn store_block(bytes: &mut [u8; BLOCK], block: Block) {
            for (bytes, lanes) in bytes.as_chunks_mut::<LEN>().0.iter_mut().zip(block) {
                store(bytes, lanes);
            }
        }

        #[inline]
        $(#[$enable])*
        fn add(sum: &mut Block, block: Block) {
            for (sum, lanes) in sum.iter_mut().zip(block) {
                *sum = xor(*sum, lanes);
            }
        }

        #[inline]
        $(#[$enable])*
        fn double_block(block: &mut Block) {
            for lanes in block {
                *lanes = double(*lanes);
            }
        }

        #[inline]
        $(#[$enable])*
        fn multiply_block(mut block: Block, by: Factor) -> Block {
            for lanes in &mut block {
                *lanes = multiply(*lanes, by);
            }
            block
        }

        /// The block of a leg that begins at byte `at`.
        #[inline]
        fn block_of(leg: &[u8], at: usize) -> &[u8; BLOCK] {
            leg[at..].first_chunk().expect("legs are as long as their sum")
        }
    };
}

pub(super) use kernels;
