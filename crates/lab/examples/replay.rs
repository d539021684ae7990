//! Prints how far the model is from measured drives: `replay DIRECTORY NAME...`.

use std::path::Path;

use lab::disk::drive::{Drive, Operation};
use lab::disk::rotation::Angle;
use lab::disk::{import, replay};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().ok_or("usage: replay DIRECTORY NAME...")?;
    let directory = Path::new(&directory);
    for name in arguments {
        let profile = import::profile(&import::directory(directory, &name)?)?;
        let mut drive = Drive::new(profile, Angle::new(std::env::var("PHASE").ok().and_then(|p| p.parse().ok()).unwrap_or(0)))?;
        let text = std::fs::read_to_string(directory.join(format!("{name}.trace")))?;
        let requests = replay::parse(&name, &text)?;
        let outcomes = replay::run(&mut drive, &requests)?;
        if std::env::var_os("DUMP").is_some() {
            for (request, outcome) in requests.iter().zip(&outcomes) {
                println!(
                    "{:?} {:?} {} {} {} {} {} {:?} {} {} {}",
                    request.operation, request.seen, request.start, request.count,
                    request.response_ns, request.think_ns, outcome.response_ns, outcome.served,
                    drive.geometry().locate(request.start).cylinder,
                    drive.geometry().locate(request.start).head,
                    drive.geometry().locate(request.start).sector,
                );
            }
            continue;
        }
        let near = |index: usize| -> &str {
            let Some(last) = index.checked_sub(1).map(|last| requests[last]) else { return "random" };
            let end = last.start + u64::from(last.count);
            match requests[index].start.abs_diff(end) {
                0 => "sequential",
                distance if distance < 30_000 => "local",
                _ => "random",
            }
        };
        let print = |label: &str, comparison: replay::Comparison| {
            println!(
                "{label:24} {:6} measured {:7.3} modelled {:7.3} ms ({:+6.2} %) demerit {:.3} ms",
                comparison.count,
                comparison.measured_mean_ns / 1e6,
                comparison.modelled_mean_ns / 1e6,
                comparison.mean_error() * 100.0,
                comparison.demerit_ns / 1e6
            );
        };
        print(&name, replay::compare(&requests, &outcomes, |_| true));
        for operation in [Operation::Read, Operation::Write] {
            for place in ["sequential", "local", "random"] {
                let comparison = replay::compare(&requests, &outcomes, |index| {
                    requests[index].operation == operation && near(index) == place
                });
                print(&format!("    {operation:?} {place}"), comparison);
            }
        }
    }
    Ok(())
}
