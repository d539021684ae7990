//! `lab audit`: impossible numbers in published results.

use lab::audit::{Weight, audit as audit_text};
use serde::Serialize;

use super::command::{JSON, text_of};
use crate::args::{Arguments, Error};
use crate::commands::Session;
use crate::output::json::line;

#[derive(Serialize)]
struct Found<'a> {
    file: &'a str,
    line: usize,
    rule: &'a str,
    weight: &'a str,
    field: &'a str,
    problem: &'a str,
    consistent: &'a str,
}

pub(super) fn audit(
    files: &[String],
    arguments: &Arguments,
    session: &mut Session,
) -> Result<(), Error> {
    if files.is_empty() {
        return Err(Error::usage("lab audit: name a file of results"));
    }
    for path in files {
        let text = match text_of(path) {
            Ok(text) => text,
            Err(error) => {
                session.fail_later(&error.to_string());
                continue;
            }
        };
        let found = match audit_text(&text) {
            Ok(found) => found,
            Err(error) => {
                session.fail_later(&format!("{path}: {error}"));
                continue;
            }
        };
        for finding in &found.findings {
            if arguments.has(&JSON) {
                let weight = match finding.weight {
                    Weight::Impossible => "impossible",
                    Weight::Weak => "weak",
                };
                session.print(&line(&Found {
                    file: path,
                    line: finding.line,
                    rule: finding.rule.name(),
                    weight,
                    field: &finding.field,
                    problem: &finding.problem,
                    consistent: &finding.consistent,
                }))?;
            } else {
                session.line(&format!("{path}: {finding}"))?;
            }
        }
        let impossible = found.impossible().count();
        if impossible > 0 {
            session.fail_later(&format!(
                "{path}: {impossible} numbers cannot be right, of {} checks",
                found.checks
            ));
        } else if !arguments.has(&JSON) {
            let (formats, checks) = (found.formats.join(", "), found.checks);
            session.line(&format!(
                "{path}: {formats}: nothing impossible in {checks} checks"
            ))?;
        }
    }
    Ok(())
}
