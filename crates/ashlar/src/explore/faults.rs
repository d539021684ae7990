//! An error at each single request of each command: the old or the new state, and a message that
//! names the disk.

use std::fmt;
use std::sync::Arc;

use block::sim::{Image, SimDevice};
use block::{Device, Kind as BlockKind};

use super::campaign::{contents, host, prepare};
use super::cases::Case;
use super::command::name;
use super::judge::{Judge, written};
use super::parallel::in_order;
use super::view::{nonsense, scan, view};
use crate::Result;
use crate::commit::FlushPolicy;
use crate::host::Host;
use crate::scan::{FindingKind, Scan};

/// Requests of one disk that a command makes at most; more would be a loop.
const REQUESTS_MAX: u64 = 4000;

/// What failing disks did.
#[derive(Debug, Clone, Default)]
pub struct FaultReport {
    /// Requests that failed, one at a time.
    pub faults: u64,
    /// Commands that failed and left everything as it was.
    pub unchanged: u64,
    /// Commands that failed and had changed the groups; their message says so.
    pub changed: u64,
    /// Commands that succeeded all the same.
    pub succeeded: u64,
    /// Commands that left one of the other states that a power cut may leave.
    pub between: u64,
    /// Broken promises.
    pub broken: Vec<String>,
}

impl fmt::Display for FaultReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} errors: {} commands failed and changed nothing, {} failed and were committed, {} \
             succeeded, {} left a state between, {} broke a promise",
            self.faults,
            self.unchanged,
            self.changed,
            self.succeeded,
            self.between,
            self.broken.len()
        )
    }
}

impl FaultReport {
    fn add(&mut self, other: Self) {
        self.faults += other.faults;
        self.unchanged += other.unchanged;
        self.changed += other.changed;
        self.succeeded += other.succeeded;
        self.between += other.between;
        self.broken.extend(other.broken);
    }
}

/// Lets each request of the command of each case fail once.
pub fn explore_faults(cases: &[Case]) -> Result<FaultReport> {
    let mut report = FaultReport::default();
    in_order(cases, explore, |part| {
        report.add(part?);
        Ok(true)
    })?;
    Ok(report)
}

fn explore(case: &Case) -> Result<FaultReport> {
    let mut report = FaultReport::default();
    if case.killed.is_some() {
        return Ok(report);
    }
    let host = host()?;
    let images = prepare(&host, case)?;
    let judge = judge(&host, case, &images)?;
    for disk in 0..case.disks {
        for request in 1..REQUESTS_MAX {
            if !fail_at(&judge, (case, &images), (disk, request), &mut report)? {
                break;
            }
        }
    }
    Ok(report)
}

/// Lets one request fail; whether there was such a request.
fn fail_at(
    judge: &Judge<'_>,
    (case, images): (&Case, &[Image]),
    (disk, request): (usize, u64),
    report: &mut FaultReport,
) -> Result<bool> {
    let named = images.iter().enumerate();
    let sims: Vec<SimDevice> = named
        .map(|(number, image)| SimDevice::of_image(name(number), image.clone()))
        .collect();
    let mut faults = sims[disk].disk();
    faults.faults_mut().failing.insert(request, BlockKind::Io);
    drop(faults);
    let devices: Vec<Arc<dyn Device>> = sims.iter().map(|sim| Arc::new(sim.clone()) as _).collect();
    let result = case
        .command
        .run(judge.host, &devices, FlushPolicy::Strict, 600_000);
    let count = sims[disk].disk().begun();
    if count < request {
        return Ok(false);
    }
    report.faults += 1;
    for sim in &sims {
        sim.disk().faults_mut().failing.clear();
    }
    let after = contents(&devices)?;
    let place = format!("{case:?}: request {request} of disk {disk}");
    let found = scan(judge.host, &after);
    let seen = view(&found);
    let wrong = nonsense(&found).filter(|_| request > 1 || !disagrees(&found));
    let verdict = match (wrong, &result) {
        (Some(wrong), _) => Err(wrong),
        // It may have begun anew after a read that failed once, with other UUIDs.
        (None, Ok(outcome)) if judge.old.groups != seen.groups => {
            let written = written(outcome);
            let mut groups = seen.groups.iter();
            let is_known = |group| written.contains(group) || judge.old.groups.contains(group);
            // A disk whose label could not be read is not there: it was not known to be outdated.
            let is_outdated = |group| request == 1 && judge.versions.contains(group);
            let all_known = groups.all(|group| is_known(group) || is_outdated(group));
            all_known
                .then_some("new")
                .ok_or("an unknown version".to_owned())
        }
        (None, _) => judge.name(&seen),
    };
    match (&result, verdict) {
        (_, Err(what)) => report.broken.push(format!("{place}: {what}")),
        (Ok(_), Ok(_)) => report.succeeded += 1,
        (Err(error), Ok(verdict)) => {
            // A disk that cannot be read is missing, and the scan has named it; that there is no
            // room without it is said of the volume.
            let text = error.to_string();
            let names = [&name(disk), "vg0", "vg1", "logical volume "];
            if names.iter().all(|name| !text.contains(name)) {
                report
                    .broken
                    .push(format!("{place}: the message names nothing: {error}"));
            }
            match verdict {
                "old" => report.unchanged += 1,
                "new" => report.changed += 1,
                _ => report.between += 1,
            }
        }
    }
    Ok(true)
}

/// Whether there are two texts with one number, of which nobody can know the right one.
///
/// A disk whose label could not be read is not there, and may have been the only one with the
/// newest text: a group that goes on from an older one gives its text the same number. Then nothing
/// is written before somebody chooses, and the disk that is left out is neither used nor free.
fn disagrees(scan: &Scan) -> bool {
    let mut findings = scan.findings.iter();
    findings.any(|finding| finding.kind == FindingKind::Disagreement)
}

/// What a success is, comes from a run on healthy disks.
fn judge<'h>(host: &'h Host, case: &'h Case, images: &[Image]) -> Result<Judge<'h>> {
    let devices = super::view::devices(images, case.blocks);
    let good = case
        .command
        .run(host, &devices, FlushPolicy::Strict, 600_000)?;
    let mut versions = view(&scan(host, images)).groups;
    for image in images {
        versions.extend(view(&scan(host, std::slice::from_ref(image))).groups);
    }
    versions.extend(written(&good));
    let after = contents(&devices)?;
    Ok(Judge::new(host, case, images, &after, versions))
}
