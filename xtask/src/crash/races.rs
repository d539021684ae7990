//! Two commands at the same time: every pair, in many orders, and every cut of each.

use ashlar::explore::{Effort, RaceReport, Races, SeededFault};

use super::arguments::Arguments;

/// States of the other subjects that cost as much as one order.
const STATES_PER_ORDER: u64 = 200;

/// Explores pairs of commands.
pub(super) fn run(arguments: &Arguments) -> Result<bool, String> {
    let pair = arguments
        .case
        .as_ref()
        .map(|name| number(name))
        .transpose()?;
    let faults = match &arguments.fault {
        None => SeededFault::ALL.to_vec(),
        Some(name) => {
            let fault = SeededFault::ALL
                .into_iter()
                .find(|(known, _)| known == name);
            vec![fault.ok_or_else(|| unknown(name))?]
        }
    };
    let explore = |fault, effort| -> Result<RaceReport, String> {
        let seed = arguments.seed.unwrap_or(1);
        let races = Races {
            pair,
            effort,
            seed,
            fault,
        };
        races.run().map_err(|error| error.to_string())
    };
    let mut well = true;
    if arguments.fault.is_none() {
        let count = Races::names().len() as u64;
        let effort = arguments.states.map_or(Effort::All, |states| {
            Effort::Some((states / STATES_PER_ORDER / count).max(1) as usize)
        });
        let report = explore(None, effort)?;
        println!("races: {report}");
        if let Some((pair, what)) = &report.first {
            println!("races: BROKEN: {what}");
            println!("  repeat with: cargo xtask crash races --case {pair}");
            well = false;
        }
    }
    // One pair is repeated without mistakes.
    if pair.is_some() && arguments.fault.is_none() {
        return Ok(well);
    }
    for (name, fault) in faults {
        let report = explore(Some(fault), Effort::All)?;
        let orders = report.orders;
        match &report.first {
            Some((_, what)) => {
                println!("races: seeded fault {name}: found after {orders} orders: {what}");
            }
            None => println!("races: seeded fault {name}: NOT FOUND in {orders} orders"),
        }
        well &= report.first.is_some();
    }
    Ok(well)
}

fn number(name: &str) -> Result<usize, String> {
    let names = Races::names();
    let number = name.parse().ok().filter(|number| *number < names.len());
    number.ok_or_else(|| {
        let names = names.iter().enumerate();
        let lines: Vec<String> = names
            .map(|(number, words)| format!("  {number:2} {words}"))
            .collect();
        format!("there is no pair '{name}'; there are\n{}", lines.join("\n"))
    })
}

fn unknown(name: &str) -> String {
    let names: Vec<&str> = SeededFault::ALL.iter().map(|(name, _)| *name).collect();
    format!(
        "no seeded fault is called '{name}'; there are: {}",
        names.join(" ")
    )
}
