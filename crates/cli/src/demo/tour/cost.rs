//! What layers cost: a few of the lab's experiments, cut short, in virtual time.

use lab::experiment::{self, Experiment, Options, Read, Record, Work};
use lab::report::{Answer, answers};

use super::world::World;
use crate::args::Error;
use crate::demo::story::Story;

/// Experiments that answer something when they are short.
const EXPERIMENTS: [&str; 3] = ["one-disk", "segments", "striping"];
/// Replicates: the fewest that have an interval.
const REPLICATES: u64 = 6;

/// Runs them, and says what they answer.
pub(super) fn ask(story: &mut Story<'_>, world: &World<'_>) -> Result<Vec<Answer>, Error> {
    let failed = |error: lab::error::Error| Error::failed(error.to_string());
    story.command("ashlar lab run one-disk segments striping")?;
    story.command("ashlar lab report")?;
    let requests = world.choose(6000, 2000);
    let mut experiments = Vec::new();
    for name in EXPERIMENTS {
        experiments.push(short(experiment::find(name).map_err(failed)?, requests));
    }
    let options = Options {
        seed: 1,
        replicates: Some(REPLICATES),
        threads: std::thread::available_parallelism().map_or(1, usize::from),
    };
    let mut records = Vec::new();
    let mut keep = |record: &Record| {
        records.push(record.clone());
        true
    };
    let pending = experiment::runs(&experiments, &options, &[]);
    experiment::run(&pending, &options, &mut keep).map_err(failed)?;
    world.interrupt.check()?;
    story.say(&format!(
        "Emulated disks, in virtual time: {} runs of {requests} requests. The lab has all of it:\n\
         ashlar lab run seeds takes minutes, and its report has 78 claims.",
        records.len()
    ))?;
    let results = Read {
        records,
        ..Read::default()
    };
    let found = answers(&experiments, &results).map_err(failed)?;
    for one in &found {
        story.say(&format!(
            "{}\n  {}: {}: {}",
            one.question, one.verdict, one.what, one.found
        ))?;
    }
    Ok(found)
}

/// The arms that rules compare, with fewer requests each.
fn short(mut experiment: Experiment, requests: u64) -> Experiment {
    let Experiment { arms, rules, .. } = &mut experiment;
    arms.retain(|arm| {
        let key = Some(arm.key());
        rules
            .iter()
            .any(|rule| Some(&rule.other) == key.as_ref() || rule.base == key)
    });
    for arm in arms {
        if let Work::Jobs { requests_max, .. } = &mut arm.work {
            *requests_max = (*requests_max).min(requests);
        }
    }
    experiment
}
