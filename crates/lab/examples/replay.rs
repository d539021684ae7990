//! Prints how far the disk model is from measured drives: `replay [DIRECTORY NAME...]`.
//!
//! Without arguments it judges the five drives of the fixtures, beside what `DiskSim` says of
//! itself. A directory holds the parameter files and `NAME.trace`, as they are or with `.zst`.

use std::error::Error;
use std::path::Path;

use lab::disk::drive::{Drive, Operation};
use lab::disk::import::{self, Files};
use lab::disk::replay::{self, Comparison, Outcome, Request};
use lab::disk::rotation::Angle;

#[path = "shared/fixtures.rs"]
mod fixtures;

use fixtures::{DRIVES, folder, text};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
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
