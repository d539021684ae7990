//! Runs what was asked for.

use std::collections::BTreeSet;
use std::fs;

use super::areas::Area;
use super::arguments::{Arguments, Part};
use super::generated::Made;
use super::known::{self, Found};
use super::later::Bench;
use super::record::{PLACE, Record};
use super::tree::Tree;
use super::{generated, until_failure};
use crate::Outcome;
use crate::tidy::root;

/// `cargo xtask mutate`.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let outcome = match Arguments::parse(arguments) {
        Err(message) => return Outcome::Unusable(message),
        Ok(Arguments::UntilFailure(command)) => return until_failure::run(&command),
        Ok(Arguments::Known(word)) => run_known(&word),
        Ok(Arguments::Areas {
            areas,
            part,
            survivors,
        }) => run_areas(&areas, part, survivors),
    };
    outcome.unwrap_or_else(Outcome::Unusable)
}

fn run_areas(areas: &[&Area], part: Part, survivors: bool) -> Result<Outcome, String> {
    let tree = Tree::new()?;
    generated::require(&tree)?;
    let mut bench = Bench::new(&tree)?;
    for area in areas {
        let path = root().join(PLACE);
        let read = || Record::parse(&fs::read_to_string(&path).unwrap_or_default());
        let before = read();
        let only = if survivors {
            let names = before.survivors(area.name).map(<[String]>::to_vec);
            Some(names.ok_or_else(|| format!("{} has not been run yet", area.name))?)
        } else {
            None
        };
        if only.as_ref().is_some_and(Vec::is_empty) {
            continue;
        }
        let keep = |made: Made| {
            // Somebody may have written reasons meanwhile.
            let mut record = read();
            record.set_back(area.name, &before);
            if survivors {
                record.again(area.name, &tree.revision, made);
            } else {
                record.add(area.name, &tree.revision, part, made);
            }
            fs::write(&path, record.text())
                .map_err(|error| format!("{PLACE} cannot be written: {error}"))
        };
        let mut made = generated::run(&tree, area, part, only.as_deref())?;
        // After each stage, so that an end on the way costs only the one under way.
        keep(made.clone())?;
        bench.ask(area, &mut made)?;
        keep(made)?;
    }
    // Survivors are no failure: some are right as they are, and have a reason.
    Ok(Outcome::Passed)
}

fn run_known(word: &str) -> Result<Outcome, String> {
    let all = known::list(word);
    if all.is_empty() {
        return Err(format!("no known mistake has '{word}' in its name"));
    }
    let tree = Tree::new()?;
    let mut asked = BTreeSet::new();
    for known in &all {
        if asked.insert(known.asks()) {
            known.try_without(&tree)?;
        }
    }
    let mut all_found = true;
    for known in &all {
        match known.try_with(&tree)? {
            Found::ByTest => println!("found: {}", known.name),
            Found::ByNobody => {
                println!("NOT FOUND: {}", known.name);
                all_found = false;
            }
        }
    }
    Ok(if all_found {
        Outcome::Passed
    } else {
        Outcome::Failed
    })
}
