//! The load on the volume itself: its real data path, in this process, for some seconds.
//!
//! Reads open the volume as `cat` does. A load that writes destroys what the volume holds; it has
//! to be agreed to, and opens the volume under the locks of its group, so that nobody else does.

use std::io::{IsTerminal, Write};

use ashlar::apply::HostDisks;
use ashlar::live::LiveGroup;
use ashlar::scan;
use block::Device;
use dm::volume::Access;
use lab::measure::{self, JobMeasured};
use lab::workload::fio::{Job, Mix};

use super::command::SECONDS;
use crate::args::{Arguments, Error, flags};
use crate::commands::Session;
use crate::commands::open::Opener;
use crate::commands::session::Disks;

/// Seconds that a job is measured for, unless it is said, and at most.
const SECONDS_DEFAULT: u64 = 3;
const SECONDS_MAX: u64 = 3600;

/// Measures `job` on the volume called `name`; [`agreed`] was asked before.
pub(super) fn measured(
    name: &str,
    job: &Job,
    disks: &Disks,
    arguments: &Arguments,
    session: &mut Session,
) -> Result<JobMeasured, Error> {
    let seconds = seconds(arguments)?;
    if job.mix == Mix::Reads {
        let mut opener = Opener::new(disks, arguments, Access::ReadOnly)?;
        let opened = opener.open(name, session)?;
        return on(&opened.volume, job, seconds);
    }
    let (group, lv) = disks.scan.find_volume(name).map_err(failed)?;
    let options = Opener::options(arguments, Access::ReadWrite)?;
    let all = HostDisks {
        source: disks.source.clone(),
        options: scan::Options::default(),
    };
    let live = LiveGroup::take(&disks.host, &all, &group.uuid.to_string()).map_err(failed)?;
    let volume = group.model.lv(lv).name();
    let opened = live.open(volume, options.missing).map_err(failed)?;
    if opened.volume.info().read_only {
        return Err(Error::failed(format!(
            "{name} is not written: its permission is read-only; lvchange -prw changes that"
        )));
    }
    for gap in &opened.gaps {
        session.tell(&format!("WARNING: {gap}."));
    }
    on(&opened.volume, job, seconds)
}

/// Refuses jobs that write if nobody said that they may; to be asked before anything runs.
pub(super) fn agreed(name: &str, jobs: &[Job], arguments: &Arguments) -> Result<(), Error> {
    match jobs.iter().find(|job| job.mix != Mix::Reads) {
        Some(job) if !arguments.has(&flags::YES) => Err(Error::usage(format!(
            "explain: job {} writes, and would destroy what {name} holds; --yes says that this is \
             wanted",
            job.name
        ))),
        _ => Ok(()),
    }
}

fn seconds(arguments: &Arguments) -> Result<u64, Error> {
    let Some(text) = arguments.value(&SECONDS) else {
        return Ok(SECONDS_DEFAULT);
    };
    let seconds = text.parse().ok();
    seconds
        .filter(|seconds| (1..=SECONDS_MAX).contains(seconds))
        .ok_or_else(|| Error::usage(format!("--seconds {text}: 1 to {SECONDS_MAX} is expected")))
}

/// Runs the job, and shows on a terminal how far it is.
fn on(device: &dyn Device, job: &Job, seconds: u64) -> Result<JobMeasured, Error> {
    let mut terminal = std::io::stderr();
    let is_shown = terminal.is_terminal();
    let mut told = |share: f64| {
        if is_shown {
            // Nobody misses what cannot be shown.
            let _ = write!(terminal, "\r  measuring {:3.0} %", share * 100.0);
            let _ = terminal.flush();
        }
    };
    let found = measure::job(device, job, seconds * 1_000_000_000, &mut told);
    if is_shown {
        let _ = write!(std::io::stderr(), "\r{:20}\r", "");
    }
    found.map_err(|error| Error::failed(format!("job {}: {error}", job.name)))
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::failed(error.to_string())
}
