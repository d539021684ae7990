//! The page.

use std::fmt::Write;

use super::control;
use super::measured::measured;
use super::predicted;
use super::seeds;
use super::short;
use super::study::section;
use super::text::escaped;
use super::verdicts::{summary, table};
use crate::error::Result;
use crate::experiment::{Comparison, Experiment, Read, compare, rows};

const STYLE: &str = include_str!("style.css");

/// The page of these results.
pub fn page(experiments: &[Experiment], results: &Read) -> Result<String> {
    let rows = rows(experiments, results)?;
    let mut out = format!(
        "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>What does each layer cost?</title><style>{STYLE}</style></head><body>\
         <a class=\"skip\" href=\"#verdicts\">To the verdicts</a>\
         <header><h1>What does each layer cost?</h1>\
         <p>Five documents say what logical volumes cost and gain, and contradict each other. \
         Here their experiments are run on emulated disks, in virtual time, through the mapping \
         that serves users.</p></header><main>"
    );
    let compared: Vec<Vec<Comparison>> = experiments
        .iter()
        .map(|experiment| compare(experiment, &results.records))
        .collect();
    let sections: Vec<(&Experiment, String)> = experiments
        .iter()
        .zip(&compared)
        .map(|(experiment, compared)| (experiment, section(experiment, results, compared)))
        .filter(|(_, text)| !text.is_empty())
        .collect();
    let control = control::section(experiments, &results.records);
    contents(&mut out, &sections, &control);
    let answers = short::table(&short::of(&rows));
    if !answers.is_empty() {
        let _ = write!(
            out,
            "<section id=\"short\"><h2>In short</h2>{answers}</section>"
        );
    }
    out.push_str(
        "<section><h2>What not to conclude</h2><ul>\
         <li>Nothing about a drive: <i>wd800bd-like</i> is fitted to data sheets, and capped disks \
         are limits without mechanics. Ratios of layouts are what is meant.</li>\
         <li>Nothing about the cost of software: a lookup is charged with the 20 ns that were \
         measured, loops and networks with what the layout states.</li>\
         <li>Nothing from what is undecided, has not been run, or waits.</li></ul></section>",
    );
    let _ = write!(
        out,
        "<section id=\"verdicts\"><h2>The verdicts</h2>{}<p>A claim is confirmed or refuted only \
         if the whole 95 % interval lies on one side; equivalent, if there is no difference that \
         matters. One refuted comparison refutes a claim.</p>{}</section>",
        summary(&rows),
        table(&rows)
    );
    let lab = seeds::Lab {
        experiments,
        results,
        compared: &compared,
    };
    out.push_str(&seeds::sections(&lab)?);
    out.push_str(&control);
    for (_, text) in &sections {
        out.push_str(text);
    }
    out.push_str(&predicted::section(&compared));
    out.push_str(&measured(results)?);
    origin(&mut out, &rest(experiments, &sections), results);
    out.push_str("</main></body></html>\n");
    Ok(out)
}

/// Where what stands.
fn contents(out: &mut String, sections: &[(&Experiment, String)], control: &str) {
    out.push_str(
        "<nav aria-label=\"Contents\"><a href=\"#verdicts\">The verdicts</a> \
         <a href=\"#seeds\">The documents' tables</a> ",
    );
    if !control.is_empty() {
        out.push_str("<a href=\"#control\">Controls</a> ");
    }
    for (experiment, _) in sections {
        let name = escaped(&experiment.name);
        let _ = write!(out, "<a href=\"#x-{name}\">{name}</a> ");
    }
    out.push_str("<a href=\"#measured\">Measured</a> <a href=\"#origin\">Origin</a></nav>");
}

/// The experiments that were not run: links of verdicts lead here.
fn rest(experiments: &[Experiment], sections: &[(&Experiment, String)]) -> String {
    let mut out = String::new();
    for experiment in experiments {
        let name = escaped(&experiment.name);
        if sections.iter().all(|(run, _)| run.name != experiment.name) {
            let _ = write!(
                out,
                "<li id=\"x-{name}\">{}: not run; <code>ashlar lab run {name}</code></li>",
                escaped(&experiment.title)
            );
        }
    }
    out
}

fn origin(out: &mut String, rest: &str, results: &Read) {
    let _ = write!(
        out,
        "<section id=\"origin\"><h2>Where these numbers come from</h2><p>{} runs.</p><ul>",
        results.records.len()
    );
    for session in &results.sessions {
        let _ = write!(
            out,
            "<li><code>{}</code>: version {}, first seed {}, on {} (virtual time does not depend \
             on it)</li>",
            escaped(&session.command),
            escaped(&session.version),
            session.seed,
            escaped(&session.machine)
        );
    }
    out.push_str(rest);
    for note in &results.notes {
        let _ = write!(out, "<li>{}</li>", escaped(note));
    }
    out.push_str("</ul></section>");
}
