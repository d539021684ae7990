//! A section for each experiment.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::chart::{LAYERS, TERMS, bars, dots};
use super::predicted;
use super::text::{escaped, metric, number};
use super::verdicts::evidence;
use crate::experiment::{Experiment, Record, interval, judge};
use crate::stats::Interval;

/// Columns of the table, besides the arm.
const COLUMNS: [&str; 6] = [
    "iops",
    "megabytes",
    "mean_us",
    "p99_us",
    "outstanding",
    "parts",
];

/// The section; empty if nothing of the experiment was run.
pub(super) fn section(experiment: &Experiment, records: &[Record]) -> String {
    let runs = runs(experiment, records);
    if runs.is_empty() {
        return String::new();
    }
    let mut out = format!(
        "<section id=\"x-{name}\"><h2>{title}</h2>",
        name = escaped(&experiment.name),
        title = escaped(&experiment.title)
    );
    for paragraph in experiment.about.split("\n\n") {
        let _ = write!(out, "<p>{}</p>", escaped(paragraph));
    }
    for one in judge(experiment, records) {
        let claim = escaped(&one.rule.claim);
        let _ = write!(out, "<p class=\"c\"><a href=\"#{claim}\">{claim}</a></p>");
        evidence(&mut out, &one);
    }
    let main = main_metric(experiment);
    let (name, unit) = metric(main);
    let values: Vec<(String, Interval)> = runs
        .iter()
        .filter_map(|(arm, runs)| Some((arm.clone(), of(runs, main)?)))
        .collect();
    let title = format!("{}: {name}, {unit}, with 95 % intervals", experiment.title);
    let _ = write!(
        out,
        "<h3>{name}, {unit}</h3>{}",
        dots(&title, unit, &values)
    );
    parts(&mut out, experiment, &runs);
    table(&mut out, &runs);
    out.push_str(&predicted::table(experiment, records));
    repeat(&mut out, experiment, &runs);
    out.push_str("</section>");
    out
}

/// Where the time went: of requests by layer, of a program by the terms of Eq. 1.
fn parts(out: &mut String, experiment: &Experiment, runs: &Runs<'_>) {
    let program = runs.iter().any(|(_, runs)| mean(runs, "processor_s") > 0.0);
    let (names, unit, what) = if program {
        (&TERMS, "s", "Where the time of the program goes, s")
    } else {
        (&LAYERS, "µs", "Where the time of a request goes, µs")
    };
    let part = |(arm, runs): &(String, Vec<&Record>)| {
        (arm.clone(), names.map(|(value, _)| mean(runs, value)))
    };
    let rows: Vec<(String, [f64; 7])> = runs.iter().map(part).collect();
    let title = format!("{}: {what}", experiment.title);
    let _ = write!(out, "<h3>{what}</h3>{}", legend(names));
    out.push_str(&bars(&title, unit, names, &rows));
    if !program {
        out.push_str(
            "<p class=\"n\">The head's times hold what it does for reading ahead and writing back, \
             too, so that they can exceed what a request waits. Parts of a request that are at \
             several disks count each.</p>",
        );
    }
}

type Runs<'a> = Vec<(String, Vec<&'a Record>)>;

/// The present runs of each arm, in the order of the experiment.
fn runs<'a>(experiment: &Experiment, records: &'a [Record]) -> Runs<'a> {
    let mut by_arm: BTreeMap<&str, BTreeMap<u64, &Record>> = BTreeMap::new();
    for record in records {
        if record.experiment == experiment.name {
            let arm = by_arm.entry(&record.arm).or_default();
            arm.insert(record.replicate, record);
        }
    }
    let arm = |arm: &crate::experiment::Arm| {
        let runs = by_arm.get(arm.key().as_str())?.values();
        let present: Vec<&Record> = runs.filter(|run| run.config == arm.hash).copied().collect();
        (!present.is_empty()).then(|| (arm.key(), present))
    };
    experiment.arms.iter().filter_map(arm).collect()
}

