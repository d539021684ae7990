//! The short version: what people ask first, with what the results say.
//!
//! A question is answered by claims. It is shown with the verdict and the first comparison that
//! led to it; questions whose experiments were not run are left out.

use std::fmt::Write;

use super::text::escaped;
use super::verdicts::{class, finding};
use crate::disk::error::Result;
use crate::experiment::{Experiment, Record, Row, Standing, rows};

/// Questions, and the claims that answer them.
const QUESTIONS: [(&str, &[&str]); 6] = [
    (
        "Is a linear volume on one disk slower than the disk?",
        &["B.1", "A.H1"],
    ),
    ("Does the number of segments cost time?", &["A.H3"]),
    ("Do shuffled segments?", &["A.X4"]),
    ("Does PostMark run 63 % faster without LVM?", &["A.T1a"]),
    (
        "Do two striped disks double the requests per second?",
        &["D.1"],
    ),
    (
        "Does a linear volume over six disks stay as slow as one?",
        &["D.2"],
    ),
];

/// The questions that these runs answer, as a table of HTML; empty if they answer none.
pub fn short(experiments: &[Experiment], records: &[Record]) -> Result<String> {
    Ok(table(&rows(experiments, records)?))
}

/// What the table looks like, for a page that has no style for it yet.
pub const SHORT_STYLE: &str = "
.short td, .short th { padding: .35rem .6rem; vertical-align: top; text-align: left; }
.short .yes, .short .no, .short .same { font-weight: 600; }
.short .yes { color: light-dark(#0b6b3a, #7fdca4); } .short .no { color: light-dark(#9c1f1f, #ff9d95); }
.short .same { color: light-dark(#24527a, #9cc9f5); } .short .open { color: light-dark(#5b6470, #9da7b3); }
";

pub(super) fn table(rows: &[Row]) -> String {
    let mut body = String::new();
    for (question, claims) in QUESTIONS {
        let known = |id: &&str| rows.iter().find(|row| row.claim.id == **id);
        for row in claims.iter().filter_map(|id| known(id)) {
            line(&mut body, question, row);
        }
    }
    if body.is_empty() {
        return body;
    }
    format!(
        "<div class=\"scroll\"><table class=\"short\"><thead><tr><th scope=\"col\">Question</th>\
         <th scope=\"col\">The claim</th><th scope=\"col\">Verdict</th><th scope=\"col\">What was \
         found</th></tr></thead><tbody>{body}</tbody></table></div>"
    )
}

fn line(out: &mut String, question: &str, row: &Row) {
    let Standing::Judged(verdict) = row.standing else {
        return;
    };
    // The comparison that decided: the first that says what the whole says.
    let deciding = row.evidence.iter().find(|one| one.verdict == verdict);
    let Some(one) = deciding.or(row.evidence.first()) else {
        return;
    };
    let word = row.standing.word();
    let _ = write!(
        out,
        "<tr><td>{question}</td><td>{}: {}</td><td class=\"{}\">{word}</td><td>{}: {}</td></tr>",
        escaped(&row.claim.id),
        escaped(&row.claim.text),
        class(word),
        escaped(&one.rule.what),
        finding(one)
    );
}
