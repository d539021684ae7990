//! The table of claims.

use std::fmt::Write;

use super::text::{escaped, metric, number, ratio};
use crate::experiment::{Evidence, Missing, Row, Standing};

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
        "<div class=\"scroll\"><table class=\"verdicts\"><caption>Every claim of the five \
         documents</caption>\
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
        list(&mut out, &row.evidence);
        out.push_str(&escaped(&row.reason));
        out.push_str("</td></tr>");
    }
    out.push_str("</tbody></table></div>");
    out
}

/// Comparisons that are listed openly; more are folded.
const OPEN_MAX: usize = 6;

/// What rules came to; many are folded behind their count.
pub(super) fn list(out: &mut String, all: &[Evidence]) {
    let folded = all.len() > OPEN_MAX;
    if folded {
        let words: Vec<String> = WORDS
            .iter()
            .map(|word| (word, all.iter().filter(|one| verdict(one) == *word).count()))
            .filter(|(_, count)| *count > 0)
            .map(|(word, count)| format!("{count} {word}"))
            .collect();
        let _ = write!(
            out,
            "<details><summary>{} comparisons: {}</summary>",
            all.len(),
            words.join(", ")
        );
    }
    for one in all {
        evidence(out, one);
    }
    if folded {
        out.push_str("</details>");
    }
}

/// The word for what a rule came to.
fn verdict(one: &Evidence) -> &'static str {
    match one.verdict {
        _ if one.interval.is_none() => "not run",
        verdict => Standing::Judged(verdict).word(),
    }
}

/// What was found, with its interval.
pub(super) fn finding(one: &Evidence) -> String {
    let rule = &one.rule;
    let (name, unit) = metric(&rule.metric);
    let kind = if let Some(group) = &rule.group {
        format!("{} of {name}", group.over().name())
    } else if rule.base.is_some() {
        format!("ratio of {name}")
    } else {
        format!("{name} {unit}")
    };
    let shown = if rule.base.is_some() { ratio } else { number };
    match one.interval {
        None => "not enough replicates".to_owned(),
        Some(found) => format!(
            "{} (95 %: {} to {}), {kind}",
            shown(found.estimate),
            shown(found.low),
            shown(found.high)
        ),
    }
}

/// One rule and what it came to, with a link to its experiment.
fn evidence(out: &mut String, one: &Evidence) {
    let (rule, word) = (&one.rule, verdict(one));
    let arm = match &rule.base {
        Some(base) => format!("{} over {base}", rule.other),
        None => rule.other.clone(),
    };
    let _ = write!(
        out,
        "<p class=\"e\"><a href=\"#x-{0}\" title=\"{arm}\">{0}</a>: {1}: {found}; holds \
         from {2} to {3}: <span class=\"{4}\">{word}</span>{missing}</p>",
        escaped(&one.experiment),
        escaped(&rule.what),
        number(rule.confirm.0),
        number(rule.confirm.1),
        class(word),
        arm = escaped(&arm),
        found = finding(one),
        missing = missing(one),
    );
}

/// What would decide what is undecided.
fn missing(one: &Evidence) -> String {
    match one.missing() {
        None => String::new(),
        Some(Missing::Runs(runs)) => {
            format!(" after {} runs; about {runs} would decide it", one.count)
        }
        Some(Missing::Sharper) => {
            ", between what confirms it and what refutes it: more runs do not decide it".to_owned()
        }
    }
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
