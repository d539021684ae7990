//! A section for each experiment.

use std::fmt::Write;

use super::chart::{LAYERS, TERMS, bars, dots};
use super::configuration::words;
use super::predicted;
use super::runs::{Seen, main_metric, seen};
use super::seeds::again;
use super::surface::{ratios, surface};
use super::text::{cell, escaped, metric};
use super::verdicts::list;
use crate::experiment::{Comparison, Evidence, Experiment, Read, judge};
use crate::stats::Interval;

/// Columns of the table, besides the arm.
const COLUMNS: [&str; 8] = [
    "iops",
    "megabytes",
    "elapsed_s",
    "mean_us",
    "p99_us",
    "outstanding",
    "hits_percent",
    "parts",
];

/// The section, with the predictions of its arms; empty if nothing of the experiment was run.
pub(super) fn section(experiment: &Experiment, results: &Read, compared: &[Comparison]) -> String {
    let arms = seen(experiment, &results.records);
    if arms.is_empty() {
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
    let evidence = judge(experiment, &results.records);
    claims(&mut out, &evidence);
    let main = main_metric(experiment, &arms);
    let (name, unit) = metric(main);
    let values: Vec<(String, Interval)> = arms
        .iter()
        .filter_map(|seen| Some((seen.name.clone(), seen.of(main)?)))
        .collect();
    let title = format!("{}: {name}, {unit}, with 95 % intervals", experiment.title);
    let _ = write!(
        out,
        "<h3>{name}, {unit}</h3><div class=\"scroll\">{}</div>",
        dots(&title, unit, &values)
    );
    parts(&mut out, experiment, &arms);
    let mut surfaces = String::new();
    surface(&mut surfaces, &arms, main);
    ratios(&mut surfaces, &evidence, &experiment.arms);
    if !surfaces.is_empty() {
        let _ = write!(out, "<h3>Surfaces</h3>{surfaces}");
    }
    table(&mut out, &arms);
    out.push_str(&predicted::table(compared));
    repeat(&mut out, experiment, &arms);
    out.push_str("</section>");
    out
}

/// What its rules came to, by claim.
fn claims(out: &mut String, evidence: &[Evidence]) {
    let mut at = 0;
    while let Some(first) = evidence.get(at) {
        let claim = &first.rule.claim;
        let run = evidence[at..]
            .iter()
            .take_while(|one| one.rule.claim == *claim);
        let count = run.count();
        let id = escaped(claim);
        let _ = write!(out, "<div class=\"claim\"><a href=\"#{id}\">{id}</a><div>");
        list(out, &evidence[at..at + count]);
        out.push_str("</div></div>");
        at += count;
    }
}

/// Where the time went: of requests by layer, of a program by the terms of Eq. 1.
fn parts(out: &mut String, experiment: &Experiment, arms: &[Seen<'_>]) {
    let program = arms.iter().any(|seen| seen.mean("processor_s") > 0.0);
    let (names, unit, what) = if program {
        (&TERMS, "s", "Where the time of the program goes, s")
    } else {
        (&LAYERS, "µs", "Where the time of a request goes, µs")
    };
    let part = |seen: &Seen<'_>| (seen.name.clone(), names.map(|(value, _)| seen.mean(value)));
    let rows: Vec<(String, [f64; 7])> = arms.iter().map(part).collect();
    let title = format!("{}: {what}", experiment.title);
    let _ = write!(
        out,
        "<h3>{what}</h3>{}<div class=\"scroll\">{}</div>",
        legend(names),
        bars(&title, unit, names, &rows)
    );
    if program {
        shares(out, &rows);
        return;
    }
    out.push_str(
        "<p class=\"n\">The head's times hold what it does for reading ahead and writing back, \
         too, so that they can exceed what a request waits. Parts of a request that are at \
         several disks count each.</p>",
    );
}

/// The terms of Eq. 1 as shares of the time.
fn shares(out: &mut String, rows: &[(String, [f64; 7])]) {
    out.push_str(
        "<div class=\"scroll\"><table class=\"numbers\"><caption>Shares of the time, in per cent\
         </caption><thead><tr><th scope=\"col\">Layout, load, factors</th>",
    );
    let named = || {
        TERMS
            .iter()
            .enumerate()
            .filter(|(_, (_, word))| !word.is_empty())
    };
    for (_, (_, word)) in named() {
        let _ = write!(out, "<th scope=\"col\">{word}</th>");
    }
    out.push_str("</tr></thead><tbody>");
    for (name, parts) in rows {
        let all: f64 = parts.iter().sum();
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", escaped(name));
        for (index, _) in named() {
            let share = parts[index] * 100.0 / all.max(1e-9);
            let _ = write!(out, "<td>{share:.1}</td>");
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
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

/// A column of the table: its heading and its cells.
type Column = (String, Vec<Option<Interval>>);

fn table(out: &mut String, arms: &[Seen<'_>]) {
    let mut columns: Vec<Column> = Vec::new();
    let mut add = |name: &str, unit: &str, cells: Vec<Option<Interval>>| {
        if cells
            .iter()
            .any(|cell| cell.is_some_and(|found| found.high > 0.0))
        {
            columns.push((format!("{name}<br><small>{unit}</small>"), cells));
        }
    };
    for column in COLUMNS {
        let (name, unit) = metric(column);
        add(
            name,
            unit,
            arms.iter().map(|seen| seen.of(column)).collect(),
        );
    }
    out.push_str(
        "<h3>Numbers</h3><div class=\"scroll\"><table class=\"numbers\"><caption>Medians of the \
         replicates (Hodges-Lehmann), with 95 % intervals; outstanding requests by Little's law\
         </caption><thead><tr><th scope=\"col\">Layout, load, factors</th><th scope=\"col\">n</th>",
    );
    for (name, _) in &columns {
        let _ = write!(out, "<th scope=\"col\">{name}</th>");
    }
    out.push_str("<th scope=\"col\">Seeds, configuration</th></tr></thead><tbody>");
    for (index, seen) in arms.iter().enumerate() {
        let count = seen.runs.len();
        let _ = write!(
            out,
            "<tr><th scope=\"row\">{}</th><td>{count}</td>",
            escaped(&seen.name)
        );
        for (_, cells) in &columns {
            cell(out, cells[index]);
        }
        let first = seen.seed();
        let _ = write!(
            out,
            "<td><small>{first}–{}<br>{:016x}</small></td></tr>",
            first + (count as u64).saturating_sub(1),
            seen.arm.hash
        );
    }
    out.push_str("</tbody></table></div>");
}

/// What to type to see the same, and what exactly ran.
fn repeat(out: &mut String, experiment: &Experiment, arms: &[Seen<'_>]) {
    let command = again(experiment, arms).unwrap_or_default();
    let _ = write!(
        out,
        "<p>Again: <code>{command}</code></p><details><summary>What exactly ran</summary>\
         <div class=\"scroll\"><table><thead><tr><th scope=\"col\">Configuration</th>\
         <th scope=\"col\">Layout</th><th scope=\"col\">Load</th></tr></thead><tbody>"
    );
    for seen in arms {
        let _ = write!(
            out,
            "<tr><th scope=\"row\">{:016x}<br><small>{}</small></th><td>{}</td><td><pre>{}</pre>\
             </td></tr>",
            seen.arm.hash,
            escaped(&seen.name),
            escaped(&words(&seen.arm.layout)),
            escaped(seen.arm.job_file.trim_end())
        );
    }
    let _ = write!(
        out,
        "</tbody></table></div><p>The experiment, <code>{}.toml</code>:</p><pre>{}</pre></details>",
        escaped(&experiment.name),
        escaped(&experiment.text)
    );
}
