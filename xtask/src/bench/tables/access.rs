//! A volume through the library against the file below it, in one process.
//!
//! Ours scans the image, activates the volume and asks its device, as a program would that links
//! the library. One peer asks the same bytes of the image with the same loop and the same engine,
//! but without a volume: what is missing to 1 is what mapping costs. The other peer is fio with
//! `io_uring`: what a program gets that knows nothing of us. On tmpfs, where a request costs a
//! copy and nothing else, only the first is compared: fio's own work would be measured.

use std::path::{Path, PathBuf};

use tests::{Scratch, Tool};

use super::super::contest::{Contestant, Row, Unit, contest};
use super::super::goal::Goal;
use super::super::run::{Bench, Table, is_there};
use super::cat::TMPFS;
use super::content::Filled;
use super::load::{Load, SMALL, STREAM, example};

pub(super) const TABLE: Table = Table {
    name: "access",
    about: "requests in a second in one process: a volume through the library, and its file",
    peers: &["fio"],
    run,
};

/// Rounds of a full run.
const ROUNDS: usize = 6;
/// The least ratio to the file itself.
const RATIO_MIN: f64 = 0.95;

/// Where the bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Tmpfs,
    Disk,
}

/// Who makes our system calls, as `ASHLAR_IO` says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Engine {
    Uring,
    Threads,
}

impl Engine {
    fn name(self) -> &'static str {
        match self {
            Engine::Uring => "uring",
            Engine::Threads => "threads",
        }
    }
}

/// An image with a volume full of noise.
struct Field {
    program: PathBuf,
    place: Place,
    filled: Filled,
}

fn run(bench: &Bench) -> Result<Vec<Row>, String> {
    let program = example("ashlar", "load")?;
    let mut rows = Vec::new();
    let disk = Field::on(bench, &program, Place::Disk)?;
    let (reads, writes) = (SMALL, SMALL.writing());
    for (case, load) in [
        ("direct, 4 KiB random reads, depth 32", reads),
        ("direct, 4 KiB random writes, depth 32", writes),
        ("direct, 128 KiB reads in order", STREAM),
        ("direct, 128 KiB writes in order", STREAM.writing()),
    ] {
        rows.push(disk.row(bench, case, load, Some(Engine::Uring))?);
    }
    let case = "direct, 4 KiB random reads, threads";
    rows.push(disk.row(bench, case, reads, Some(Engine::Threads))?);
    drop(disk);
    let memory = Field::on(bench, &program, Place::Tmpfs)?;
    for (case, load) in [
        ("tmpfs, 4 KiB random reads, depth 32", reads),
        ("tmpfs, 4 KiB random writes, depth 32", writes),
        ("tmpfs, 128 KiB reads in order", STREAM),
        ("tmpfs, 128 KiB writes in order", STREAM.writing()),
    ] {
        rows.push(memory.row(bench, case, load, None)?);
    }
    Ok(rows)
}

impl Field {
    fn on(bench: &Bench, program: &Path, place: Place) -> Result<Self, String> {
        let folder = match place {
            Place::Disk => Scratch::new("access"),
            Place::Tmpfs => Scratch::within(Path::new(TMPFS), "access"),
        };
        Ok(Field {
            program: program.to_owned(),
            place,
            filled: Filled::within(folder, bench.effort)?,
        })
    }

    /// Compares one load. Without a demanded engine ours chooses by itself.
    fn row(
        &self,
        bench: &Bench,
        case: &str,
        load: Load,
        engine: Option<Engine>,
    ) -> Result<Row, String> {
        let (image, bytes) = (self.filled.made.image(), self.filled.bytes);
        let start = self.filled.made.data_start();
        let ours = |what: String| {
            move || {
                let demand = engine.map_or("", Engine::name);
                let tool = Tool::new(&self.program).env("ASHLAR_IO", demand);
                let place = format!("{what}@{}", image.display());
                load.by(bench.effort, tool.arg(place))
            }
        };
        let plain = format!("{start}+{bytes}");
        let mut contestants = vec![
            Contestant::new("volume", ours("made/data".to_owned())),
            Contestant::new("the file, our engine", ours(plain)),
        ];
        if self.place == Place::Disk && engine == Some(Engine::Uring) && is_there("fio") {
            contestants.push(Contestant::new("the file, fio", || {
                load.by_fio_on(bench.effort, image, start, bytes)
            }));
        }
        let rounds = bench.effort.rounds(ROUNDS);
        let row = contest(case, Unit::PerSecond, rounds, contestants)?;
        Ok(row.meant(Goal::RatioAtLeast(RATIO_MIN)))
    }
}
