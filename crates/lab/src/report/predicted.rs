//! The column "predicted": what formulas say of each arm, beside what was emulated.

use std::fmt::Write;

use super::text::{escaped, metric, number};
use crate::experiment::{Comparison, Experiment, Record, Summary, compare};

/// A table for an experiment; empty if nothing of it was run.
pub(super) fn table(experiment: &Experiment, records: &[Record]) -> String {
    let all = compare(experiment, records);
    if all.is_empty() {
        return String::new();
    }
    let mut out = String::from("<h3>Predicted by formula</h3>");
    if all.iter().any(|one| one.predicted.is_ok()) {
        out.push_str(
            "<div class=\"scroll\"><table><caption>Nothing in these predictions was fitted to \
             these runs; 95 % intervals are by the errors that predictions had \
             elsewhere</caption><thead><tr>\
             <th scope=\"col\">Layout, load, factors</th><th scope=\"col\">of</th>\
             <th scope=\"col\">predicted</th><th scope=\"col\">emulated</th>\
             <th scope=\"col\">error</th></tr></thead><tbody>",
        );
        for one in &all {
            row(&mut out, one);
        }
        out.push_str("</tbody></table></div>");
    }
    let _ = write!(out, "<p>{}</p>", words(&Summary::of(&all)));
    out
}

fn row(out: &mut String, one: &Comparison) {
    let Ok(found) = &one.predicted else {
        return;
    };
    let (name, unit) = metric(found.metric);
    let of = found.estimate;
    let emulated = one.emulated.map_or_else(|| "–".to_owned(), number);
    let error = one.error().map_or_else(|| "–".to_owned(), signed);
    let _ = write!(
        out,
        "<tr><th scope=\"row\">{}</th><td>{name}<br><small>{unit}</small></td>\
         <td>{}<br><small>{}–{}</small></td><td>{emulated}</td><td>{error}</td></tr>",
        escaped(&one.arm),
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
pub(super) fn section(experiments: &[Experiment], records: &[Record]) -> String {
    let mut all = Vec::new();
    for experiment in experiments {
        all.extend(compare(experiment, records));
    }
    if all.is_empty() {
        return String::new();
    }
    format!(
        "<section id=\"predicted\"><h2>Predicted and emulated</h2><p>Each arm that formulas can \
         answer has a prediction beside its emulation: requests per second where a number of \
         requests is outstanding, the mean response time where they come at a rate. {}</p>\
         </section>",
        words(&Summary::of(&all))
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
