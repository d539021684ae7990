//! `lvcreate` against stock LVM2, and how often each asks the disk to make durable what it wrote.
//!
//! Both make a linear volume of one extent in a group of their own, on a loop device of their own,
//! inactive and without zeroing, which needs no kernel driver. Stock asks for no flush at all: what
//! it wrote may be lost in any order when the power goes. Ours asks at each point of the order that
//! makes every such moment safe, which is what its time is spent on.

use std::cell::Cell;
use std::fs;
use std::path::Path;

use tests::{Access, LoopDevice, Made, Scratch, Stock, Tool};

use super::super::contest::{Contestant, Row, Unit, contest};
use super::super::goal::Goal;
use super::super::run::{Bench, Table, is_there};
use super::cat::TMPFS;

pub(super) const TABLE: Table = Table {
    name: "lvcreate",
    about: "lvcreate of one extent, wall time; and the flushes that each asks for",
    peers: &["lvm", "strace"],
    run,
};

/// Rounds of a full run.
const ROUNDS: usize = 30;
/// The most of stock's time that ours may take.
const RATIO_MAX: f64 = 0.2;
/// What the group's first volume takes, in bytes; the rest of the group is for new ones.
const FIRST: u64 = 1 << 20;

/// A group that one of the two changes.
struct Group {
    device: LoopDevice,
    _made: Made,
    _folder: Scratch,
}

impl Group {
    fn within(folder: Scratch) -> Self {
        let made = Made::volume(folder.path(), FIRST);
        Group {
            device: LoopDevice::attach(made.image(), Access::ReadWrite),
            _made: made,
            _folder: folder,
        }
    }
}

/// A group for each of the two.
struct Groups {
    our: Group,
    stock: Stock,
    /// Stock's, which only it uses.
    _their: Group,
    /// How many volumes were asked for; each has a name of its own.
    asked: Cell<usize>,
}

impl Groups {
    fn within(folders: [Scratch; 2]) -> Self {
        let [our, their] = folders.map(Group::within);
        Groups {
            stock: Stock::on([&their.device]),
            our,
            _their: their,
            asked: Cell::new(0),
        }
    }

    fn words(&self) -> Vec<String> {
        self.asked.set(self.asked.get() + 1);
        let name = format!("new{}", self.asked.get());
        let words = [
            "lvcreate", "-y", "-an", "-Zn", "-Wn", "-l1", "-n", &name, "made",
        ];
        words.map(str::to_owned).to_vec()
    }

    /// The command line behind ours; with stock's configuration, which asks for no backups.
    fn ours(&self, tool: Tool) -> Tool {
        let tool = tool.args(self.words()).arg("--devices");
        let tool = tool.arg(self.our.device.path());
        tool.env("LVM_SYSTEM_DIR", self.stock.system_dir())
    }

    /// The command line behind stock's, which sees its own group's device only.
    fn theirs(&self, tool: Tool) -> Tool {
        let tool = tool.args(self.words()).args(["--driverloaded", "n"]);
        tool.env("LVM_SYSTEM_DIR", self.stock.system_dir())
    }

    fn wall_time(&self, bench: &Bench, case: &str) -> Result<Row, String> {
        let contestants = vec![
            Contestant::new("ashlar", || seconds(self.ours(Tool::new(&bench.ashlar)))),
            Contestant::new("lvm", || seconds(self.theirs(Tool::new("lvm")))),
        ];
        contest(
            case,
            Unit::Seconds,
            bench.effort.rounds(ROUNDS),
            contestants,
        )
    }

    fn flushes(&self, bench: &Bench) -> Result<[Row; 2], String> {
        let folder = Scratch::new("strace");
        let log = folder.join("calls");
        // Calls that go through a ring are not seen by strace.
        let ours = self.ours(traced(&bench.ashlar.to_string_lossy(), &log));
        let ours = flushes("flushes of ashlar", &log, ours.env("ASHLAR_IO", "threads"))?;
        let theirs = self.theirs(traced("lvm", &log));
        Ok([ours, flushes("flushes of lvm", &log, theirs)?])
    }
}

fn run(bench: &Bench) -> Result<Vec<Row>, String> {
    // In memory the programs are compared; on a disk its flushes are, which stock leaves out.
    let memory = || Scratch::within(Path::new(TMPFS), "lvcreate");
    let disk = || Scratch::new("lvcreate");
    let groups = Groups::within([memory(), memory()]);
    let row = groups.wall_time(bench, "lvcreate -l1, image on tmpfs")?;
    let mut rows = vec![row.meant(Goal::RatioAtMost(RATIO_MAX))];
    let on_disk = Groups::within([disk(), disk()]);
    rows.push(on_disk.wall_time(bench, "lvcreate -l1, image on disk")?);
    if is_there("strace") {
        rows.extend(groups.flushes(bench)?);
    }
    Ok(rows)
}

fn seconds(tool: Tool) -> Result<f64, String> {
    let finished = tool.run();
    match finished.code {
        Some(0) => Ok(finished.time.as_secs_f64()),
        _ => Err(finished.to_string()),
    }
}

/// A program whose calls that can make something durable are written to `log`.
fn traced(program: &str, log: &Path) -> Tool {
    Tool::new("strace")
        .args(["-f", "-qq", "-e", "trace=fsync,fdatasync,pwritev2", "-o"])
        .arg(log)
        .arg(program)
}

/// A row that says how often a program asked for durability.
fn flushes(case: &str, log: &Path, tool: Tool) -> Result<Row, String> {
    let mut tool = Some(tool);
    let count = Contestant::new("traced", || {
        if let Some(tool) = tool.take() {
            seconds(tool)?;
        }
        let calls = fs::read_to_string(log).map_err(|error| error.to_string())?;
        let durable = |line: &&str| line.contains("sync(") || line.contains("RWF_DSYNC");
        Ok(calls.lines().filter(durable).count() as f64)
    });
    contest(case, Unit::Count, 1, vec![count])
}
