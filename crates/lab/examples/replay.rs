//! Prints how far the disk model is from measured drives: `replay [DIRECTORY NAME...]`.
//!
//! Without arguments it judges the five drives of the fixtures, beside what `DiskSim` says of
//! itself. A directory holds the parameter files and `NAME.trace`, as they are or with `.zst`.
//!
//! `replay --leave-one-out` chooses the model's one constant that was chosen on these traces, the
//! share of the shortest seek that settling takes, on four of the five drives, from a grid, and
//! judges by it the fifth, which had no part in the choice.

use std::error::Error;
use std::path::Path;

use ashlar_lab::disk::drive::{Drive, Operation};
use ashlar_lab::disk::import::{self, Files};
use ashlar_lab::disk::replay::{self, Comparison, Outcome, Request};
use ashlar_lab::disk::rotation::Angle;

#[path = "shared/fixtures.rs"]
mod fixtures;

use fixtures::{DRIVES, folder, text};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.next_if_eq("--leave-one-out").is_some() {
        return leave_one_out();
    }
    if let Some(directory) = arguments.next() {
        for name in arguments {
            judge(Path::new(&directory), &name, None)?;
        }
        return Ok(());
    }
    for (name, published_ms) in DRIVES {
        judge(&folder(), name, Some(published_ms))?;
    }
    Ok(())
}

fn judge(directory: &Path, name: &str, published_ms: Option<f64>) -> Result<(), Box<dyn Error>> {
    let files = Files::read(name, |file| text(directory, file))?;
    let mut drive = Drive::new(import::profile(&files)?, Angle::default())?;
    let trace = format!("{name}.trace");
    let requests = replay::parse(&trace, &text(directory, &trace)?)?;
    let outcomes = replay::run(&mut drive, &requests)?;
    print(name, replay::compare(&requests, &outcomes, |_| true));
    if let Some(published_ms) = published_ms {
        println!("    DiskSim says of itself: demerit {published_ms:.3} ms");
    }
    by_class(&requests, &outcomes);
    Ok(())
}

/// Shares of the shortest seek to choose from, in twelfths.
const TWELFTHS: [u64; 9] = [0, 2, 4, 6, 7, 8, 9, 10, 12];

/// Each drive by the share that fits the other four best: that with the least sum of the squares of
/// their demerit figures, each in units of `DiskSim`'s own.
fn leave_one_out() -> Result<(), Box<dyn Error>> {
    let mut tried: Vec<Vec<Comparison>> = Vec::new();
    for (name, _) in DRIVES {
        let files = Files::read(name, |file| text(&folder(), file))?;
        let profile = import::profile(&files)?;
        let trace = format!("{name}.trace");
        let requests = replay::parse(&trace, &text(&folder(), &trace)?)?;
        let mut all = Vec::new();
        for twelfths in TWELFTHS {
            let mut profile = profile.clone();
            let shortest = profile.mechanics.seek.time_ns(1, 2);
            profile.mechanics.settle_ns = shortest * twelfths / 12;
            let mut drive = Drive::new(profile, Angle::default())?;
            let outcomes = replay::run(&mut drive, &requests)?;
            all.push(replay::compare(&requests, &outcomes, |_| true));
        }
        tried.push(all);
    }
    let own = |drive: usize, share: usize| tried[drive][share].demerit_ns / 1e6 / DRIVES[drive].1;
    for (drive, (name, published_ms)) in DRIVES.into_iter().enumerate() {
        let others = |share: usize| -> f64 {
            let others = (0..DRIVES.len()).filter(|other| *other != drive);
            others.map(|other| own(other, share).powi(2)).sum()
        };
        let best = (0..TWELFTHS.len()).min_by(|a, b| others(*a).total_cmp(&others(*b)));
        let best = best.expect("there are shares");
        let found = tried[drive][best];
        println!(
            "{name:12} by {:2}/12 of the others: demerit {:.3} ms, {:.2} of DiskSim's \
             {published_ms:.3}, mean {:+.2} %",
            TWELFTHS[best],
            found.demerit_ns / 1e6,
            own(drive, best),
            found.mean_error() * 100.0,
        );
        let all: Vec<String> = (0..TWELFTHS.len())
            .map(|share| format!("{}/12 {:.2}", TWELFTHS[share], own(drive, share)))
            .collect();
        println!(
            "    its own demerit, of DiskSim's, by share: {}",
            all.join(", ")
        );
    }
    Ok(())
}

/// Reads and writes, each by how far they are from the end of the request before.
fn by_class(requests: &[Request], outcomes: &[Outcome]) {
    let near = |index: usize| {
        let last = index.checked_sub(1).map(|last| requests[last]);
        match last.map(|last| {
            requests[index]
                .start
                .abs_diff(last.start + u64::from(last.count))
        }) {
            Some(0) => "sequential",
            Some(distance) if distance < 30_000 => "local",
            _ => "random",
        }
    };
    for operation in [Operation::Read, Operation::Write] {
        for place in ["sequential", "local", "random"] {
            let chosen =
                |index: usize| requests[index].operation == operation && near(index) == place;
            let label = format!("    {operation:?} {place}");
            print(&label, replay::compare(requests, outcomes, chosen));
        }
    }
}

fn print(label: &str, comparison: Comparison) {
    println!(
        "{label:22} {:6} requests, mean {:6.3}, modelled {:6.3} ({:+6.2} %), demerit {:.3} ms",
        comparison.count,
        comparison.measured_mean_ns / 1e6,
        comparison.modelled_mean_ns / 1e6,
        comparison.mean_error() * 100.0,
        comparison.demerit_ns / 1e6
    );
}
