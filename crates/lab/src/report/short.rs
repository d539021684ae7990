//! The short version: what people ask first, with what the results say.
//!
//! A question is answered by claims. It is shown with the verdict and the comparison that led to
//! it; questions whose experiments were not run are left out.

use std::fmt::Write;

use super::text::escaped;
use super::verdicts::{class, finding};
use crate::error::Result;
use crate::experiment::{Experiment, Read, Row, Standing, rows};

/// Questions, and the claims that answer them.
const QUESTIONS: [(&str, &[&str]); 6] = [
    (
        "Is a linear volume on one disk slower than the disk?",
        &["B.1", "A.H1"],
    ),
    ("Does the number of segments cost time?", &["A.H3"]),
    ("Does their order?", &["A.X4"]),
    ("Is PostMark 63 % faster without LVM?", &["A.T1a"]),
    (
        "Do two striped disks double the requests per second?",
        &["D.1"],
    ),
    (
        "Does a linear volume over six disks stay as slow as one?",
        &["D.2"],
    ),
];

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// What is asked.
    pub question: &'static str,
    /// The claim that answers it.
    pub claim: String,
    /// What the claim says.
    pub says: String,
    /// The word for what came of it.
    pub verdict: &'static str,
    /// What was compared.
    pub what: String,
    /// What was found, with its interval.
    pub found: String,
}

/// The questions that these runs answer.
pub fn answers(experiments: &[Experiment], results: &Read) -> Result<Vec<Answer>> {
    Ok(of(&rows(experiments, results)?))
}

/// The answers of these verdicts.
pub(super) fn of(rows: &[Row]) -> Vec<Answer> {
    let mut found = Vec::new();
    for (question, claims) in QUESTIONS {
        let row = |id: &&str| rows.iter().find(|row| row.claim.id == **id);
        found.extend(
            claims
                .iter()
                .filter_map(row)
                .filter_map(|row| answer(question, row)),
        );
    }
    found
}

fn answer(question: &'static str, row: &Row) -> Option<Answer> {
    let Standing::Judged(verdict) = row.standing else {
        return None;
    };
    // The comparison that decided: the first that says what the whole says.
    let deciding = row.evidence.iter().find(|one| one.verdict == verdict);
    let one = deciding.or(row.evidence.first())?;
    Some(Answer {
        question,
        claim: row.claim.id.clone(),
        says: row.claim.text.clone(),
        verdict: row.standing.word(),
        what: one.rule.what.clone(),
        found: finding(one),
    })
}

/// Answers as a table of HTML, each question once; empty if there are none.
pub fn table(answers: &[Answer]) -> String {
    let mut out = String::new();
    if answers.is_empty() {
        return out;
    }
    out.push_str(
        "<div class=\"scroll\"><table class=\"short\"><thead><tr><th scope=\"col\">Question</th>\
         <th scope=\"col\">The claim</th><th scope=\"col\">Verdict</th>\
         <th scope=\"col\">What was found</th></tr></thead><tbody>",
    );
    for same in answers.chunk_by(|a, b| a.question == b.question) {
        let mut question = format!(
            "<th scope=\"row\" rowspan=\"{}\">{}</th>",
            same.len(),
            same[0].question
        );
        for one in same {
            let _ = write!(
                out,
                "<tr>{question}<td>{}: {}</td><td><span class=\"{}\">{}</span></td>\
                 <td>{}: {}</td></tr>",
                escaped(&one.claim),
                escaped(&one.says),
                class(one.verdict),
                one.verdict,
                escaped(&one.what),
                escaped(&one.found)
            );
            question.clear();
        }
    }
    out.push_str("</tbody></table></div>");
    out
}
