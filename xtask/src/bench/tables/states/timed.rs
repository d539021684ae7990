//! What a machine makes of disks in virtual time: the same numbers in each run.

use tests::Scratch;

use super::super::super::contest::{Row, Unit};
use super::super::super::goal::Goal;
use super::super::super::run::Bench;
use super::measurer::Measurer;

/// What a first write costs, in requests: the old bytes are read and kept, the exception is
/// flushed and written, and the new bytes are written. Where exceptions go in groups, at least
/// the flush is one of many.
fn overwrite_most(depth: u32) -> f64 {
    if depth == 1 { 5.0 } else { 4.0 }
}

/// How much more may be asked, for areas that become zeros.
const SLACK: f64 = 1.005;

pub(super) fn rows(bench: &Bench) -> Result<Vec<Row>, String> {
    let folder = Scratch::new("timed");
    let measurer = Measurer::start(bench, folder.path())?;
    let mut rows = Vec::new();
    for (disks, words) in [("one", "one disk"), ("two", "its store on a second disk")] {
        for depth in [1_u32, 32] {
            let case = format!("timed overwrite-{depth}-{disks}");
            let found = measurer.ask(&case)?;
            let [share, reads, writes, flushes] = found[..] else {
                return Err(format!("{case}: {found:?}"));
            };
            let case = format!("overwrite of an origin, depth {depth}, {words}");
            let asked = reads + writes + flushes;
            let most = overwrite_most(depth) * SLACK;
            rows.push(row(format!("{case}: requests"), asked).meant(Goal::OursAtMost(most)));
            rows.push(
                row(format!("{case}: of what they allow"), share).meant(Goal::OursAtLeast(0.9)),
            );
        }
    }
    let of_disk = "of the slower disk's rate in order";
    let alone = measurer.ask("timed move")?;
    rows.push(row(format!("move, idle: {of_disk}"), alone[0]).meant(Goal::OursAtLeast(0.8)));
    for depth in [1, 4] {
        let case = format!("timed latency-{depth}");
        let found = measurer.ask(&case)?;
        let [times, rate] = found[..] else {
            return Err(format!("{case}: {found:?}"));
        };
        let case = format!("move beside reads, depth {depth}");
        let longer = row(format!("{case}: their p99, times that alone"), times);
        rows.push(longer.meant(Goal::OursAtMost(2.0)));
        rows.push(row(format!("{case}: {of_disk}"), rate));
    }
    Ok(rows)
}

pub(super) fn row(case: String, ours: f64) -> Row {
    Row {
        case,
        unit: Unit::Number,
        rounds: 1,
        ours,
        peers: Vec::new(),
        goal: Goal::None,
    }
}
