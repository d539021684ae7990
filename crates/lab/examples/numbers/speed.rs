//! Emulated requests in a second of wall time, on one core: the best of some runs, since others use
//! the machine too.

use std::time::Instant;

use ashlar_lab::disk::catalog;
use ashlar_lab::disk::profile::Scheduler;
use ashlar_lab::layout;
use ashlar_lab::stack::{self, Plan};
use ashlar_lab::workload::fio;

use super::row::{Effort, Goal, Unit, row};
use super::{Result, outstanding};

/// A drive whose writes go to the medium at once, so that the order is the queue's alone.
const DRIVE: &str = "Seagate Cheetah 9LP ST39102LW";
/// One that also chooses among the writes in its cache.
const CACHED: &str = "wd800bd-like";
const STACKS: [(&str, &str); 2] = [
    (
        "a volume striped over four drives",
        "striped = \"0..3+1M\", chunk = \"64K\", size = \"32G\"",
    ),
    (
        "a linear volume over four drives",
        "linear = \"0..3+1M\", size = \"32G\"",
    ),
];

pub(crate) fn rows(effort: Effort) -> Result<()> {
    let count = effort.of(400_000, 5_000);
    for (name, scheduler, least) in [
        (DRIVE, Scheduler::Fcfs, 500_000.0),
        (DRIVE, Scheduler::Sptf, 150_000.0),
        (CACHED, Scheduler::Fcfs, 150_000.0),
    ] {
        let profile = catalog::find(name)?;
        let rate = best(effort, || {
            let (_, wall) = outstanding::run(&profile, scheduler, 32, count)?;
            Ok(count as f64 / wall)
        })?;
        let order = format!("{scheduler:?}").to_uppercase();
        let case = format!("requests emulated, {order}, 32 at one {name}");
        row(&case, Unit::PerSecond, rate, Goal::AtLeast(least));
    }
    for (name, volume) in STACKS {
        let rate = best(effort, || through(volume, count))?;
        let case = format!("requests emulated, FCFS, 32 at {name}");
        row(&case, Unit::PerSecond, rate, Goal::AtLeast(500_000.0));
    }
    Ok(())
}

fn best(effort: Effort, mut rate: impl FnMut() -> Result<f64>) -> Result<f64> {
    let mut best = 0.0;
    for _ in 0..effort.of(5, 1) {
        best = rate()?.max(best);
    }
    Ok(best)
}

/// Random reads and writes of 4 KiB through the volume.
fn through(volume: &str, count: u64) -> Result<f64> {
    let text = format!(
        "[disk.d]\nprofile = \"{DRIVE}\"\nscheduler = \"fcfs\"\n[layout.x]\ndisks = \"d*4\"\n\
         mapping_ns = 20\nvolume = [{{ {volume} }}]\n"
    );
    let layout = layout::parse("speed", &text)?.remove(0);
    let jobs = "[j]\nrw=randrw\nbs=4k\nsize=32G\niodepth=32\nnorandommap\nio_size=1T\n";
    let jobs = fio::parse(jobs).map_err(|error| error.to_string())?;
    let mut model = stack::build(&layout, 1)?;
    let plan = Plan {
        jobs: &jobs,
        seed: 1,
        requests_max: Some(count),
    };
    let begin = Instant::now();
    stack::run(model.as_mut(), &plan)?;
    Ok(count as f64 / begin.elapsed().as_secs_f64())
}
