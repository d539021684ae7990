//! A long sequence of random commands, ours and stock's in turn, on the same disks.
//!
//! ```text
//!   choose a command ─▶ predict it (ours) ─▶ run it ─▶ stock judges, and sees what we see
//!         ▲                                                        │
//!         └──────────── fill what is new or has grown ◀────────────┘
//! ```
//!
//! After every command stock must find nothing wrong, and its reports must equal ours, field by
//! field. `ashlar plan` must have predicted the extents and the exit status. At points along the
//! way the disks are copied; at the end a stock kernel reads every volume of every copy, which
//! must hold what was written into it.
//!
//! There are two, so that they run side by side. `ASHLAR_SEQUENCE_SEED` and
//! `ASHLAR_SEQUENCE_COMMANDS` choose other ones and their length.

mod bench;
mod chooser;
mod contents;
mod prediction;
mod state;

use bench::{Author, Bench};
use block::sim::Random;
use chooser::choose;
use contents::Contents;
use tests::Kernel;

/// Successful commands of ours.
const COMMANDS: usize = 100;
/// Copies that the kernel reads, the last one included.
const POINTS: usize = 4;
/// One command in so many is stock's.
const STOCK_EVERY: u64 = 5;

fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name} is a number, and not {text}")),
        Err(_) => default,
    }
}

#[test]
fn a_long_sequence() {
    run("sequence", setting("ASHLAR_SEQUENCE_SEED", 1));
}

#[test]
fn another_long_sequence() {
    run("another-sequence", setting("ASHLAR_SEQUENCE_SEED", 1) + 1);
}

fn run(name: &str, seed: u64) {
    let commands = setting("ASHLAR_SEQUENCE_COMMANDS", COMMANDS as u64) as usize;
    println!("repeat with ASHLAR_SEQUENCE_SEED={seed} ASHLAR_SEQUENCE_COMMANDS={commands}");
    let mut random = Random::new(seed);
    let bench = Bench::new();
    let mut contents = Contents::new(&bench);
    let mut state = bench.judged();
    let mut copies = Vec::new();
    let mut done = 0;
    let mut refused = 0;
    let mut by_stock = 0;
    while done < commands {
        let author = if random.chance(1, STOCK_EVERY) {
            Author::Stock
        } else {
            Author::Ashlar
        };
        let words = choose(&state, author, &mut random);
        let ran = bench.run(author, &words);
        println!(
            "{:>4} {author:?} {} {}",
            done,
            words.join(" "),
            ran.outcome()
        );
        let before = state;
        state = bench.judged();
        ran.check(&before, &state);
        match (author, ran.succeeded()) {
            (_, false) => refused += 1,
            (Author::Stock, true) => by_stock += 1,
            (Author::Ashlar, true) => done += 1,
        }
        contents.follow(&bench, &state, &mut random);
        let is_point = done >= (copies.len() + 1) * commands / POINTS;
        if is_point && state.has_volumes() && !state.has_exported() {
            contents.verify(&bench, &state);
            copies.push((bench.copy(), contents.sums(&state)));
        }
    }
    assert!(!copies.is_empty(), "no state had volumes");
    println!("{done} commands of ours, {by_stock} of stock's, {refused} refused alike");
    let sets: Vec<_> = copies.iter().map(|(copy, _)| copy.images.clone()).collect();
    let seen = Kernel::sums(name, &sets);
    let mut bytes = 0;
    for (number, (seen, (_, expected))) in seen.iter().zip(&copies).enumerate() {
        let names: Vec<_> = seen.keys().collect();
        let all: Vec<_> = expected.keys().collect();
        assert_eq!(names, all, "volumes of copy {number}");
        for (name, sum) in seen {
            bytes += sum.size;
            if let Some(expected) = &expected[name] {
                assert_eq!(&sum.sha256, expected, "{name} of copy {number}");
            }
        }
    }
    println!("the kernel read {} copies, {bytes} bytes", copies.len());
}
