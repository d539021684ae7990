//! Which loads are compared, and what they should show.

use std::path::Path;

use tests::Scratch;

use super::super::super::contest::{Contestant, Row, Unit, contest};
use super::super::super::goal::Goal;
use super::super::super::run::{Bench, Table, is_there};
use super::super::cat::TMPFS;
use super::super::content::Filled;
use super::super::load::{Load, SMALL, STREAM};
use super::nodes::{Caching, Node, PEER};

pub(in super::super) const TABLE: Table = Table {
    name: "fuse",
    about: "requests in a second to a loop device over a FUSE file, by fio past the page cache",
    peers: &["fio", "losetup", PEER],
    run,
};

/// Rounds of a full run.
const ROUNDS: usize = 6;
/// The least ratio where a disk has a part in it, and where none has.
const DIRECT_MIN: f64 = 1.3;
const TMPFS_MIN: f64 = 2.0;

/// The nodes over the same bytes, ours first.
struct Field {
    nodes: Vec<Node>,
    filled: Filled,
}

fn run(bench: &Bench) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    let direct = Field::on(bench, Scratch::new("fuse"), Caching::Direct)?;
    rows.extend(direct.rows(bench, "direct", DIRECT_MIN)?);
    drop(direct);
    let folder = Scratch::within(Path::new(TMPFS), "fuse");
    let memory = Field::on(bench, folder, Caching::Cached)?;
    rows.extend(memory.rows(bench, "tmpfs", TMPFS_MIN)?);
    Ok(rows)
}

impl Field {
    fn on(bench: &Bench, folder: Scratch, caching: Caching) -> Result<Self, String> {
        let filled = Filled::within(folder, bench.effort)?;
        let plain = filled.plain()?;
        let mut nodes = vec![Node::ours(bench, &filled.made)?];
        if is_there(PEER) {
            nodes.push(Node::qemu(&plain, caching)?);
        }
        Ok(Field { nodes, filled })
    }

    fn rows(&self, bench: &Bench, place: &str, least: f64) -> Result<Vec<Row>, String> {
        let goal = Goal::RatioAtLeast(least);
        let cases = [
            ("4 KiB random reads, depth 32", SMALL, goal),
            ("4 KiB random writes, depth 32", SMALL.writing(), goal),
            ("128 KiB reads in order", STREAM, Goal::None),
            ("128 KiB writes in order", STREAM.writing(), Goal::None),
        ];
        let row = |(case, load, goal): (&str, Load, Goal)| {
            let row = self.rate(bench, &format!("{place}, {case}"), load)?;
            Ok(row.meant(goal))
        };
        cases.into_iter().map(row).collect()
    }

    fn rate(&self, bench: &Bench, case: &str, load: Load) -> Result<Row, String> {
        let contestant = |node: &Node| {
            let (path, bytes) = (node.path().to_owned(), self.filled.bytes);
            Contestant::new(node.name, move || {
                load.by_fio_on(bench.effort, &path, 0, bytes)
            })
        };
        let contestants = self.nodes.iter().map(contestant).collect();
        let rounds = bench.effort.rounds(ROUNDS);
        contest(case, Unit::PerSecond, rounds, contestants)
    }
}
