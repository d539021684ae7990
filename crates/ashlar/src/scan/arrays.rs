//! Arrays of md's among the devices that were looked at: each of them is one more device.
//!
//! ```text
//!   devices ─▸ those with a superblock, by their array ─▸ judged ─▸ a device md:NAME, looked at
//!      ▲                                                     ╲▸ not enough: a finding
//!      ╰──────────── which may be a leg itself ────────────────────╯
//! ```
//!
//! What the kernel runs is not among them: its legs are skipped before they are looked at. A leg
//! is not looked into: what is at its start is the array's, be it a label or a partition table.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use dm::raid::md::{Claim, Guard, Readiness, Verdict, judge};

use super::again::Looked;
use super::finding::{Finding, FindingKind, Severity};
use super::probe::{Probed, ProbedContent, probe_source, read_head};
use super::source::Source;
use super::texts::Texts;
use crate::host::{ArrayMember, ArrayPlace, Candidate, Location, Place};

/// How often arrays are made of arrays, at most.
const DEPTH_MAX: usize = 4;

/// What was read of all devices, and of the arrays among them, which are looked at now. Arrays that
/// do not answer in `limit` are left out.
pub(super) fn with_arrays(looked: &[Looked], limit: Duration) -> Vec<Probed> {
    let all = looked.iter().flat_map(|looked| &looked.probed);
    let mut probed: Vec<Probed> = all.cloned().collect();
    if probed.iter().all(|one| one.claim.is_none()) {
        return probed;
    }
    // Texts are compared by where they are kept.
    let texts = Texts::with_kept(looked.iter().flat_map(Looked::texts));
    let (say, heard) = sync_channel(1);
    let theirs = probed.clone();
    // A leg that hangs holds this thread and nobody else; so does a panic, which is a bug.
    let thread = std::thread::Builder::new().name("arrays".to_owned());
    let begun = thread.spawn(move || say.send(look_at_all(theirs, &texts)));
    if let (Ok(_), Ok(found)) = (begun, heard.recv_timeout(limit)) {
        return found;
    }
    for one in probed.iter_mut().filter(|one| one.claim.is_some()) {
        one.claim = None;
        let reason = "it is of a software RAID array that does not answer".to_owned();
        let message = format!("{} is not used: {reason}", one.name);
        let finding = Finding::new(FindingKind::TimedOut, Severity::Error, message);
        let remedy = "check its devices, or leave them out with --devices";
        one.findings.push(finding.remedy(remedy));
        one.content = ProbedContent::Skipped(reason);
    }
    probed
}

fn look_at_all(mut probed: Vec<Probed>, texts: &Texts) -> Vec<Probed> {
    for _ in 0..DEPTH_MAX {
        let mut arrays: BTreeMap<[u8; 16], Vec<usize>> = BTreeMap::new();
        for (place, one) in probed.iter().enumerate() {
            if let Some(claim) = &one.claim {
                arrays.entry(claim.uuid).or_default().push(place);
            }
        }
        for places in arrays.into_values() {
            let more = look_at(&mut probed, &places, texts);
            probed.extend(more);
        }
    }
    probed
}

/// The array of which these are members, looked at.
fn look_at(probed: &mut [Probed], places: &[usize], texts: &Texts) -> Vec<Probed> {
    let members = places.iter().map(|place| {
        let one = &mut probed[*place];
        let claim: Claim = *one.claim.take().expect("it is a member");
        ArrayMember {
            location: one.location.clone(),
            name: one.name.clone(),
            claim,
        }
    });
    let array = ArrayPlace::new(members.collect());
    let claims: Vec<Claim> = array
        .members
        .iter()
        .map(|member| member.claim.clone())
        .collect();
    assert_eq!(claims.len(), places.len(), "each member has a claim");
    let judged = judge(&claims);
    for (number, place) in places.iter().enumerate() {
        let verdict = judged.as_ref().ok().map(|judged| judged.verdicts[number]);
        let reason = match verdict {
            Some(verdict) => format!("it is {} of the array {}", word(verdict), array.name),
            None => format!("it is of the array {}", array.name),
        };
        let one = &mut probed[*place];
        if let Some(Verdict::Stale | Verdict::Disagrees) = verdict {
            let message = format!("{} is not used: {reason}", one.name);
            let finding = Finding::new(FindingKind::Skipped, Severity::Warning, message);
            one.findings
                .push(finding.remedy("add it again once the array is right: ashlar md add"));
        }
        one.content = ProbedContent::Skipped(reason);
    }
    let readiness = match judged {
        Ok(judged) => judged.readiness,
        Err(error) => return vec![unusable(&array, &error.to_string())],
    };
    let doubt = match readiness {
        Readiness::Whole => None,
        Readiness::Degraded => Some("legs are missing, and made up for"),
        Readiness::DirtyDegraded => Some(
            "legs are missing and it was not stopped cleanly: what is made up for them may be \
             wrong where it was being written",
        ),
        Readiness::NotEnough => {
            return vec![unusable(&array, "too many of its legs are missing")];
        }
    };
    let candidate = candidate(&array);
    let source = match Source::open(&candidate.location, &candidate.name) {
        Ok(source) => source,
        Err(error) => return vec![unusable(&array, &error.to_string())],
    };
    let mut all = probe_source(&candidate, &source, read_head(&source), texts);
    let mut say = |what: &str, remedy: &str| {
        let message = format!("{}: {what}", array.name);
        let finding = Finding::new(FindingKind::Skipped, Severity::Warning, message);
        all[0].findings.push(finding.remedy(remedy));
    };
    if let Some(doubt) = doubt {
        say(doubt, "name its other devices, too");
    }
    if claims.iter().any(|claim| claim.guard == Guard::Journal) {
        let what = "it has a journal, which is not replayed: what was written last may be missing";
        say(what, "assemble it once with mdadm, which replays it");
    }
    all
}

fn candidate(array: &ArrayPlace) -> Candidate {
    let location = Location {
        place: Place::Array(Arc::new(array.clone())),
        window: None,
    };
    Candidate::named(&array.name, location)
}

fn unusable(array: &ArrayPlace, why: &str) -> Probed {
    let mut probed = Probed::new(&candidate(array), ProbedContent::Skipped(why.to_owned()));
    let message = format!("the array {} is not used: {why}", array.name);
    let finding = Finding::new(FindingKind::Skipped, Severity::Warning, message);
    let remedy = "name all its devices, or see mdadm --examine for what they hold";
    probed.findings.push(finding.remedy(remedy));
    probed
}

/// What a device is, for people.
fn word(verdict: Verdict) -> String {
    match verdict {
        Verdict::Leg(number) => format!("leg {number}"),
        Verdict::Replacement(number) => format!("the replacement of leg {number}"),
        Verdict::Spare => "a spare".into(),
        Verdict::Journal => "the journal".into(),
        Verdict::Faulty => "a device that failed".into(),
        Verdict::Stale => "a leg that was away when the others went on".into(),
        Verdict::Disagrees => "a leg that went on without the others".into(),
        Verdict::Superseded => "an older copy of a leg".into(),
        Verdict::Foreign => "a device that does not fit the others".into(),
    }
}
