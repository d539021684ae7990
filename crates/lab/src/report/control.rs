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
    Better, Bootstrap, Comparison, Interval, Judge, Judgement, Noise, Pair, Zone, median,
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
    // The layer's replicates are another session's, so that its noise is not the control's.
    let others = layer.chunks_exact(2 * PAIRS).cycle().skip(1);
    let sessions = base.chunks_exact(2 * PAIRS).zip(others);
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
        let spreads = each(&arms, main, |values| {
            let mean = crate::stats::mean(values).filter(|mean| *mean > 0.0)?;
            Some(crate::stats::deviation(values)? / mean * 100.0)
        });
        let ratios = each(&arms, main, |values| {
            let half = |start: usize| {
                let own: Vec<f64> = values.iter().skip(start).step_by(2).copied().collect();
                crate::stats::mean(&own).filter(|mean| *mean > 0.0)
            };
            Some(half(1)? / half(0)?)
        });
        let (Some(spread), Some(ratio)) = (median(&spreads), median(&ratios)) else {
            continue;
        };
        let most = spreads.iter().copied().fold(0.0, f64::max);
        let _ = write!(
            rows,
            "<tr><th scope=\"row\"><a href=\"#x-{name}\">{name}</a></th><td>{}</td><td>{}</td>\
             <td>{ratio:.4}</td><td>{}</td><td>{}</td></tr>",
            metric(main).0,
            spreads.len(),
            number(spread),
            number(most),
            name = escaped(&experiment.name),
        );
    }
    if rows.is_empty() {
        return;
    }
    let _ = write!(
        out,
        "<h3>Every arm against itself</h3><p>Odd replicates over even ones, and how much the \
         replicates of an arm differ. The arms of an experiment have the same seeds, so that a \
         ratio of two arms may be known better than either.</p><div class=\"scroll\"><table>\
         <thead><tr><th scope=\"col\">Experiment</th><th scope=\"col\">Metric</th>\
         <th scope=\"col\">Arms</th><th scope=\"col\">Odd over even, median</th>\
         <th scope=\"col\">Deviation, %, median</th><th scope=\"col\">Largest</th></tr></thead>\
         <tbody>{rows}</tbody></table></div>"
    );
}

/// Something of each arm that has at least two replicates.
fn each(arms: &[Seen<'_>], metric: &str, of: impl Fn(&[f64]) -> Option<f64>) -> Vec<f64> {
    let values = arms.iter().map(|seen| seen.values(metric));
    let two = values.filter(|values| values.len() > 1);
    two.filter_map(|values| of(&values)).collect()
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
