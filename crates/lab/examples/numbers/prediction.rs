//! The predictor against the emulation, on cases that nobody looked at while it was made.

use std::thread;

use ashlar_lab::disk::profile::Profile;
use ashlar_lab::predict::{Arrivals, cases, emulate, predict};

use super::Result;
use super::library::library;
use super::row::{Effort, Goal, Unit, row};

/// The first of the seeds.
const FIRST: u64 = 8001;
/// How many.
const COUNT: u64 = 1500;

pub(crate) fn rows(effort: Effort) -> Result<()> {
    let library = library()?;
    let seeds: Vec<u64> = (FIRST..FIRST + effort.of(COUNT, 6)).collect();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let parts = seeds.chunks(seeds.len().div_ceil(threads));
    let mut errors: Vec<f64> = thread::scope(|scope| {
        let parts = parts.map(|part| {
            let library = &library;
            scope.spawn(move || -> Vec<f64> {
                let judge = |seed| error(seed, library).ok();
                part.iter().filter_map(|&seed| judge(seed)).collect()
            })
        });
        let parts: Vec<_> = parts.collect();
        parts
            .into_iter()
            .flat_map(|part| part.join().expect("a case does not panic"))
            .collect()
    });
    errors.sort_by(f64::total_cmp);
    let at = |share: f64| errors[((errors.len() - 1) as f64 * share).round() as usize] * 100.0;
    let case = |what: &str| format!("prediction, {} cases, {what} error", errors.len());
    row(&case("median"), Unit::Percent, at(0.5), Goal::AtMost(10.0));
    row(
        &case("95th percentile"),
        Unit::Percent,
        at(0.95),
        Goal::AtMost(25.0),
    );
    Ok(())
}

/// The error of a case: of the response under an open load, of the throughput under a closed one.
/// A case whose arrivals are more than the volume can do has none.
fn error(seed: u64, library: &[Profile]) -> ashlar_lab::error::Result<f64> {
    let case = cases::case(seed, library)?;
    let mut load = case.load;
    if let Some(share) = case.open {
        let gap_ns = emulate::gap_ns(&case.volume, &load, share, seed)?;
        load.arrivals = Arrivals::Poisson { gap_ns };
    }
    let seen = emulate::run(&case.volume, &load, seed)?;
    let predicted = predict(&case.volume, &load)?;
    let ratio = match case.open {
        Some(_) => predicted.response_ns / seen.response_ns,
        None => predicted.per_second / seen.per_second,
    };
    Ok((ratio - 1.0).abs())
}
