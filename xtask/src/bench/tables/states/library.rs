//! In one process, as a program that links the library asks: what a request costs.

use std::path::Path;

use tests::Scratch;

use super::super::super::contest::{Contestant, Row, Unit, contest};
use super::super::super::goal::Goal;
use super::super::super::run::Bench;
use super::super::cat::TMPFS;
use super::measurer::Measurer;

/// Rounds of a full run, of 60 ms for each contestant.
const ROUNDS: usize = 21;
/// Devices with a state in the stack.
const LEVELS: f64 = 4.0;
/// How often threads may wait for a request more than below a linear volume: hardly ever.
const WAITS_MAX: f64 = 0.02;

/// What of an answer is compared.
#[derive(Debug, Clone, Copy)]
pub(super) enum What {
    /// Seconds from one request to the next.
    Time,
    /// Requests in a second.
    Rate,
    /// Processor time of a request.
    Processor,
    /// How often threads wait for a request.
    Waits,
}

impl What {
    fn unit(self) -> Unit {
        match self {
            What::Time | What::Processor => Unit::Seconds,
            What::Rate => Unit::PerSecond,
            What::Waits => Unit::Number,
        }
    }

    fn of(self, found: &[f64]) -> Result<f64, String> {
        let &[rate, processor, waits] = found else {
            return Err(format!("it answered {found:?}"));
        };
        Ok(match self {
            What::Time => 1.0 / rate,
            What::Rate => rate,
            What::Processor => processor,
            What::Waits => waits,
        })
    }
}

/// One comparison: who, with whom, of what, and what it should show.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) ours: &'static str,
    pub(super) peer: &'static str,
    /// `read 1 1`: what, depth, threads.
    pub(super) asked: &'static str,
    pub(super) what: What,
    pub(super) goal: Goal,
}

#[rustfmt::skip]
const CASES: &[Case] = &[
    Case { name: "mirror, read, depth 1", ours: "mirror", peer: "linear",
        asked: "read 1 1", what: What::Time, goal: Goal::RatioAtMost(1.1) },
    Case { name: "mirror, write, depth 1", ours: "mirror", peer: "linear",
        asked: "write 1 1", what: What::Time, goal: Goal::RatioAtMost(1.3) },
    Case { name: "mirror, read, depth 32, 4 threads", ours: "mirror", peer: "striped",
        asked: "read 32 4", what: What::Rate, goal: Goal::RatioAtLeast(0.9) },
    Case { name: "mirror, write, depth 1: processor", ours: "mirror", peer: "linear",
        asked: "write 1 1", what: What::Processor, goal: Goal::RatioAtMost(2.2) },
    Case { name: "mirror, write, depth 32: processor", ours: "mirror", peer: "linear",
        asked: "write 32 1", what: What::Processor, goal: Goal::RatioAtMost(2.2) },
    Case { name: "mirror, read, depth 32: processor", ours: "mirror", peer: "linear",
        asked: "read 32 1", what: What::Processor, goal: Goal::None },
    Case { name: "origin, all copied, read, depth 32", ours: "copied", peer: "linear",
        asked: "read 32 1", what: What::Rate, goal: Goal::RatioAtLeast(0.95) },
    Case { name: "origin, all copied, write, depth 32", ours: "copied", peer: "linear",
        asked: "write 32 1", what: What::Rate, goal: Goal::RatioAtLeast(0.95) },
    Case { name: "snapshot, read, depth 32", ours: "half", peer: "linear",
        asked: "read 32 1", what: What::Rate, goal: Goal::RatioAtLeast(0.9) },
];

pub(super) fn rows(bench: &Bench) -> Result<Vec<Row>, String> {
    let mut rows = rows_of(bench, CASES)?;
    let folder = Scratch::within(Path::new(TMPFS), "states");
    rows.extend(stack(bench, &Measurer::start(bench, folder.path())?)?);
    Ok(rows)
}

/// These comparisons on files, and in memory.
pub(super) fn rows_of(bench: &Bench, cases: &[Case]) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for (place, folder) in [
        ("file", Scratch::new("states")),
        ("tmpfs", Scratch::within(Path::new(TMPFS), "states")),
    ] {
        let measurer = Measurer::start(bench, folder.path())?;
        for case in cases {
            rows.push(row(bench, &measurer, place, case)?);
        }
    }
    Ok(rows)
}

fn row(bench: &Bench, measurer: &Measurer, place: &str, case: &Case) -> Result<Row, String> {
    let contestant = |who: &'static str| {
        let line = format!("{who} {}", case.asked);
        Contestant::new(who, move || case.what.of(&measurer.ask(&line)?))
    };
    let row = contest(
        &format!("{place}, {}", case.name),
        case.what.unit(),
        bench.effort.rounds(ROUNDS),
        vec![contestant(case.ours), contestant(case.peer)],
    )?;
    Ok(row.meant(case.goal))
}

/// What a level of the stack adds to a request at depth 32: where nothing changes, and, for
/// zeros, where the home of each level is asked.
fn stack(bench: &Bench, measurer: &Measurer) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for asked in ["read", "write", "zero"] {
        for (what, most) in [(What::Processor, 1e-6), (What::Waits, WAITS_MAX)] {
            let added = || {
                let of = |who: &str| what.of(&measurer.ask(&format!("{who} {asked} 32 1"))?);
                Ok((of("levels4")? - of("linear")?) / LEVELS)
            };
            let words = match what {
                What::Waits => "waits",
                _ => "processor",
            };
            let row = contest(
                &format!("tmpfs, {asked}, depth 32: {words} a level adds"),
                what.unit(),
                bench.effort.rounds(ROUNDS),
                vec![Contestant::new("levels", added)],
            )?;
            rows.push(row.meant(Goal::OursAtMost(most)));
        }
    }
    Ok(rows)
}
