//! The power fails in the middle of commits, on simulated disks, at every point and in every way.
//!
//! This is the checker of the project itself, on some of its cases: the real commands over disks
//! that remember what was flushed.

use ashlar::commit::FlushPolicy;
use ashlar::explore::{Campaign, Case, Patience, Report};
use lvm2::plan::initialise::AreaCount;

use super::world::World;
use crate::args::Error;
use crate::demo::story::Story;

/// The commands that are cut off in the tour; the project's tests have all.
const FULL: &[&str] = &["lvcreate", "lvextend", "lvremove", "vgextend", "vgrename"];
const QUICK: &[&str] = &["lvextend"];
/// The one that is run without its flushes, too.
const FAULTY: &str = "lvextend";
const SEED: u64 = 1;

/// Cuts, and judges every state that is left.
pub(super) fn cut(story: &mut Story<'_>, world: &World<'_>) -> Result<(), Error> {
    story.say(
        "Two simulated disks with a write cache each. For every write of a command: the power \
         fails there,\nand any part of what was not flushed is lost. Each state is scanned, and \
         the next command run on it.\n(killed before: what a command left that was killed before \
         this one began.)",
    )?;
    for command in world.choose(FULL, QUICK) {
        world.interrupt.check()?;
        let report = explore(command, FlushPolicy::Strict)?;
        let states = format!("{:>6} states", report.states);
        if let Some(broken) = &report.first {
            let what = format!(
                "{command} breaks a promise ({}, {}); please report this",
                broken.what, broken.place
            );
            return Err(Error::failed(what));
        }
        story.good(&format!(
            "{command:10} {states}: {}, nothing lost",
            verdicts(&report)
        ))?;
    }
    world.interrupt.check()?;
    let report = explore(FAULTY, FlushPolicy::None)?;
    if report.broken == 0 {
        return Err(Error::failed(
            "The checker finds nothing where no flush is made; please report this",
        ));
    }
    story.say(&format!(
        "{FAULTY:10} {:>6} states where no flush is made, as stock LVM2 makes none: {} of them \
         are not\n{:25}what was promised. So the checker would have seen it.",
        report.states, report.broken, ""
    ))
}

fn explore(command: &str, flush_policy: FlushPolicy) -> Result<Report, Error> {
    let cases = Case::all(2, AreaCount::One).into_iter();
    let campaign = Campaign {
        cases: cases.filter(|case| case.command() == command).collect(),
        flush_policy,
        seed: SEED,
        patience: Patience::All,
    };
    campaign
        .run()
        .map_err(|error| Error::failed(error.to_string()))
}

/// `120 old, 44 new`.
fn verdicts(report: &Report) -> String {
    let verdicts = report.verdicts.iter();
    let words = verdicts.map(|(verdict, count)| format!("{count} {verdict}"));
    words.collect::<Vec<_>>().join(", ")
}
