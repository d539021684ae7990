//! The table of claims.

use std::fmt::Write;

use super::text::{escaped, metric, number};
use crate::experiment::{Evidence, Row, Standing};

/// The words that are counted, in their order.
const WORDS: [&str; 6] = [
    "confirmed",
    "refuted",
    "equivalent",
    "undecided",
    "not run",
    "waits",
];

/// How many claims stand where.
pub(super) fn summary(rows: &[Row]) -> String {
    let mut out = String::from("<ul class=\"counts\">");
    for word in WORDS {
        let count = rows
            .iter()
            .filter(|row| row.standing.word() == word)
            .count();
        let class = class(word);
        let _ = write!(out, "<li class=\"{class}\"><b>{count}</b> {word}</li>");
    }
    out.push_str("</ul>");
    out
}

/// A row for each claim.
pub(super) fn table(rows: &[Row]) -> String {
    let mut out = String::from(
        "<div class=\"scroll\"><table><caption>Every claim of the five documents</caption>\
         <thead><tr><th scope=\"col\">Claim</th><th scope=\"col\">What it says</th>\
         <th scope=\"col\">Verdict</th><th scope=\"col\">Evidence</th></tr></thead><tbody>",
    );
    for row in rows {
        let word = row.standing.word();
        let _ = write!(
            out,
            "<tr id=\"{id}\"><th scope=\"row\">{id}<br><small>seed {seed}</small></th>\
             <td>{text}</td><td class=\"{class}\">{word}</td><td>",
            id = escaped(&row.claim.id),
            seed = escaped(&row.claim.seed),
            text = escaped(&row.claim.text),
            class = class(word),
        );
        if row.standing != Standing::NotRun && row.evidence.len() > 6 {
            let _ = write!(
                out,
                "<details><summary>{} comparisons</summary>",
                row.evidence.len()
            );
        }
        for one in &row.evidence {
            evidence(&mut out, one);
        }
        if row.standing != Standing::NotRun && row.evidence.len() > 6 {
            out.push_str("</details>");
        }
        out.push_str(&escaped(&row.reason));
        out.push_str("</td></tr>");
    }
    out.push_str("</tbody></table></div>");
    out
}

/// One rule and what it came to, with a link to its experiment.
pub(super) fn evidence(out: &mut String, one: &Evidence) {
    let rule = &one.rule;
    let word = match one.verdict {
        _ if one.interval.is_none() => "not run",
        verdict => Standing::Judged(verdict).word(),
    };
    let found = one.interval.map_or_else(
        || "not enough replicates".to_owned(),
        |interval| {
            format!(
                "{} (95 %: {} to {})",
                number(interval.estimate),
                number(interval.low),
                number(interval.high)
            )
        },
    );
    let (name, unit) = metric(&rule.metric);
    let kind = if rule.base.is_some() {
        format!("ratio of {name}")
    } else {
        format!("{name} {unit}")
    };
    let _ = write!(
        out,
        "<p class=\"e\"><a href=\"#x-{0}\">{0}</a>: {1}: <b>{found}</b>, {kind}; holds from {2} to \
         {3}: <span class=\"{4}\">{word}</span></p>",
        escaped(&one.experiment),
        escaped(&rule.what),
        number(rule.confirm.0),
        number(rule.confirm.1),
        class(word),
    );
}

/// The class that colours a word; what is not decided has no colour.
pub(super) fn class(word: &str) -> &'static str {
    match word {
        "confirmed" => "yes",
        "refuted" => "no",
        "equivalent" => "same",
        _ => "open",
    }
}
