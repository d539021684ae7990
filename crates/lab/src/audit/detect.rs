//! Which results a text holds, and the audit of all of them.

use super::finding::Audit;
use super::{bonnie, fio, lvm, postmark, study};
use crate::workload::InputError;
use std::borrow::Cow;

/// Bytes of a text; results are kilobytes, and json+ of many jobs a few megabytes.
const TEXT_MAX: usize = 64 << 20;

/// Audits every result in `text`: fio's JSON or text, Bonnie's tables, Bonnie++'s table and CSV,
/// `PostMark`'s reports (against their configuration, if it stands before them), LVM's displays and
/// the lines of a study. Other lines are passed over.
///
/// An error means that there is nothing to audit, or that a result is damaged; a result that
/// cannot be true is a finding.
pub fn audit(text: &str) -> Result<Audit, InputError> {
    if text.len() > TEXT_MAX {
        let problem = format!("longer than {} MiB: audit its parts", TEXT_MAX >> 20);
        return Err(InputError::new(0, "text", problem));
    }
    let mut audit = Audit::default();
    if let Some(json) = json(text) {
        fio::check(&fio::parse_json(&json)?, &mut audit);
        audit.formats.push("fio JSON");
        return Ok(sorted(audit));
    }
    let run = fio::parse_text(text)?;
    if run.jobs.iter().any(|job| !job.directions.is_empty()) {
        fio::check(&run, &mut audit);
        audit.formats.push("fio text");
    }
    if bonnie::check_classic(text, &mut audit)? {
        audit.formats.push("Bonnie");
    }
    if bonnie::check_plus(text, &mut audit)? {
        audit.formats.push("Bonnie++");
    }
    let reports = postmark::parse(text)?;
    for report in &reports {
        postmark::check(report, &mut audit);
    }
    if !reports.is_empty() {
        audit.formats.push("PostMark");
    }
    if lvm::check(text, &mut audit) {
        audit.formats.push("LVM");
    }
    if let Some(study) = study::parse(text)? {
        study::check(&study, &run, &mut audit);
        audit.formats.push("study");
    }
    if audit.formats.is_empty() {
        let known = "no result of fio, Bonnie, Bonnie++, PostMark or LVM, and no study";
        return Err(InputError::new(0, "text", known));
    }
    Ok(sorted(audit))
}

/// The JSON in a text, behind as many empty lines as it has warnings of fio's before it.
fn json(text: &str) -> Option<Cow<'_, str>> {
    if text.trim_start().starts_with('{') {
        return Some(Cow::Borrowed(text));
    }
    let start = text
        .find("\n{\n")
        .filter(|_| text.contains("\"fio version\""))?
        + 1;
    let lines = text[..start].matches('\n').count();
    Some(Cow::Owned("\n".repeat(lines) + &text[start..]))
}

fn sorted(mut audit: Audit) -> Audit {
    audit.findings.sort_by_key(|finding| finding.line);
    audit
}
