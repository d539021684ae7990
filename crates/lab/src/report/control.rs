//! Controls: the same against the same, and layers whose cost is known.
//!
//! The emulation repeats itself exactly, so its noise is that of seeds: platters, places and
//! offsets that were drawn otherwise. The experiment `control` compares a disk with itself and with
//! two planted layers, one of 3 % and one of nothing, always under other seeds; its replicates are
//! cut into sessions, and each session is judged as a measurement of a real machine would be. For
//! every other experiment each arm is compared with itself: odd replicates over even ones.

use std::fmt::Write;

use super::runs::{Seen, main_metric, seen};
use super::text::{escaped, metric, number};
use super::verdicts::class;
use crate::experiment::{Experiment, Record};
use crate::stats::{
    Better, Bootstrap, Comparison, Interval, Judge, Judgement, Noise, Pair, Zone, hodges_lehmann,
    log_ratios, real,
};

/// The experiment of planted layers.
const CONTROL: &str = "control";
/// Layouts of it: the base, and layers with what they have to be called.
const BASE: &str = "bare";
const LAYERS: [(&str, &str, Comparison); 2] = [
    ("dear", "a layer of 3 %", Comparison::Worse),
    ("free", "a layer of nothing", Comparison::Equivalent),
];
/// Pairs of a session; each takes two replicates.
const PAIRS: usize = 12;
/// Sessions that have to be right, of every twenty.
const RIGHT_OF_20: usize = 19;
/// The zone that sessions are judged by.
const ZONE: f64 = 0.01;
/// Pairs of an experiment's own control at most; more change little and take long.
const OWN_PAIRS_MAX: usize = 48;
const RESAMPLES: usize = 1000;

/// The section; empty if nothing was run.
pub(super) fn section(experiments: &[Experiment], records: &[Record]) -> String {
    let mut out = String::new();
    if let Some(experiment) = experiments.iter().find(|one| one.name == CONTROL) {
        planted(&mut out, &seen(experiment, records));
    }
    own(&mut out, experiments, records);
    if out.is_empty() {
        return out;
    }
    format!(
        "<section id=\"control\"><h2>Controls: the same against the same</h2><p>The emulation \
         repeats itself to the nanosecond, so its noise is that of seeds: other phases of \
         platters, other places, other offsets. A verdict is worth something only if the same \
         against the same, under other seeds, comes out as equal.</p>{out}</section>"
    )
}

