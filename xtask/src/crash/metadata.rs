//! Metadata: every command over one to three disks with one and two areas, cut at every moment.

use manager::commit::{Discipline, FlushPoint};
use manager::explore::{CASES, Campaign, Case, Patience, Report, explore_faults};

use super::arguments::Arguments;

/// Explores commits.
pub(super) fn run(arguments: &Arguments) -> Result<bool, String> {
    let seed = arguments.seed.unwrap_or(1);
    let points: Vec<FlushPoint> = match &arguments.plant {
        None => FlushPoint::ALL.to_vec(),
        Some(name) => {
            let named = |point: &FlushPoint| format!("{point:?}").eq_ignore_ascii_case(name);
            let point = FlushPoint::ALL.into_iter().find(named);
            vec![point.ok_or_else(|| unknown(name))?]
        }
    };
    let mut well = true;
    if arguments.plant.is_none() {
        for (disks, areas) in CASES {
            let cases = Case::all(disks, areas);
            let report = explore(cases, Discipline::Strict, seed, Patience::All)?;
            println!("metadata: {disks} disks, areas {areas:?}: {report}");
            if let Some(broken) = &report.first {
                println!("metadata: BROKEN: {}: {}", broken.place, broken.what);
                println!("  repeat with: cargo xtask crash metadata --seed {seed}");
                well = false;
            }
        }
        let cases = Case::all(2, CASES[0].1);
        let report = explore(cases, Discipline::None, seed, Patience::All)?;
        println!("metadata: without any flush, as stock: {report}");
        well &= report.broken > 0;
    }
    for point in points {
        let cases = Case::all(2, CASES[0].1);
        let report = explore(cases, Discipline::Without(point), seed, Patience::First)?;
        match &report.first {
            Some(broken) => println!(
                "metadata: without the flush {point:?}: {} finds it after {} states: {}",
                broken.command, report.states, broken.what
            ),
            None => println!("metadata: without the flush {point:?}: NOT FOUND"),
        }
        well &= report.first.is_some();
    }
    Ok(well)
}

/// Lets every single request of every command fail.
pub(super) fn run_faults(_arguments: &Arguments) -> Result<bool, String> {
    let mut well = true;
    for (disks, areas) in CASES {
        let report = explore_faults(&Case::all(disks, areas)).map_err(|error| error.to_string())?;
        println!("faults: {disks} disks, areas {areas:?}: {report}");
        for broken in report.broken.iter().take(3) {
            println!("faults: BROKEN: {broken}");
        }
        well &= report.broken.is_empty();
    }
    Ok(well)
}

fn explore(
    cases: Vec<Case>,
    discipline: Discipline,
    seed: u64,
    patience: Patience,
) -> Result<Report, String> {
    let campaign = Campaign {
        cases,
        discipline,
        seed,
        patience,
    };
    campaign.run().map_err(|error| error.to_string())
}

fn unknown(name: &str) -> String {
    let names: Vec<String> = FlushPoint::ALL.iter().map(|p| format!("{p:?}")).collect();
    format!("'{name}' is no flush; there are {}", names.join(", "))
}
