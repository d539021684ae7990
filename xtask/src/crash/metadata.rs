//! Metadata: every command over one to three disks with one and two areas, cut at every moment.

use ashlar::commit::{FlushPoint, FlushPolicy};
use ashlar::explore::{CASES, Campaign, Case, Patience, Report, Rings, explore_faults};
use block::sim::Random;

use super::arguments::Arguments;

/// Explores commits.
pub(super) fn run(arguments: &Arguments) -> Result<bool, String> {
    let seed = arguments.seed.unwrap_or(1);
    let points: Vec<FlushPoint> = match &arguments.fault {
        None => FlushPoint::ALL.to_vec(),
        Some(name) => {
            let named = |point: &FlushPoint| format!("{point:?}").eq_ignore_ascii_case(name);
            let point = FlushPoint::ALL.into_iter().find(named);
            vec![point.ok_or_else(|| unknown(name))?]
        }
    };
    if let Some(name) = &arguments.case {
        let case = Case::named(name).ok_or_else(|| format!("there is no case '{name}'"))?;
        let fault = arguments.fault.as_ref().map(|_| points[0]);
        return one(case, fault, seed);
    }
    let mut well = true;
    if arguments.fault.is_none() {
        well &= match arguments.states {
            None => all(seed)?,
            Some(states) => some(states, seed)?,
        };
        let report = explore(few(), FlushPolicy::None, seed, Patience::All)?;
        println!("metadata: without any flush, as stock: {report}");
        well &= report.broken > 0;
    }
    for point in points {
        let report = explore(few(), FlushPolicy::Without(point), seed, Patience::First)?;
        match &report.first {
            Some(broken) => println!(
                "metadata: without the flush {point:?}: {} (case {}) finds it after {} states: {}",
                broken.command, broken.case, report.states, broken.what
            ),
            None => println!("metadata: without the flush {point:?}: NOT FOUND"),
        }
        well &= report.first.is_some();
    }
    Ok(well)
}

/// Where mistakes are looked for.
fn few() -> Vec<Case> {
    let cases = Case::all(2, CASES[0].1).into_iter();
    cases
        .flat_map(|case| [case.clone(), case.on_large_blocks()])
        .collect()
}

/// What disks [`Case::on_all_blocks`] is about, as the end of a phrase.
const BLOCKS: [&str; 3] = [
    "",
    ", physical blocks of 4 KiB that are lost",
    ", logical blocks of 4 KiB",
];

/// All cases.
fn all(seed: u64) -> Result<bool, String> {
    let mut well = true;
    let mut states = 0;
    for (disks, areas) in CASES {
        for (kind, words) in BLOCKS.iter().enumerate() {
            let cases = Case::all(disks, areas).into_iter();
            let cases = cases.map(|case| case.on_all_blocks()[kind].clone());
            let cases = cases.collect();
            let report = explore(cases, FlushPolicy::Strict, seed, Patience::All)?;
            println!("metadata: {disks} disks, areas {areas:?}{words}: {report}");
            states += report.states;
            well &= say_broken(&report, seed, None);
        }
    }
    let rings = Rings::of(CASES[0].1).map_err(|error| error.to_string())?;
    let Rings {
        round, split, full, ..
    } = rings;
    let report = explore(rings.cases, FlushPolicy::Strict, seed, Patience::All)?;
    println!(
        "metadata: large texts: {round} go round their ring, {split} lie on both sides of its end, \
         {full} fill it: {report}"
    );
    states += report.states;
    well &= say_broken(&report, seed, None);
    println!("metadata: {states} states in all");
    Ok(well)
}

/// Cases that the seed chooses, until there are so many states.
fn some(states: u64, seed: u64) -> Result<bool, String> {
    let mut well = true;
    let (mut commands, mut seen) = (0, 0);
    for case in shuffled(seed) {
        if seen >= states {
            break;
        }
        let report = explore(vec![case], FlushPolicy::Strict, seed, Patience::All)?;
        commands += report.commands;
        seen += report.states;
        well &= say_broken(&report, seed, None);
    }
    println!("metadata: {commands} commands by the seed {seed}, {seen} states");
    Ok(well)
}

fn shuffled(seed: u64) -> Vec<Case> {
    let mut random = Random::new(seed);
    let cases = CASES.iter();
    let mut cases: Vec<Case> = cases
        .flat_map(|(disks, areas)| Case::all(*disks, *areas))
        .flat_map(Case::on_all_blocks)
        .collect();
    for last in (1..cases.len()).rev() {
        cases.swap(last, random.index(last + 1));
    }
    cases
}

/// One case, perhaps without a flush.
fn one(case: Case, fault: Option<FlushPoint>, seed: u64) -> Result<bool, String> {
    let flush_policy = fault.map_or(FlushPolicy::Strict, FlushPolicy::Without);
    println!("metadata: {case:?}, {flush_policy:?}");
    let report = explore(vec![case], flush_policy, seed, Patience::All)?;
    println!("metadata: {report}");
    let kept = say_broken(&report, seed, fault);
    Ok(kept == fault.is_none())
}

fn say_broken(report: &Report, seed: u64, fault: Option<FlushPoint>) -> bool {
    let Some(broken) = &report.first else {
        return true;
    };
    println!("metadata: BROKEN: {}: {}", broken.place, broken.what);
    let fault = fault.map_or(String::new(), |point| format!(" --fault {point:?}"));
    let case = &broken.case;
    println!("  repeat with: cargo xtask crash metadata --seed {seed} --case {case}{fault}");
    false
}

/// Lets every single request of every command fail.
pub(super) fn run_faults(arguments: &Arguments) -> Result<bool, String> {
    let mut well = true;
    if let Some(states) = arguments.states {
        let mut faults = 0;
        for case in shuffled(arguments.seed.unwrap_or(1)) {
            // An error costs as much as several states.
            if faults >= states / 8 {
                break;
            }
            let (count, is_well) = fail(&[case])?;
            (faults, well) = (faults + count, well && is_well);
        }
        println!("faults: {faults} errors");
        return Ok(well);
    }
    for (disks, areas) in CASES {
        print!("faults: {disks} disks, areas {areas:?}: ");
        well &= fail(&Case::all(disks, areas))?.1;
    }
    Ok(well)
}

/// How many errors there were, and whether all promises were kept.
fn fail(cases: &[Case]) -> Result<(u64, bool), String> {
    let report = explore_faults(cases).map_err(|error| error.to_string())?;
    if cases.len() > 1 {
        println!("{report}");
    }
    for broken in report.broken.iter().take(3) {
        println!("faults: BROKEN: {broken}");
    }
    Ok((report.faults, report.broken.is_empty()))
}

fn explore(
    cases: Vec<Case>,
    flush_policy: FlushPolicy,
    seed: u64,
    patience: Patience,
) -> Result<Report, String> {
    let campaign = Campaign {
        cases,
        flush_policy,
        seed,
        patience,
    };
    campaign.run().map_err(|error| error.to_string())
}

fn unknown(name: &str) -> String {
    let names: Vec<String> = FlushPoint::ALL.iter().map(|p| format!("{p:?}")).collect();
    format!("'{name}' is no flush; there are {}", names.join(", "))
}
