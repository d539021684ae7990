//! An error at each single request of each command: the old or the new state, and a message that
//! names the disk.

use std::fmt;
use std::sync::Arc;

use block::sim::{Image, SimDevice};
use block::{Device, Kind as BlockKind};

use super::campaign::{host, prepare};
use super::cases::Case;
use super::commands::name;
use super::judge::{Judge, written};
use super::view::{nonsense, scan, view};
use crate::commit::Discipline;
use crate::{Error, Kind, Result};

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

/// Lets each request of the command of each case fail once.
pub fn explore_faults(cases: &[Case]) -> Result<FaultReport> {
    let mut report = FaultReport::default();
    for case in cases.iter().filter(|case| case.killed.is_none()) {
        let host = host()?;
        let images = prepare(&host, case)?;
        for disk in 0..case.disks {
            for request in 1..REQUESTS_MAX {
                if !fail_at(&host, case, &images, (disk, request), &mut report)? {
                    break;
                }
            }
        }
    }
    Ok(report)
}

/// Lets one request fail; whether there was such a request.
fn fail_at(
    host: &crate::host::Host,
    case: &Case,
    images: &[Image],
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
        .run(host, &devices, Discipline::Strict, 600_000);
    let count = sims[disk].disk().begun();
    if count < request {
        return Ok(false);
    }
    report.faults += 1;
    let content = |sim: &SimDevice| {
        sim.disk().faults_mut().failing.clear();
        Image::of_device(sim)
            .map_err(|error| Error::new(Kind::Device, "cannot read").because(error))
    };
    let after: Vec<Image> = sims.iter().map(content).collect::<Result<_>>()?;
    let place = format!("{case:?}: request {request} of disk {disk}");
    // What a success is, comes from a run on healthy disks.
    let healthy = super::view::devices(images);
    let good = case
        .command
        .run(host, &healthy, Discipline::Strict, 600_000)?;
    let read = |device: &Arc<dyn Device>| {
        Image::of_device(&**device)
            .map_err(|error| Error::new(Kind::Device, "cannot read").because(error))
    };
    let healthy: Vec<Image> = healthy.iter().map(read).collect::<Result<_>>()?;
    let old = scan(host, images);
    let mut versions = view(&old).groups;
    versions.extend(written(&good));
    let judge = Judge {
        host,
        command: case.command,
        old: view(&old),
        new: view(&scan(host, &healthy)),
        versions,
    };
    let found = scan(host, &after);
    let verdict = match nonsense(&found) {
        Some(wrong) => Err(wrong),
        None => judge.name(&view(&found)),
    };
    match (&result, verdict) {
        (_, Err(what)) => report.broken.push(format!("{place}: {what}")),
        (Ok(_), Ok(_)) => report.succeeded += 1,
        (Err(error), Ok(verdict)) => {
            // A disk that cannot be read when it is looked for is missing, and the scan has named it.
            let text = error.to_string();
            let names = [&name(disk), "vg0", "vg1"];
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
