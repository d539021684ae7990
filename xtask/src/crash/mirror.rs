//! Mirrors: data that was promised to be there, after cuts and without legs.

use dm::mirror::explore::{Campaign, Report, SeededFault};

use super::arguments::Arguments;

/// Different states that are wanted if nobody says another number.
const STATES: u64 = 100_000;
/// A state is new in almost every cut, and a history has about fifty; so this ends no run early.
const HISTORIES_MAX: u64 = 1 << 20;
/// Histories in which a mistake must be found.
const PLANT_HISTORIES_MAX: u64 = 2000;

/// Explores mirrors.
pub(super) fn run(arguments: &Arguments) -> Result<bool, String> {
    let seed = arguments.seed.unwrap_or(1);
    let faults: Vec<&(&str, SeededFault)> = match &arguments.fault {
        None => SeededFault::ALL.iter().collect(),
        Some(name) => {
            let fault = SeededFault::ALL.iter().find(|(known, _)| known == name);
            vec![fault.ok_or_else(|| unknown(name))?]
        }
    };
    let mut well = true;
    if arguments.fault.is_none() {
        let campaign = Campaign {
            seed,
            states: arguments.states.unwrap_or(STATES),
            histories: HISTORIES_MAX,
            fault: None,
        };
        let report = campaign.run();
        println!("mirror: {report}");
        if let Some((seed, what)) = &report.broken {
            println!("mirror: BROKEN: {what}");
            println!("  repeat with: cargo xtask crash mirror --states 1 --seed {seed}");
            well = false;
        }
    }
    // A single history is repeated without its mistakes.
    if arguments.states == Some(1) && arguments.fault.is_none() {
        return Ok(well);
    }
    for (name, fault) in faults {
        let report = Campaign {
            seed,
            states: u64::MAX,
            histories: PLANT_HISTORIES_MAX,
            fault: Some(*fault),
        }
        .run();
        well &= say_found(name, &report);
    }
    Ok(well)
}

fn say_found(name: &str, report: &Report) -> bool {
    let cuts = report.cuts;
    match &report.broken {
        Some((seed, what)) => {
            println!("mirror: seeded fault {name}: found after {cuts} cuts (seed {seed}): {what}");
        }
        None => println!("mirror: seeded fault {name}: NOT FOUND in {cuts} cuts"),
    }
    report.broken.is_some()
}

fn unknown(name: &str) -> String {
    let names: Vec<&str> = SeededFault::ALL.iter().map(|(name, _)| *name).collect();
    format!(
        "no mistake is called '{name}'; there are: {}",
        names.join(" ")
    )
}
