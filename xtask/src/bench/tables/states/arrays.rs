//! Arrays: against linear and striped volumes on the same files, on disks in virtual time, and
//! over NBD against QEMU's `quorum`, which is what else people have of mirrors in user space.
//!
//! What a request costs on disks in virtual time are the same numbers in each run.

use std::path::Path;

use tests::{Scratch, Tool};

use super::super::super::contest::{Contestant, Row, Unit, contest};
use super::super::super::goal::Goal;
use super::super::super::run::{Bench, is_there};
use super::super::cat::TMPFS;
use super::super::load::{Load, SMALL, example};
use super::super::nbd::{Server, serving};
use super::doors::Disks;
use super::library::{self, Case, What};
use super::measurer::Measurer;
use super::timed;

/// Rounds of a full run over NBD.
const ROUNDS: usize = 6;
const EXPORT: &str = "data";

#[rustfmt::skip]
const CASES: &[Case] = &[
    Case { name: "raid1, read, depth 1", ours: "raid1", peer: "linear",
        asked: "read 1 1", what: What::Time, goal: Goal::RatioAtMost(1.1) },
    Case { name: "raid5, read, depth 1", ours: "raid5", peer: "linear",
        asked: "read 1 1", what: What::Time, goal: Goal::RatioAtMost(1.1) },
    Case { name: "raid10, read, depth 1", ours: "raid10", peer: "linear",
        asked: "read 1 1", what: What::Time, goal: Goal::RatioAtMost(1.1) },
    Case { name: "raid1, read, depth 32, 4 threads", ours: "raid1", peer: "striped",
        asked: "read 32 4", what: What::Rate, goal: Goal::RatioAtLeast(0.9) },
    Case { name: "raid5, read, depth 32, 4 threads", ours: "raid5", peer: "striped3",
        asked: "read 32 4", what: What::Rate, goal: Goal::RatioAtLeast(0.9) },
    Case { name: "raid10, read, depth 32, 4 threads", ours: "raid10", peer: "striped4",
        asked: "read 32 4", what: What::Rate, goal: Goal::RatioAtLeast(0.9) },
    Case { name: "raid5, whole rows written, depth 4", ours: "raid5", peer: "striped3",
        asked: "rows 4 1", what: What::Rate, goal: Goal::RatioAtLeast(0.7) },
    Case { name: "raid1, write, depth 32: processor", ours: "raid1", peer: "linear",
        asked: "write 32 1", what: What::Processor, goal: Goal::None },
    Case { name: "raid5, write, depth 32: processor", ours: "raid5", peer: "linear",
        asked: "write 32 1", what: What::Processor, goal: Goal::None },
];

/// Cases of the example, how their numbers are called, and what they should be.
#[rustfmt::skip]
const TIMED: &[(&str, &[(&str, Goal)])] = &[
    ("raid-copies", &[("raid1, random writes: rate of a leg's", Goal::OursAtLeast(0.9))]),
    ("raid-streams", &[("raid1, two streams read: rate of a leg's", Goal::OursAtLeast(1.8))]),
    ("raid-small", &[
        ("raid5 of 4, 4 KiB at random: reads", Goal::OursWithin(2.0, 2.0)),
        ("raid5 of 4, 4 KiB at random: writes", Goal::OursWithin(2.0, 2.0)),
    ]),
    ("raid-neighbours", &[
        ("raid5 of 4, 4 KiB in order, depth 32: reads", Goal::OursAtMost(0.5)),
        ("raid5 of 4, 4 KiB in order, depth 32: writes", Goal::OursAtMost(0.5)),
    ]),
    ("raid-sync-raid1", &[("raid1, first sync: rate of a leg's", Goal::OursAtLeast(0.8))]),
    ("raid-sync-raid5x4", &[("raid5 of 4, first sync: rate of a leg's", Goal::OursAtLeast(0.8))]),
    ("raid-sync-raid10", &[("raid10, first sync: rate of a leg's", Goal::OursAtLeast(0.8))]),
    ("raid-load-raid1", &[("raid1, reads beside a sync: of alone", Goal::OursAtLeast(0.7))]),
    ("raid-load-raid5x4", &[("raid5 of 4, reads beside a sync: of alone", Goal::OursAtLeast(0.7))]),
    ("raid-load-raid10", &[("raid10, reads beside a sync: of alone", Goal::OursAtLeast(0.7))]),
];

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>, String> {
    let folder = Scratch::new("arrays");
    let measurer = Measurer::start(bench, folder.path())?;
    let mut rows = Vec::new();
    for (case, numbers) in TIMED {
        let found = measurer.ask(&format!("timed {case}"))?;
        if found.len() != numbers.len() {
            return Err(format!("{case}: {found:?}"));
        }
        for ((name, goal), found) in numbers.iter().zip(found) {
            rows.push(timed::row((*name).to_owned(), found).meant(*goal));
        }
    }
    rows.extend(library::rows_of(bench, CASES)?);
    rows.extend(quorum(bench)?);
    Ok(rows)
}

/// A mirror of two files over NBD, and QEMU's of two others.
fn quorum(bench: &Bench) -> Result<Vec<Row>, String> {
    let disks = Disks::within(Scratch::within(Path::new(TMPFS), "quorum"), bench, 2)?;
    let name = ["-n", EXPORT, "--type", "raid1", "-m", "1", "--nosync"];
    disks.create(&[&name[..], &["made"]].concat());
    let folder = Scratch::within(Path::new(TMPFS), "plain");
    let mut servers = vec![("ashlar", disks.serve(&[EXPORT]))];
    if is_there("qemu-storage-daemon") {
        servers.push(("quorum", qemu(&folder, disks.size)));
    }
    let client = example("ashlar", "load")?;
    let mut rows = Vec::new();
    for (words, load) in [
        ("read", SMALL),
        ("write", SMALL.writing()),
        ("read, depth 1", Load { depth: 1, ..SMALL }),
        ("write, depth 1", Load { depth: 1, ..SMALL }.writing()),
    ] {
        let contestant = |(name, server): &(&'static str, Server)| {
            let (uri, client) = (server.uri.clone(), client.clone());
            let effort = bench.effort;
            Contestant::new(*name, move || load.by_own(effort, &client, &uri))
        };
        let contestants = servers.iter().map(contestant).collect();
        let rounds = bench.effort.rounds(ROUNDS);
        let case = format!("NBD, tmpfs, two copies, 4 KiB {words}");
        let row = contest(&case, Unit::PerSecond, rounds, contestants)?;
        rows.push(row.meant(Goal::RatioAtLeast(1.5)));
    }
    Ok(rows)
}

fn qemu(folder: &Scratch, size: u64) -> Server {
    let files = Scratch::new("quorum");
    let socket = files.join("socket");
    let mut tool = Tool::new("qemu-storage-daemon");
    for leg in ["a", "b"] {
        let image = folder.sparse(&format!("{leg}.img"), size);
        let image = image.display();
        tool = tool.args(["--blockdev"]).arg(format!(
            "driver=file,node-name={leg},aio=io_uring,filename={image}"
        ));
    }
    let node = "driver=quorum,node-name=node,vote-threshold=1,read-pattern=fifo,\
                children.0=a,children.1=b";
    let address = format!("addr.type=unix,addr.path={}", socket.display());
    let export = format!("type=nbd,id=export,node-name=node,name={EXPORT},writable=on");
    let tool = tool.args(["--blockdev", node, "--nbd-server", &address]);
    let tool = tool.args(["--export", &export]);
    serving("quorum", EXPORT, tool, files, &socket)
}
