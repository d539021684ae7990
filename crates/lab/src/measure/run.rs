//! Rounds: every subject once and the base twice, in an order drawn anew each time.

use std::collections::BTreeMap;

use block::sim::Random;

use super::record::{Block, Recorded};
use super::sample::Sample;
use super::spec::{CONTROL, Load, Medium, NATIVE, Study};
use crate::error::{Error, Kind, Result};

/// Something to be measured.
pub trait Subject {
    /// Asks it for a slice of so many nanoseconds; `seed` draws the places.
    fn measure(&mut self, load: &Load, slice_ns: u64, seed: u64) -> Result<Sample>;
}

/// A subject with its name.
pub struct Contestant {
    /// As the study has it.
    pub name: String,
    /// What is measured.
    pub subject: Box<dyn Subject>,
}

/// A round to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    /// Which load.
    pub load: Load,
    /// Which round, from 0.
    pub round: u64,
    /// Its seed.
    pub seed: u64,
}

/// The rounds of a study on one medium that `finished` does not have under `id`.
pub fn pending(
    study: &Study,
    medium: Medium,
    (id, rounds, seed): (u64, u64, u64),
    finished: &Recorded,
) -> Vec<Pending> {
    let mut pending = Vec::new();
    for load in &study.loads {
        let done = finished.rounds(id, medium, &load.name);
        for round in 0..rounds {
            if !done.iter().any(|block| block.round == round) {
                pending.push(Pending {
                    load: load.clone(),
                    round,
                    seed: seed.wrapping_add(round),
                });
            }
        }
    }
    // All loads of a round, then the next: drift is shared.
    pending.sort_by_key(|one| one.round);
    pending
}

/// Does the rounds; `keep` gets each when it is whole, and ends everything with `false`.
pub fn rounds(
    pending: &[Pending],
    (id, medium, slice_ns): (u64, Medium, u64),
    contestants: &mut [Contestant],
    keep: &mut dyn FnMut(&Block) -> bool,
) -> Result<()> {
    for one in pending {
        let block = round(one, (id, medium, slice_ns), contestants)?;
        if !keep(&block) {
            break;
        }
    }
    Ok(())
}

fn round(
    one: &Pending,
    (id, medium, slice_ns): (u64, Medium, u64),
    contestants: &mut [Contestant],
) -> Result<Block> {
    let base = contestants.iter().position(|found| found.name == NATIVE);
    let base = base.ok_or_else(|| Error::new(Kind::Impossible, "native is not among them"))?;
    let mut random = Random::new(one.seed);
    let mut order: Vec<(usize, bool)> = (0..contestants.len()).map(|at| (at, false)).collect();
    order.push((base, true));
    for last in (1..order.len()).rev() {
        order.swap(last, random.index(last + 1));
    }
    let mut block = Block {
        id,
        medium,
        load: one.load.name.clone(),
        round: one.round,
        seed: one.seed,
        subjects: BTreeMap::new(),
        latency: BTreeMap::new(),
    };
    for (at, is_control) in order {
        let found = &mut contestants[at];
        let sample = found.subject.measure(&one.load, slice_ns, random.number());
        let sample = sample.map_err(|error| {
            let what = format!("{}, {}: {error}", found.name, one.load.words());
            Error::new(error.kind(), what)
        })?;
        let name = if is_control { CONTROL } else { &found.name };
        let values = sample.values();
        block.subjects.insert(name.to_owned(), values);
        block
            .latency
            .insert(name.to_owned(), sample.latency.to_text());
    }
    Ok(block)
}
