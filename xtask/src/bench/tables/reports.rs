//! Reports: how long a person waits for `vgs` and `lvs`, and what it costs in memory.
//!
//! Both programs read the same loop devices and nothing else. Stock LVM2 is kept from asking for
//! device-mapper, which would only slow it down on a machine that has none.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use tests::{Access, Golden, LoopDevice, Made, Stock, Tool};

use super::super::contest::{Contestant, Row, Unit, contest};
use super::super::goal::Goal;
use super::super::run::{Bench, Effort, Table};

pub(super) const TABLE: Table = Table {
    name: "reports",
    about: "vgs and lvs against stock LVM2 on the same loop devices, wall time",
    peers: &["lvm"],
    run,
};

/// Rounds of a full run.
const ROUNDS: usize = 30;
/// Volumes of the large group.
const MANY: usize = 10_000;
/// What the large group may take: a wait that nobody notices, in seconds.
const MANY_SECONDS_MAX: f64 = 0.25;
/// And in memory.
const MANY_BYTES_MAX: f64 = 100.0 * 1024.0 * 1024.0;

fn run(bench: &Bench) -> Result<Vec<Row>, String> {
    let rounds = bench.effort.rounds(ROUNDS);
    let mut rows = Vec::new();
    let golden = Golden::shared();
    let attach = |image: &Path| LoopDevice::attach(image, Access::ReadOnly);
    let images = golden.images();
    let loops: Vec<LoopDevice> = images.iter().map(|image| attach(image)).collect();
    for command in ["vgs", "lvs"] {
        let case = format!("{command}, golden disks");
        rows.push(
            compare(bench, &case, command, &loops, rounds)?.meant(Goal::RatioAtMost(1.0 / 30.0)),
        );
    }
    let count = if bench.effort == Effort::Full {
        MANY
    } else {
        100
    };
    let many = Made::many(count);
    let loops = [attach(many.image())];
    for command in ["vgs", "lvs"] {
        let case = format!("{command}, {count} volumes");
        let row = compare(bench, &case, command, &loops, rounds)?;
        rows.push(row.meant(Goal::OursAtMost(MANY_SECONDS_MAX)));
    }
    let memory = Contestant::new("ashlar", || peak_memory(&bench.ashlar, &loops));
    let case = format!("lvs, {count} volumes, peak memory");
    let row = contest(&case, Unit::Bytes, bench.effort.rounds(3), vec![memory])?;
    rows.push(row.meant(Goal::OursAtMost(MANY_BYTES_MAX)));
    Ok(rows)
}

fn compare(
    bench: &Bench,
    case: &str,
    command: &str,
    loops: &[LoopDevice],
    rounds: usize,
) -> Result<Row, String> {
    let stock = Stock::on(loops);
    let ours = || seconds(Tool::new(&bench.ashlar).arg(command).args(devices(loops)));
    let theirs = || seconds(stock.without_driver(command));
    let contestants = vec![
        Contestant::new("ashlar", ours),
        Contestant::new("lvm", theirs),
    ];
    contest(case, Unit::Seconds, rounds, contestants)
}

fn devices(loops: &[LoopDevice]) -> impl Iterator<Item = &Path> {
    loops
        .iter()
        .flat_map(|device| [Path::new("--devices"), device.path()])
}

fn seconds(tool: Tool) -> Result<f64, String> {
    let finished = tool.run();
    match finished.code {
        Some(0) => Ok(finished.time.as_secs_f64()),
        _ => Err(finished.to_string()),
    }
}

/// The most resident memory that the kernel says `lvs` had, in bytes.
fn peak_memory(program: &Path, loops: &[LoopDevice]) -> Result<f64, String> {
    let mut child = Command::new(program)
        .arg("lvs")
        .args(devices(loops))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .map_err(|error| format!("cannot be started: {error}"))?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        // The file has no such line any more once the process is dead.
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        peak = peak.max(kib.unwrap_or(0));
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            let seen = status.success() && peak > 0;
            return if seen {
                Ok((peak << 10) as f64)
            } else {
                Err(format!("ended with {status}"))
            };
        }
    }
}
