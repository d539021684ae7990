//! Arrays: data that was promised to be there, after cuts and without legs.

use dm::explore;
use dm::raid::explore::{Campaign, ChangeFault, SeededFault, changes, reshapes};

use super::arguments::Arguments;
use super::machines::{Subject, say_found};

/// Histories in which a mistake must be found.
const PLANT_HISTORIES_MAX: u64 = 2000;
/// The same of a mistake in a change.
const CHANGE_HISTORIES_MAX: u64 = 400;
/// Times that each change is cut off, at least.
const KILLS: u64 = 50;

/// Explores arrays.
pub(super) fn run(arguments: &Arguments) -> Result<bool, String> {
    if let Some(name) = &arguments.case {
        return Ok(cut_off(name, arguments.seed.unwrap_or(1)));
    }
    let change_fault = arguments.fault.as_ref().and_then(|wanted| {
        let mut all = ChangeFault::ALL.iter();
        all.find(|(name, ..)| name == wanted)
    });
    if let Some(fault) = change_fault {
        return Ok(find(*fault));
    }
    let mut well = subject().run(arguments, |extent, fault| Campaign { extent, fault }.run())?;
    // A single history is repeated, or a single mistake looked for.
    if arguments.states == Some(1) || arguments.fault.is_some() {
        return Ok(well);
    }
    let seed = arguments.seed.unwrap_or(1);
    for name in changes().into_iter().chain(reshapes()) {
        well &= cut_off(&name, seed);
    }
    for fault in ChangeFault::ALL {
        well &= find(*fault);
    }
    Ok(well)
}

fn subject() -> Subject<'static, SeededFault> {
    Subject {
        name: "raid",
        faults: SeededFault::ALL.to_vec(),
        planted_histories: PLANT_HISTORIES_MAX,
    }
}

/// Cuts off one change or reshape, again and again; whether no promise was broken.
fn cut_off(name: &str, seed: u64) -> bool {
    let is_reshape = reshapes().iter().any(|one| one == name);
    let report = if is_reshape {
        Campaign::run_killed_reshape(name, KILLS, seed)
    } else {
        Campaign::run_change(name, KILLS, seed)
    };
    let count = |what: &str| report.counts.get(what).copied().unwrap_or(0);
    println!(
        "raid: {name}: {} kills, {} of them in the middle; {} cuts, {} of them there, {} without a \
         leg; {} ended",
        count("kills"),
        count("kills in the middle"),
        report.cuts,
        count("cuts in the middle"),
        count("cuts without a leg"),
        count("ended"),
    );
    let Some((seed, what)) = &report.broken else {
        return true;
    };
    println!("raid: {name}: BROKEN, with seed {seed}: {what}");
    println!("  repeat with: cargo xtask crash raid --case '{name}' --seed {seed}");
    false
}

/// Looks for a mistake in a change that shows it; whether it is found.
fn find((name, fault, change): (&str, ChangeFault, &str)) -> bool {
    let extent = explore::Campaign {
        seed: 1,
        states: u64::MAX,
        histories: CHANGE_HISTORIES_MAX,
    };
    let report = Campaign::run_faulty_change(change, extent, fault);
    say_found("raid", &format!("{name}, by \"{change}\""), &report)
}
