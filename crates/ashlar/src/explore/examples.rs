//! One disk content for each kind of state that a cut may leave, for other judges than ours.

use std::collections::BTreeSet;

use block::sim::{Image, Limits, states};
use lvm2::plan::initialise::AreaCount;

use super::campaign::observe;
use super::cases::Case;
use super::settle::settle;
use super::view::{complaints, scan, view};
use crate::Result;
use crate::commit::FlushPolicy;
use crate::scan::FindingKind;

/// What a cut may leave besides the old state and the new one.
#[derive(Debug, Clone)]
pub struct Example {
    /// The command that was cut off.
    pub command: &'static str,
    /// What kind of state it is.
    pub verdict: &'static str,
    /// What a scan complains of.
    pub complaints: BTreeSet<String>,
    /// Whether a text has a mark.
    pub is_unfinished: bool,
    /// The disks.
    pub disks: Vec<Image>,
    /// The same disks after the next command.
    pub settled: Vec<Image>,
    /// The groups that somebody wrote, by name and version.
    pub versions: Vec<(String, u32)>,
}

/// One example for each combination of command, verdict, versions and complaints, on two disks.
/// Sound states, in which there is nothing to be repaired, are left out.
pub fn examples() -> Result<Vec<Example>> {
    let mut examples = Vec::new();
    let mut seen = BTreeSet::new();
    for case in Case::all(2, AreaCount::One) {
        if case.killed.is_some() {
            continue;
        }
        let found = observe(&case, FlushPolicy::Strict, |judge, log| {
            let mut found = Vec::new();
            for state in states(log, Limits::default(), 1) {
                let scanned = scan(judge.host, &state.images);
                let verdict = judge.name(&view(&scanned))?;
                let complaints = complaints(&scanned);
                if complaints.is_empty() && matches!(verdict, "old" | "new") {
                    continue;
                }
                let kinds = complaints
                    .iter()
                    .map(|finding| format!("{:?}", finding.kind));
                let kinds: BTreeSet<String> = kinds.collect();
                let groups = scanned.groups.iter().map(|g| (g.name.clone(), g.seqno));
                let groups: Vec<(String, u32)> = groups.collect();
                // The same thing looks the same, whichever command left it.
                let kind = match verdict {
                    "old" | "new" => (String::new(), kinds.clone(), Vec::new()),
                    _ => (
                        format!("{} {verdict}", case.command()),
                        kinds.clone(),
                        groups,
                    ),
                };
                if !seen.insert(kind) {
                    continue;
                }
                let versions = judge.versions.iter();
                found.push(Example {
                    command: case.command(),
                    verdict,
                    is_unfinished: complaints
                        .iter()
                        .any(|finding| finding.kind == FindingKind::Unfinished),
                    complaints: kinds,
                    settled: settle(judge.host, case.command, &state.images)?.images,
                    disks: state.images,
                    versions: versions.map(|v| (v.name.clone(), v.seqno)).collect(),
                });
            }
            Ok::<_, String>(found)
        })?;
        examples.extend(found.unwrap_or_default());
    }
    Ok(examples)
}