fn of(runs: &[&Record], metric: &str) -> Option<Interval> {
    let values: Vec<f64> = runs
        .iter()
        .filter_map(|run| run.values.get(metric).copied())
        .collect();
    let only = *values.first()?;
    let point = Interval {
        low: only,
        estimate: only,
        high: only,
    };
    Some(interval(&values).unwrap_or(point))
}

fn mean(runs: &[&Record], metric: &str) -> f64 {
    let values: Vec<f64> = runs
        .iter()
        .filter_map(|run| run.values.get(metric).copied())
        .collect();
    crate::stats::mean(&values).unwrap_or(0.0)
}

/// The metric that most rules look at.
fn main_metric(experiment: &Experiment) -> &str {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for rule in &experiment.rules {
        *counts.entry(&rule.metric).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    most.map_or("iops", |(name, _)| name)
}

fn legend(names: &[(&str, &str); 7]) -> String {
    let mut out = String::from("<ul class=\"legend\">");
    for (index, (_, word)) in names.iter().enumerate() {
        if word.is_empty() {
            continue;
        }
        let _ = write!(
            out,
            "<li><svg width=\"12\" height=\"12\" aria-hidden=\"true\">\
            <rect class=\"p{index}\" width=\"12\" height=\"12\"/></svg> {word}</li>"
        );
    }
    out.push_str("</ul>");
    out
}

fn table(out: &mut String, runs: &Runs<'_>) {
    out.push_str(
        "<div class=\"scroll\"><table><caption>Medians of the replicates (Hodges-Lehmann), with \
         95 % intervals; outstanding requests by Little's law</caption><thead><tr>\
         <th scope=\"col\">Layout, load, factors</th><th scope=\"col\">n</th>",
    );
    for column in COLUMNS {
        let (name, unit) = metric(column);
        let _ = write!(
            out,
            "<th scope=\"col\">{name}<br><small>{unit}</small></th>"
        );
    }
    out.push_str("</tr></thead><tbody>");
    for (arm, runs) in runs {
        let _ = write!(
            out,
            "<tr><th scope=\"row\">{}</th><td>{}</td>",
            escaped(arm),
            runs.len()
        );
        for column in COLUMNS {
            let _ = match of(runs, column) {
                Some(one) => write!(
                    out,
                    "<td>{}<br><small>{}–{}</small></td>",
                    number(one.estimate),
                    number(one.low),
                    number(one.high)
                ),
                None => write!(out, "<td>–</td>"),
            };
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
}

/// What to type to see the same, and what exactly ran.
fn repeat(out: &mut String, experiment: &Experiment, runs: &Runs<'_>) {
    let seeds = runs
        .iter()
        .flat_map(|(_, runs)| runs.iter().map(|run| run.seed));
    let (first, count) = (
        seeds.min().unwrap_or(1),
        runs.iter().map(|(_, runs)| runs.len()).max(),
    );
    let _ = write!(
        out,
        "<p>Again: <code>ashlar lab run {} --seed {first} --replicates {}</code></p>\
         <details><summary>What exactly ran</summary>",
        escaped(&experiment.name),
        count.unwrap_or(1)
    );
    for arm in &experiment.arms {
        let layout = format!("{:?}", arm.layout);
        let _ = write!(
            out,
            "<h4>{}</h4><p>configuration {:016x}</p><pre>{}</pre><pre>{}</pre>",
            escaped(&arm.key()),
            arm.hash,
            escaped(&arm.job_file),
            escaped(&short(&layout)),
        );
    }
    out.push_str("</details>");
}

/// A description without the tables of zones, which are the profile's.
fn short(text: &str) -> String {
    const LONG: usize = 1500;
    let end = text.char_indices().nth(LONG).map(|(at, _)| at);
    end.map_or_else(|| text.to_owned(), |at| format!("{} …", &text[..at]))
}
