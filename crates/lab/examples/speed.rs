//! Prints how many requests per second of wall time an emulated drive serves, on one core, with
//! 32 outstanding.

use ashlar_lab::disk::catalog;
use ashlar_lab::disk::profile::Scheduler;

#[path = "shared/outstanding.rs"]
mod outstanding;

fn main() {
    let count = 400_000;
    for profile in catalog::all() {
        for scheduler in [Scheduler::Fcfs, Scheduler::Look, Scheduler::Sptf] {
            let run = outstanding::run(&profile, scheduler, 32, count);
            let (emulated, wall) = run.expect("a profile of the catalog");
            println!(
                "{:30} {scheduler:?}: {:8.0} requests per wall second, {:5.1} emulated IOPS",
                profile.name,
                count as f64 / wall,
                count as f64 / emulated
            );
        }
    }
}
