//! Parity with each kind of instructions, against copying the same bytes.
//!
//! One measurement is one run of an example of `block`, which counts the processor time of its
//! thread: how fast the arithmetic is while its legs are in the cache, and nothing of how they get
//! there.

use std::path::Path;
use std::time::Duration;

use ::tests::Tool;

use super::super::contest::{Contestant, Row, Unit, contest};
use super::super::goal::Goal;
use super::super::run::{Bench, Effort, Table};
use super::load::example;

pub(super) const TABLE: Table = Table {
    name: "parity",
    about: "sums over 64 KiB of legs in the cache, on one core; copying them, other instructions",
    peers: &[],
    run,
};

/// Rounds of a full run, of 60 ms for each contestant.
const ROUNDS: usize = 21;
const MILLISECONDS: &str = "60";
/// A generous limit for one measurement.
const TIME_MAX: Duration = Duration::from_secs(20);

/// What is computed, of how many legs, and what it should reach.
#[rustfmt::skip]
const CASES: &[(&str, &str, usize, Goal)] = &[
    ("P of 3 legs", "p", 3, Goal::None),
    ("P of 5 legs", "p", 5, Goal::None),
    ("P of 8 legs", "p", 8, Goal::OursAtLeast(35e9)),
    ("P and Q of 3 legs", "pq", 3, Goal::None),
    ("P and Q of 5 legs", "pq", 5, Goal::None),
    ("P and Q of 8 legs", "pq", 8, Goal::OursAtLeast(17e9)),
    ("a leg added to Q", "add", 1, Goal::None),
    ("two legs from P and Q", "two", 2, Goal::None),
];

fn run(bench: &Bench) -> Result<Vec<Row>, String> {
    let program = example("ashlar-block", "parity")?;
    let named = Tool::new(&program).limit(TIME_MAX).run();
    let text = named.text();
    let names: Vec<&str> = text.lines().collect();
    if named.code != Some(0) || names.is_empty() {
        return Err(named.to_string());
    }
    let mut rows = Vec::new();
    for (name, what, legs, goal) in CASES {
        // The fastest instructions are ours: what a volume uses.
        let (best, others) = names.split_at(1);
        let all = best.iter().chain(&["copy"]).chain(others);
        let contestants = all.map(|who| {
            let program = &program;
            Contestant::new(*who, move || measure(bench, program, [who, what], *legs))
        });
        let row = contest(
            name,
            Unit::BytesPerSecond,
            bench.effort.rounds(ROUNDS),
            contestants.collect(),
        )?;
        rows.push(row.meant(*goal));
    }
    Ok(rows)
}

/// Bytes of data in a second of processor time.
fn measure(bench: &Bench, program: &Path, asked: [&str; 2], legs: usize) -> Result<f64, String> {
    let milliseconds = match bench.effort {
        Effort::Full => MILLISECONDS,
        Effort::Smoke => "1",
    };
    let tool = Tool::new(program).args(asked);
    let tool = tool.args([&legs.to_string(), milliseconds]);
    let finished = tool.limit(TIME_MAX).run();
    match (finished.code, finished.text().trim().parse()) {
        (Some(0), Ok(rate)) => Ok(rate),
        _ => Err(finished.to_string()),
    }
}
