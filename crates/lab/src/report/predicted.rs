//! The column "predicted": what formulas say of each arm, beside what was emulated.

use std::fmt::Write;

use super::text::{escaped, metric, number};
use crate::experiment::{Comparison, Predicted, Summary};

/// A table of the arms of an experiment; empty if nothing of it was run.
pub(super) fn table(all: &[Comparison]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let mut out = String::from("<h3>Predicted by formula</h3>");
    if all.iter().any(|one| one.predicted.is_ok()) {
        out.push_str(
            "<div class=\"scroll\"><table><caption>Nothing in these predictions was fitted to \
             these runs; 95 % intervals are by the errors that predictions had \
             elsewhere, of PostMark by those of its three tests on one partition</caption>\
             <thead><tr>\
             <th scope=\"col\">Layout, load, factors</th><th scope=\"col\">of</th>\
             <th scope=\"col\">predicted</th><th scope=\"col\">emulated</th>\
             <th scope=\"col\">error</th></tr></thead><tbody>",
        );
        for one in all {
            row(&mut out, one);
        }
        out.push_str("</tbody></table></div>");
    }
    let _ = write!(out, "<p>{}</p>", both(all));
    out
}

/// How good predictions are: of requests and of programs apart.
fn both<'a>(all: impl IntoIterator<Item = &'a Comparison>) -> String {
    let all = all.into_iter();
    let (programs, requests): (Vec<_>, Vec<_>) = all.partition(|one| one.is_program());
    let mut out = words(&Summary::of(requests));
    if !programs.is_empty() {
        let _ = write!(out, " Programs: {}", words(&Summary::of(programs)));
    }
    out
}

fn row(out: &mut String, one: &Comparison) {
    let Ok(found) = &one.predicted else {
        return;
    };
    cells(out, &one.arm, *found, one.emulated);
    for (term, emulated) in &one.terms {
        cells(out, &one.arm, *term, *emulated);
    }
}

fn cells(out: &mut String, arm: &str, found: Predicted, emulated: Option<f64>) {
    let (name, unit) = metric(found.metric);
    let of = found.estimate;
    let seen = emulated.filter(|value| *value > 0.0);
    let error = seen.map_or_else(|| "–".to_owned(), |seen| signed(of.value / seen - 1.0));
    let emulated = emulated.map_or_else(|| "–".to_owned(), number);
    let _ = write!(
        out,
        "<tr><th scope=\"row\">{}</th><td>{name}<br><small>{unit}</small></td>\
         <td>{}<br><small>{}–{}</small></td><td>{emulated}</td><td>{error}</td></tr>",
        escaped(arm),
        number(of.value),
        number(of.low),
        number(of.high),
    );
}

/// A share as signed per cent.
fn signed(share: f64) -> String {
    let percent = share * 100.0;
    let sign = if percent < 0.0 { "−" } else { "+" };
    format!("{sign}{:.1} %", percent.abs())
}

/// How good the predictions of all experiments are, as a section.
pub(super) fn section(experiments: &[Vec<Comparison>]) -> String {
    if experiments.iter().all(Vec::is_empty) {
        return String::new();
    }
    format!(
        "<section id=\"predicted\"><h2>Predicted and emulated</h2><p>Each arm that formulas can \
         answer has a prediction beside its emulation: requests per second where a number of \
         requests is outstanding, the mean response time where they come at a rate, the time of \
         PostMark and the terms of Eq. 1. {}</p></section>",
        both(experiments.iter().flatten())
    )
}

/// The summary in sentences.
fn words(summary: &Summary) -> String {
    let mut out = String::new();
    if summary.count > 0 {
        let _ = write!(
            out,
            "{} arms were predicted: median error {:.1} %, 95th percentile {:.1} %; {} of the \
             emulations lie in the predicted 95 % interval.",
            summary.count,
            summary.median * 100.0,
            summary.p95 * 100.0,
            summary.inside,
        );
    }
    for (reason, count) in &summary.without {
        let arms = if *count == 1 { "arm has" } else { "arms have" };
        let reason = escaped(reason);
        let _ = write!(out, " {count} {arms} no prediction: {reason}.");
    }
    out
}
