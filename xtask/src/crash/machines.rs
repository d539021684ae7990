//! What explorations of machines have in common: one campaign, and one for each mistake.

use dm::explore::{Campaign, Report};

use super::arguments::Arguments;

/// Different states that are wanted if nobody says another number.
const STATES: u64 = 100_000;
/// A state is new in almost every cut, and a history has fifty or more; so this ends no run early.
const HISTORIES_MAX: u64 = 1 << 20;

/// What is explored.
pub(super) struct Subject<'a, F> {
    /// As the command calls it.
    pub(super) name: &'a str,
    /// Mistakes that have to be found, with their names.
    pub(super) faults: Vec<(&'a str, F)>,
    /// Histories in which each has to be.
    pub(super) planted_histories: u64,
}

impl<F: Copy> Subject<'_, F> {
    /// Explores as the arguments say, by `explore`; whether no promise was broken and each mistake
    /// was found.
    pub(super) fn run(
        &self,
        arguments: &Arguments,
        explore: impl Fn(Campaign, Option<F>) -> Report,
    ) -> Result<bool, String> {
        let name = self.name;
        let campaign = |states, histories| Campaign {
            seed: arguments.seed.unwrap_or(1),
            states,
            histories,
        };
        let mut faults = self.faults.clone();
        if let Some(wanted) = &arguments.fault {
            faults.retain(|(known, _)| known == wanted);
            if faults.is_empty() {
                return Err(self.unknown(wanted));
            }
        }
        let mut well = true;
        if arguments.fault.is_none() {
            let states = arguments.states.unwrap_or(STATES);
            let report = explore(campaign(states, HISTORIES_MAX), None);
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
            let report = explore(campaign(u64::MAX, self.planted_histories), Some(fault));
            well &= say_found(name, fault_name, &report);
        }
        Ok(well)
    }

    fn unknown(&self, wanted: &str) -> String {
        let names: Vec<&str> = self.faults.iter().map(|(known, _)| *known).collect();
        let names = names.join(" ");
        format!("no mistake is called '{wanted}'; there are: {names}")
    }
}

/// Says whether a mistake was found.
pub(super) fn say_found(name: &str, fault: &str, report: &Report) -> bool {
    let cuts = report.cuts;
    match &report.broken {
        Some((seed, what)) => {
            println!("{name}: seeded fault {fault}: found after {cuts} cuts (seed {seed}): {what}");
        }
        None => println!("{name}: seeded fault {fault}: NOT FOUND in {cuts} cuts"),
    }
    report.broken.is_some()
}