/// The sessions of planted layers.
fn planted(out: &mut String, arms: &[Seen<'_>]) {
    let times = |layout: &str| {
        let arm = arms.iter().find(|seen| seen.arm.layout_name == layout);
        arm.map(|seen| seen.values("mean_us")).unwrap_or_default()
    };
    let base = times(BASE);
    let mut rows = String::new();
    for (layout, words, expected) in LAYERS {
        let found = sessions(&base, &times(layout));
        if found.is_empty() {
            return;
        }
        let right = found
            .iter()
            .filter(|one| one.comparison == expected)
            .count();
        let word = if right * 20 >= RIGHT_OF_20 * found.len() {
            "confirmed"
        } else {
            "refuted"
        };
        let quiet = found.iter().filter(|one| one.noise == Noise::Quiet).count();
        let _ = write!(
            rows,
            "<tr><th scope=\"row\">{words}</th><td>{}</td><td>{right} of {}</td><td>{quiet} of \
             {}</td><td>{}</td><td>{}</td><td class=\"{}\">{word}</td></tr>",
            called(expected),
            found.len(),
            found.len(),
            range(found.iter().map(|one| one.ratio)),
            range(found.iter().map(|one| one.control)),
            class(word)
        );
    }
    let _ = write!(
        out,
        "<h3>Planted layers</h3><p>Each session has {PAIRS} pairs with their control, and a zone \
         of {} %. At least {RIGHT_OF_20} of 20 sessions have to be right. <a \
         href=\"#x-{CONTROL}\">What ran</a>.</p><div class=\"scroll\"><table><thead><tr>\
         <th scope=\"col\">Planted</th><th scope=\"col\">Has to be called</th>\
         <th scope=\"col\">Right</th><th scope=\"col\">Control quiet</th>\
         <th scope=\"col\">Ratios found</th><th scope=\"col\">Ratios of the control</th>\
         <th scope=\"col\">19 of 20</th></tr></thead><tbody>{rows}</tbody></table></div>",
        number(ZONE * 100.0)
    );
}

/// The judgement of each session: base and layer, and base and base, never of one seed.
fn sessions(base: &[f64], layer: &[f64]) -> Vec<Judgement> {
    let Ok(zone) = Zone::of_share(ZONE) else {
        return Vec::new();
    };
    let judge = Judge {
        zone,
        better: Better::Lower,
        bootstrap: Bootstrap {
            resamples: RESAMPLES,
            ..Bootstrap::default()
        },
    };
    let halves = |first: &[f64], second: &[f64]| -> Vec<Pair> {
        let both = first.chunks_exact(2).zip(second.chunks_exact(2));
        let pair = |(one, two): (&[f64], &[f64])| Pair {
            base: one[0],
            other: two[1],
        };
        both.map(pair).collect()
    };
    let sessions = base
        .chunks_exact(2 * PAIRS)
        .zip(layer.chunks_exact(2 * PAIRS));
    let judged = |(base, layer): (&[f64], &[f64])| {
        let (pairs, control) = (halves(base, layer), halves(base, base));
        judge.judge(&pairs, &control).ok()
    };
    sessions.filter_map(judged).collect()
}

/// Each experiment's own control.
fn own(out: &mut String, experiments: &[Experiment], records: &[Record]) {
    let mut rows = String::new();
    for experiment in experiments.iter().filter(|one| one.name != CONTROL) {
        let arms = seen(experiment, records);
        let main = main_metric(experiment, &arms);
        let Some((found, pairs)) = against_itself(&arms, main) else {
            continue;
        };
        let holds = found.low <= 1.0 && 1.0 <= found.high;
        let word = if holds { "equal" } else { "differs" };
        let _ = write!(
            rows,
            "<tr><th scope=\"row\"><a href=\"#x-{name}\">{name}</a></th><td>{}</td><td>{pairs}</td>\
             <td>{:.4} ({:.4} to {:.4})</td><td>{word}</td></tr>",
            metric(main).0,
            found.estimate,
            found.low,
            found.high,
            name = escaped(&experiment.name),
        );
    }
    if rows.is_empty() {
        return;
    }
    let _ = write!(
        out,
        "<h3>Every arm against itself</h3><p>Odd replicates over even ones, all arms together. \
         One of twenty 95 % intervals is expected to miss 1.</p><div class=\"scroll\"><table>\
         <thead><tr><th scope=\"col\">Experiment</th><th scope=\"col\">Metric</th>\
         <th scope=\"col\">Pairs</th><th scope=\"col\">Ratio (95 %)</th>\
         <th scope=\"col\">With 1</th></tr></thead><tbody>{rows}</tbody></table></div>"
    );
}

/// The ratio of odd over even replicates, and of how many pairs.
fn against_itself(arms: &[Seen<'_>], metric: &str) -> Option<(Interval, usize)> {
    let mut pairs = Vec::new();
    for seen in arms {
        let values = seen.values(metric);
        pairs.extend(values.chunks_exact(2).map(|two| Pair {
            base: two[0],
            other: two[1],
        }));
    }
    // What takes no time and is the same for every seed has nothing to compare.
    pairs.retain(|pair| pair.base > 0.0 && pair.other > 0.0);
    let step = pairs.len().div_ceil(OWN_PAIRS_MAX).max(1);
    let pairs: Vec<Pair> = pairs.into_iter().step_by(step).collect();
    let bootstrap = Bootstrap {
        resamples: RESAMPLES,
        ..Bootstrap::default()
    };
    let logs = log_ratios(&pairs).ok()?;
    let [found] = bootstrap.intervals(&logs, hodges_lehmann, [0.95]).ok()?;
    Some((found.map(real::exp), pairs.len()))
}

fn range(ratios: impl Iterator<Item = Interval>) -> String {
    let (low, high) = ratios.fold((f64::INFINITY, 0.0_f64), |(low, high), one| {
        (low.min(one.estimate), high.max(one.estimate))
    });
    format!("{low:.4} to {high:.4}")
}

fn called(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Better => "better",
        Comparison::Worse => "worse",
        Comparison::Equivalent => "equivalent",
        Comparison::Undecided => "undecided",
    }
}
