//! How far looking at a device has come, and the next step.
//!
//! ```text
//!   New ──open──▶ Open ──read the head──▶ Head ──read the rest──▶ Done
//!          asks for the head     asks for the texts
//! ```
//!
//! Each step asks the kernel for what the next one reads. So one thread that goes from device to
//! device, a step at each, waits for the slowest disk and not for one after the other.

use super::finding::{Finding, FindingKind, Severity};
use super::probe::{Probed, ProbedContent, ask_for_texts, probe_source, read_head};
use super::source::Source;
use super::texts::Texts;
use crate::host::{Candidate, Origin};

/// How far looking at a device has come.
pub(super) enum Stage {
    /// Nothing was done yet.
    New,
    /// It is open, and its head is on its way.
    Open(Source),
    /// Its head is here, and its texts are on their way.
    Head(Source, Vec<u8>),
    /// This is what was found on it and on its partitions.
    Done(Vec<Probed>),
}

/// Goes one step further.
pub(super) fn step(stage: Stage, candidate: &Candidate, texts: &Texts) -> Stage {
    match stage {
        Stage::New => match &candidate.skip {
            Some(reason) => Stage::Done(vec![skipped(candidate, reason)]),
            None => open(candidate),
        },
        Stage::Open(source) => match read_head(&source) {
            Ok(head) => {
                ask_for_texts(&source, &head);
                Stage::Head(source, head)
            }
            Err(error) => {
                let mut probed = Probed::new(candidate, ProbedContent::Other);
                probed.size = source.size();
                Stage::Done(vec![probed.unreadable(&error)])
            }
        },
        Stage::Head(source, head) => Stage::Done(probe_source(candidate, &source, Ok(head), texts)),
        Stage::Done(probed) => Stage::Done(probed),
    }
}

fn open(candidate: &Candidate) -> Stage {
    match Source::open(&candidate.location, &candidate.name) {
        Ok(source) => {
            source.ask_for(0, super::probe::HEAD_SIZE);
            Stage::Open(source)
        }
        Err(error) => {
            let probed = Probed::new(candidate, ProbedContent::Other);
            Stage::Done(vec![probed.unreadable(&error)])
        }
    }
}

fn skipped(candidate: &Candidate, reason: &str) -> Probed {
    let mut probed = Probed::new(candidate, ProbedContent::Skipped(reason.to_owned()));
    let severity = match candidate.origin {
        Origin::Named => Severity::Warning,
        Origin::Folder | Origin::Host => Severity::Note,
    };
    let message = format!("{} is not looked at: {reason}", candidate.name);
    let finding = Finding::new(FindingKind::Skipped, severity, message);
    probed.findings.push(finding);
    probed
}
