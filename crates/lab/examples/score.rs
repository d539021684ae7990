//! Scores the predictor: `score [FIRST LAST [ANSWERS]]`, the judging seeds without arguments.
//!
//! Each case is emulated and predicted; the error is that of the response time under an open load
//! and of the throughput under a closed one (where both are the same by Little's law). ANSWERS is a
//! file that keeps what was emulated, for repeated scores of the same cases.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::fs;

use ashlar_lab::disk::profile::Profile;
use ashlar_lab::predict::cases::{self, Case};
use ashlar_lab::predict::emulate::{self, Outcome};
use ashlar_lab::predict::{Arrivals, Load, Medium, predict};

#[path = "shared/fixtures.rs"]
mod fixtures;
#[path = "shared/library.rs"]
mod library;

use library::library;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The case as it is run, and what was seen: from `answers` where they hold it.
fn answer(seed: u64, library: &[Profile], answers: &mut Answers) -> Result<(Case, Load, Outcome)> {
    let case = cases::case(seed, library)?;
    let mut load = case.load;
    let known = answers.get(&seed).copied();
    let gap = match (case.open, known) {
        (Some(share), None) => emulate::gap_ns(&case.volume, &load, share, seed)?,
        (_, Some((gap, _))) => gap,
        (None, None) => 0,
    };
    if case.open.is_some() {
        load.arrivals = Arrivals::Poisson { gap_ns: gap };
    }
    let outcome = match known {
        Some((_, outcome)) => outcome,
        None => emulate::run(&case.volume, &load, seed)?,
    };
    answers.insert(seed, (gap, outcome));
    Ok((case, load, outcome))
}

type Answers = BTreeMap<u64, (u64, Outcome)>;

fn read_answers(path: &str) -> Answers {
    let text = fs::read_to_string(path).unwrap_or_default();
    let line = |line: &str| {
        let mut fields = line.split(' ');
        let seed = fields.next()?.parse().ok()?;
        let gap = fields.next()?.parse().ok()?;
        let outcome = Outcome {
            per_second: fields.next()?.parse().ok()?,
            response_ns: fields.next()?.parse().ok()?,
            error: fields.next()?.parse().ok()?,
        };
        Some((seed, (gap, outcome)))
    };
    text.lines().filter_map(line).collect()
}

fn write_answers(path: &str, answers: &Answers) -> Result<()> {
    let mut text = String::new();
    for (seed, (gap, outcome)) in answers {
        let (rate, response, error) = (outcome.per_second, outcome.response_ns, outcome.error);
        writeln!(text, "{seed} {gap} {rate} {response} {error}")?;
    }
    Ok(fs::write(path, text)?)
}

/// A case judged.
struct Judged {
    class: cases::Class,
    error: f64,
}

/// Median and 95th percentile of the absolute errors.
fn summary(errors: &[f64]) -> String {
    let mut sorted: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
    sorted.sort_by(f64::total_cmp);
    let at = |share: f64| sorted[((sorted.len() - 1) as f64 * share).round() as usize] * 100.0;
    let bias = errors.iter().sum::<f64>() / errors.len() as f64 * 100.0;
    format!(
        "{:4} cases: median {:5.1} %, p95 {:6.1} %, bias {bias:+6.1} %",
        errors.len(),
        at(0.5),
        at(0.95)
    )
}

fn print_by(judged: &[Judged], name: &str, of: impl Fn(&cases::Class) -> &'static str) {
    let mut groups: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for case in judged {
        groups.entry(of(&case.class)).or_default().push(case.error);
    }
    println!("by {name}");
    for (group, errors) in groups {
        println!("  {group:20} {}", summary(&errors));
    }
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default: u64| match arguments.get(index) {
        Some(text) => text.parse::<u64>(),
        None => Ok(default),
    };
    let seeds = number(0, *cases::JUDGING.start())?..=number(1, *cases::JUDGING.end())?;
    let library = library()?;
    let mut answers = arguments
        .get(2)
        .map_or_else(Answers::new, |path| read_answers(path));
    let mut judged = Vec::new();
    let mut left_out = 0;
    for seed in seeds {
        let (case, load, outcome) = match answer(seed, &library, &mut answers) {
            Ok(answer) => answer,
            Err(error) => {
                println!("{seed} not emulated: {error}");
                left_out += 1;
                continue;
            }
        };
        let prediction = predict(&case.volume, &load)?;
        let error = if case.open.is_some() {
            prediction.response_ns / outcome.response_ns - 1.0
        } else {
            prediction.per_second / outcome.per_second - 1.0
        };
        if arguments.len() > 3 {
            let class = &case.class;
            println!(
                "{seed} {:+7.1} % {:.3} ms, {:.3} ms; +-{:.1} % {class:?} {load:?} {:?} {}",
                error * 100.0,
                prediction.response_ns / 1e6,
                outcome.response_ns / 1e6,
                outcome.error * 196.0,
                case.volume.shape,
                describe(&case),
            );
        }
        judged.push(Judged {
            class: case.class,
            error,
        });
    }
    if let Some(path) = arguments.get(2) {
        write_answers(path, &answers)?;
    }
    print_by(&judged, "disks", |class| class.disks);
    print_by(&judged, "layout", |class| class.layout);
    print_by(&judged, "pattern", |class| class.pattern);
    print_by(&judged, "direction", |class| class.direction);
    print_by(&judged, "arrivals", |class| class.arrivals);
    let errors: Vec<f64> = judged.iter().map(|case| case.error).collect();
    println!("all, {left_out} left out\n  {:20} {}", "", summary(&errors));
    Ok(())
}

/// The disks in a few words.
fn describe(case: &Case) -> String {
    let mut words: Vec<String> = Vec::new();
    for disk in &case.volume.disks {
        let link = disk.link.map_or(String::new(), |link| {
            format!(" linked {}/{}", link.rate, link.round_trip_ns)
        });
        let medium = match &disk.medium {
            Medium::Drive(profile) => format!(
                "{} {:?} {:?} {:?}x{} {:?} {}x{}",
                profile.name,
                profile.queue.scheduler,
                profile.queue.release,
                profile.cache.write_policy,
                profile.cache.write_segments,
                profile.cache.read_ahead,
                profile.cache.segments,
                profile.cache.segment_blocks,
            ),
            Medium::Capped(cap) => format!("{cap:?}"),
            Medium::Flash(flash) => format!("{flash:?}"),
            Medium::Server(server) => format!("{server:?}"),
        };
        words.push(medium + &link);
    }
    let count = words.len();
    words.dedup();
    format!("{count} x {}", words.join(" + "))
}
