//! Charts of the report as pictures of their own, for documents.

use std::fmt::Write;

use super::chart::{LAYERS, TERMS, bars, dots};
use super::runs::{Seen, seen};
use super::text::{escaped, metric};
use crate::experiment::{Experiment, Record};
use crate::stats::Interval;

/// What is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drawing<'a> {
    /// A metric with its intervals.
    Values(&'a str),
    /// Where the time went: by layer, or by the terms of Eq. 1.
    Parts,
}

/// Colours for light and dark, as the page has them.
const STYLE: &str = ":root{--fg:#1b1f24;--soft:#5b6470;--line:#d5dae0;--dot:#0a58b5;--bg:#fff;\
--c0:#7b4fa3;--c1:#b0661b;--c2:#c2317a;--c3:#9aa4af;--c4:#1f77b4;--c5:#53a7d8;--c6:#1d8a5f}\
@media (prefers-color-scheme:dark){:root{--fg:#e6e9ed;--soft:#9da7b3;--line:#323a43;--dot:#7db7ff;\
--bg:#14171b;--c0:#b794dd;--c1:#e0a05a;--c2:#f07fb4;--c3:#6d7883;--c4:#4d9fe0;--c5:#8fcdf0;\
--c6:#56c596}}text{font:12px system-ui,sans-serif;fill:var(--fg)}.l{text-anchor:end}\
.t{text-anchor:middle;fill:var(--soft)}.v{fill:var(--soft)}.h{font-weight:600}\
.g{stroke:var(--line)}.i{stroke:var(--dot);stroke-width:2.5}.d{fill:var(--dot)}\
.b{fill:var(--bg)}.p0{fill:var(--c0)}.p1{fill:var(--c1)}.p2{fill:var(--c2)}.p3{fill:var(--c3)}\
.p4{fill:var(--c4)}.p5{fill:var(--c5)}.p6{fill:var(--c6)}";

/// Height of a line of the legend and of the title.
const LINE: f64 = 24.0;

/// A picture of the arms that any of `words` names, under a title; `None` if none of them was run.
pub fn picture(
    experiment: &Experiment,
    records: &[Record],
    drawing: Drawing<'_>,
    words: &[&str],
    title: &str,
) -> Option<String> {
    let arms: Vec<Seen<'_>> = seen(experiment, records)
        .into_iter()
        .filter(|seen| words.iter().any(|words| seen.arm.is_named(words)))
        .collect();
    if arms.is_empty() {
        return None;
    }
    let (chart, legend) = match drawing {
        Drawing::Values(name) => {
            let values: Vec<(String, Interval)> = arms
                .iter()
                .filter_map(|seen| Some((seen.name.clone(), seen.of(name)?)))
                .collect();
            (dots(title, metric(name).1, &values), String::new())
        }
        Drawing::Parts => {
            let program = arms.iter().any(|seen| seen.mean("processor_s") > 0.0);
            let (names, unit) = if program {
                (&TERMS, "s")
            } else {
                (&LAYERS, "µs")
            };
            let part = |seen: &Seen<'_>| (seen.name.clone(), names.map(|(of, _)| seen.mean(of)));
            let rows: Vec<(String, [f64; 7])> = arms.iter().map(part).collect();
            (bars(title, unit, names, &rows), legend(names))
        }
    };
    alone(&chart, &legend, title)
}

/// The legend in one line.
fn legend(names: &[(&str, &str); 7]) -> String {
    let mut out = String::new();
    let mut x = 8.0;
    for (index, (_, word)) in names.iter().enumerate() {
        if word.is_empty() {
            continue;
        }
        let _ = write!(
            out,
            "<rect class=\"p{index}\" x=\"{x:.0}\" y=\"28\" width=\"12\" height=\"12\"/>\
             <text x=\"{:.0}\" y=\"38\">{word}</text>",
            x + 16.0
        );
        x += 34.0 + 6.6 * word.chars().count() as f64;
    }
    out
}

/// The chart of a page as a file: with its name space, its colours, a title and the legend.
fn alone(chart: &str, legend: &str, title: &str) -> Option<String> {
    let inside = chart.get(chart.find('>')? + 1..chart.rfind("</svg>")?)?;
    let (_, after) = chart.split_once("viewBox=\"0 0 ")?;
    let (size, _) = after.split_once('"')?;
    let (width, height) = size.split_once(' ')?;
    let (width, height): (f64, f64) = (width.parse().ok()?, height.parse().ok()?);
    let top = if legend.is_empty() { LINE } else { 2.0 * LINE };
    let title = escaped(title);
    Some(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"{title}\" \
         viewBox=\"0 0 {width:.0} {all:.0}\" width=\"{width:.0}\" height=\"{all:.0}\">\
         <style>{STYLE}</style><rect class=\"b\" width=\"{width:.0}\" height=\"{all:.0}\"/>\
         <text class=\"h\" x=\"8\" y=\"16\">{title}</text>{legend}\
         <g transform=\"translate(0 {top:.0})\">{inside}</g></svg>\n",
        all = height + top
    ))
}
