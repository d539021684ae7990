//! Snapshots: what they show after cuts, while they come and go, and while they are merged.

use dm::explore::{Campaign as Extent, Report};
use dm::snapshot::explore::{Campaign, SeededFault, Subject};

use super::arguments::Arguments;

/// Different states that are wanted if nobody says another number.
const STATES: u64 = 100_000;
/// A state is new in almost every cut, and a history has about seventy; so this ends no run early.
const HISTORIES_MAX: u64 = 1 << 20;
/// Histories in which a mistake must be found.
const PLANT_HISTORIES_MAX: u64 = 1000;

/// Explores snapshots that are taken, written and removed.
pub(super) fn run(arguments: &Arguments) -> Result<bool, String> {
    explore("snapshot", Subject::Snapshots, arguments)
}

/// Explores snapshots that are merged.
pub(super) fn run_merges(arguments: &Arguments) -> Result<bool, String> {
    explore("merge", Subject::Merges, arguments)
}

fn explore(name: &str, subject: Subject, arguments: &Arguments) -> Result<bool, String> {
    let seed = arguments.seed.unwrap_or(1);
    let faults = SeededFault::ALL.iter().filter(|(.., of)| *of == subject);
    let faults: Vec<(&str, SeededFault)> = match &arguments.fault {
        None => faults.map(|(known, fault, _)| (*known, *fault)).collect(),
        Some(wanted) => {
            let (known, fault, _) = faults
                .clone()
                .find(|(known, ..)| known == wanted)
                .ok_or_else(|| unknown(wanted, faults))?;
            vec![(*known, *fault)]
        }
    };
    let campaign = |states, histories, fault| Campaign {
        subject,
        extent: Extent {
            seed,
            states,
            histories,
        },
        fault,
    };
    let mut well = true;
    if arguments.fault.is_none() {
        let states = arguments.states.unwrap_or(STATES);
        let report = campaign(states, HISTORIES_MAX, None).run();
        println!("{name}: {report}");
        if let Some((seed, what)) = &report.broken {
            println!("{name}: BROKEN: {what}");
            println!("  repeat with: cargo xtask crash {name} --states 1 --seed {seed}");
            well = false;
        }
    }
    // A single history is repeated without its mistakes.
    if arguments.states == Some(1) && arguments.fault.is_none() {
        return Ok(well);
    }
    for (fault_name, fault) in faults {
        let report = campaign(u64::MAX, PLANT_HISTORIES_MAX, Some(fault)).run();
        well &= say_found(name, fault_name, &report);
    }
    Ok(well)
}

fn say_found(name: &str, fault: &str, report: &Report) -> bool {
    let cuts = report.cuts;
    match &report.broken {
        Some((seed, what)) => {
            println!("{name}: seeded fault {fault}: found after {cuts} cuts (seed {seed}): {what}");
        }
        None => println!("{name}: seeded fault {fault}: NOT FOUND in {cuts} cuts"),
    }
    report.broken.is_some()
}

fn unknown<'a>(
    wanted: &str,
    faults: impl Iterator<Item = &'a (&'static str, SeededFault, Subject)>,
) -> String {
    let names: Vec<&str> = faults.map(|(known, ..)| *known).collect();
    let names = names.join(" ");
    format!("no mistake is called '{wanted}'; there are: {names}")
}
