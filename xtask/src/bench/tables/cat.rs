//! `ashlar cat` against `dd` over the same extents.
//!
//! The image lies in the page cache or on tmpfs, so that copying is what is compared, not the disk.
//! Both write into a pipe that the benchmark empties, as `ashlar cat … | sha256sum` would.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use tests::Scratch;

use super::super::contest::{Contestant, Row, Unit, contest};
use super::super::goal::Goal;
use super::super::run::{Bench, Table};
use super::content::Filled;

pub(super) const TABLE: Table = Table {
    name: "cat",
    about: "ashlar cat against dd (bs=1M) over the same extents, into a pipe",
    peers: &["dd"],
    run,
};

/// Rounds of a full run.
const ROUNDS: usize = 20;
/// The least ratio to dd's speed.
const RATIO_MIN: f64 = 0.9;
/// A file system in memory.
pub(super) const TMPFS: &str = "/dev/shm";

fn run(bench: &Bench) -> Result<Vec<Row>, String> {
    let scratch = Scratch::new("cat");
    let memory = Scratch::within(Path::new(TMPFS), "cat");
    Ok(vec![
        compare(bench, "image on disk, cached", scratch)?,
        compare(bench, "image on tmpfs", memory)?,
    ])
}

fn compare(bench: &Bench, case: &str, folder: Scratch) -> Result<Row, String> {
    let filled = Filled::within(folder, bench.effort)?;
    let (image, start) = (filled.made.image(), filled.made.data_start());
    let size = filled.bytes;
    let ours = || {
        let mut command = Command::new(&bench.ashlar);
        command
            .arg("cat")
            .arg("--devices")
            .arg(image)
            .arg("made/data");
        speed(command, size)
    };
    let theirs = || {
        let mut command = Command::new("dd");
        command
            .arg(format!("if={}", image.display()))
            .args(["bs=1M", "status=none"]);
        command.arg("iflag=skip_bytes,count_bytes");
        command.args([format!("skip={start}"), format!("count={size}")]);
        speed(command, size)
    };
    let contestants = vec![
        Contestant::new("ashlar", ours),
        Contestant::new("dd", theirs),
    ];
    let row = contest(
        case,
        Unit::BytesPerSecond,
        bench.effort.rounds(ROUNDS),
        contestants,
    )?;
    Ok(row.meant(Goal::RatioAtLeast(RATIO_MIN)))
}

/// Bytes in a second that a command writes into a pipe.
fn speed(mut command: Command, size: u64) -> Result<f64, String> {
    let start = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot be started: {error}"))?;
    let mut pipe = child.stdout.take().expect("its output is piped");
    let mut buffer = vec![0; 1 << 20];
    let mut total = 0;
    loop {
        match pipe.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => total += count as u64,
            Err(error) => return Err(format!("its output cannot be read: {error}")),
        }
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    if !status.success() || total != size {
        return Err(format!("ended with {status} after {total} of {size} bytes"));
    }
    Ok(size as f64 / start.elapsed().as_secs_f64())
}
