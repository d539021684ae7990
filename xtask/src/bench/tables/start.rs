//! How long the program takes to start and end: the floor under every command.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::super::contest::{Contestant, Row, Unit, contest};
use super::super::run::{Bench, Table, is_there};

pub(super) const TABLE: Table = Table {
    name: "start",
    about: "starting and ending the program (help), wall time",
    peers: &["lvm"],
    run,
};

/// Rounds of a full run.
const ROUNDS: usize = 40;

fn run(bench: &Bench) -> Result<Vec<Row>, String> {
    let mut contestants = vec![Contestant::new("ashlar", || time(&bench.ashlar))];
    if is_there("lvm") {
        contestants.push(Contestant::new("lvm", || time(Path::new("lvm"))));
    }
    Ok(vec![contest(
        "help",
        Unit::Seconds,
        bench.effort.rounds(ROUNDS),
        contestants,
    )?])
}

fn time(program: &Path) -> Result<f64, String> {
    let start = Instant::now();
    let status = Command::new(program)
        .arg("help")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(|error| format!("cannot be started: {error}"))?;
    if status.code().is_none() {
        return Err(format!("ended with {status}"));
    }
    Ok(start.elapsed().as_secs_f64())
}
