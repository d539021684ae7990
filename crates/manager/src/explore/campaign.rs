//! Running cases, and counting what was found.

use std::fmt;
use std::sync::Arc;

use block::Device;
use block::sim::{Image, Limits, Recorder, SimDevice, states};

use super::cases::{Case, Staleness};
use super::commands::Command;
use super::judge::{Counts, Devices, Judge, written};
use super::view::{JUNK, devices, scan, view};
use crate::commit::{Discipline, FlushPoint};
use crate::host::{Config, Host, Sysfs};
use crate::{Error, Kind, Result};

/// Bytes of a disk.
const DISK_SIZE: u64 = 2 << 20;
/// Where extents begin on it, if it has no area.
const DATA_START: u64 = 64 << 10;

/// Some cases, under one discipline.
#[derive(Debug, Clone)]
pub struct Campaign {
    /// What is run.
    pub cases: Vec<Case>,
    /// Which flushes are made.
    pub discipline: Discipline,
    /// For the choices where there are too many states.
    pub seed: u64,
    /// Whether the first broken promise ends it.
    pub patience: Patience,
}

/// When a campaign ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// After all states.
    All,
    /// After the first broken promise.
    First,
}

/// A broken promise.
#[derive(Debug, Clone)]
pub struct Broken {
    /// Which case, and where the cut was.
    pub place: String,
    /// What was found.
    pub what: String,
}

/// What a campaign saw.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Commands that were cut off.
    pub commands: u64,
    /// States that were looked at.
    pub states: u64,
    /// How often each kind of state was found.
    pub verdicts: Counts,
    /// Broken promises.
    pub broken: u64,
    /// The first of them.
    pub first: Option<Broken>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} commands, {} states:", self.commands, self.states)?;
        for (verdict, count) in &self.verdicts {
            write!(f, " {count} {verdict};")?;
        }
        write!(f, " {} broken", self.broken)
    }
}

impl Campaign {
    /// Runs all cases.
    pub fn run(&self) -> Result<Report> {
        let mut report = Report::default();
        for case in &self.cases {
            self.explore(case, &mut report)?;
            if report.broken > 0 && self.patience == Patience::First {
                break;
            }
        }
        Ok(report)
    }

    fn explore(&self, case: &Case, report: &mut Report) -> Result<()> {
        let host = host()?;
        let images = prepare(&host, case)?;
        let recorder = Recorder::default();
        let record = |image: &Image| -> Result<Arc<dyn Device>> {
            let device = Arc::new(SimDevice::of_image("disk", image.clone()));
            recorder.record(device).map_err(unusable)
        };
        let devices: Devices = images.iter().map(record).collect::<Result<_>>()?;
        let old = scan(&host, &images);
        let mut versions = view(&old).groups;
        if let Some(killed) = case.killed {
            let discipline = Discipline::Without(FlushPoint::Headers);
            // It did not live to discard anything.
            let dying = Host::without_config();
            versions.extend(written(&killed.run(&dying, &devices, discipline, 500_000)?));
        }
        let outcome = case
            .command
            .run(&host, &devices, self.discipline, 600_000)?;
        versions.extend(written(&outcome));
        recorder.mark();
        let log = recorder.log();
        let judge = Judge {
            host: &host,
            command: case.command,
            old: view(&old),
            new: view(&scan(&host, &log.end_state())),
            versions,
        };
        report.commands += 1;
        for state in states(&log, Limits::default(), self.seed) {
            report.states += 1;
            let verdict = match judge.judge(&state) {
                // The killed command is one more version on the way.
                Err(_) if case.killed.is_some() && judge.is_known(&state) => Ok("killed before"),
                other => other,
            };
            match verdict {
                Ok(verdict) => *report.verdicts.entry(verdict).or_default() += 1,
                Err(what) => {
                    report.broken += 1;
                    report.first.get_or_insert_with(|| Broken {
                        place: format!("{case:?}: {}", state.cut),
                        what,
                    });
                    if self.patience == Patience::First {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }
}

/// A machine without any, whose freed extents are discarded.
pub(super) fn host() -> Result<Host> {
    let mut config = Config::empty();
    config.add_text("devices/issue_discards=1")?;
    Ok(Host {
        config,
        sysfs: Sysfs::at("/nonexistent"),
    })
}

/// The disks of a case before its command.
pub(super) fn prepare(host: &Host, case: &Case) -> Result<Vec<Image>> {
    let mut images = vec![Image::new(DISK_SIZE); case.disks];
    for image in &mut images {
        let junk = vec![JUNK; (DISK_SIZE - DATA_START) as usize];
        image.write(DATA_START, &junk);
    }
    let mut before = images.clone();
    for (number, command) in case.setup.iter().enumerate() {
        before.clone_from(&images);
        images = run(host, &images, *command, number as u64 * 1000)?;
    }
    if case.staleness == Staleness::FirstDisk {
        images[0] = before[0].clone();
    }
    Ok(images)
}

fn run(host: &Host, images: &[Image], command: Command, first: u64) -> Result<Vec<Image>> {
    let devices = devices(images);
    command.run(host, &devices, Discipline::Strict, first)?;
    let read = |device: &Arc<dyn Device>| Image::of_device(&**device).map_err(unusable);
    devices.iter().map(read).collect()
}

fn unusable(error: block::Error) -> Error {
    Error::new(Kind::Device, "a simulated disk failed").because(error)
}

impl Judge<'_> {
    /// Whether every group is a version that somebody wrote, and its volumes are whole.
    fn is_known(&self, state: &block::sim::State) -> bool {
        let found = scan(self.host, &state.images);
        let seen = view(&found);
        let known = seen
            .groups
            .iter()
            .all(|group| self.versions.contains(group));
        let is_whole = super::view::damage(&found, &state.images).is_none();
        known && is_whole && !seen.groups.is_empty() && state.marks == 0
    }
}
