//! Running cases, and counting what was found.

use std::fmt;
use std::sync::Arc;

use block::sim::{Image, Log, Recorder, states};
use block::{Device, Range};
use lvm2::Bytes;
use lvm2::ondisk::{AREA_HEADER_SIZE, Ring, checksum};

use super::blocks::Blocks;
use super::cases::{Case, Mishap};
use super::command::Command;
use super::judge::{Counts, Devices, Judge, written};
use super::parallel::in_order;
use super::view::{JUNK, devices, scan, view};
use crate::commit::{FlushPoint, FlushPolicy};
use crate::host::{Config, Host, Sysfs};
use crate::{Error, Kind, Result};

/// Bytes of a disk.
const DISK_SIZE: u64 = 2 << 20;
/// The same where metadata of checksums are to fit, which have 8 MiB at least.
const LARGE_DISK_SIZE: u64 = 12 << 20;
/// Bytes of a sector, with one of which every text begins.
const SECTOR_SIZE: u64 = 512;
/// In the header of an area: its checksum, and where the committed text begins.
const SUM: std::ops::Range<usize> = 0..4;
const PLACE: std::ops::Range<usize> = 40..48;
/// Where extents begin on it, if it has no area.
const DATA_START: u64 = 64 << 10;

/// Some cases, under one flush policy.
#[derive(Debug, Clone)]
pub struct Campaign {
    /// What is run.
    pub cases: Vec<Case>,
    /// Which flushes are made.
    pub flush_policy: FlushPolicy,
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
    /// The command that was cut off.
    pub command: &'static str,
    /// Which case: see [`Case::name`].
    pub case: String,
    /// What was done, and where the cut was.
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
    /// How many of them the next command could tell apart, and was run on.
    pub distinct: u64,
    /// How often each kind of state was found.
    pub verdicts: Counts,
    /// Broken promises.
    pub broken: u64,
    /// The first of them.
    pub first: Option<Broken>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} commands, {} states ({} for the next command):",
            self.commands, self.states, self.distinct
        )?;
        for (verdict, count) in &self.verdicts {
            write!(f, " {count} {verdict};")?;
        }
        write!(f, " {} broken", self.broken)
    }
}

impl Report {
    fn add(&mut self, other: Self) {
        self.commands += other.commands;
        self.states += other.states;
        self.distinct += other.distinct;
        for (verdict, count) in other.verdicts {
            *self.verdicts.entry(verdict).or_default() += count;
        }
        self.broken += other.broken;
        self.first = self.first.take().or(other.first);
    }
}

impl Campaign {
    /// Runs all cases, on two threads; the report does not depend on which of them was faster.
    pub fn run(&self) -> Result<Report> {
        let mut report = Report::default();
        let explore = |case: &Case| self.explore(case);
        in_order(&self.cases, explore, |part| {
            report.add(part?);
            Ok(report.broken == 0 || self.patience == Patience::All)
        })?;
        Ok(report)
    }

    fn explore(&self, case: &Case) -> Result<Report> {
        let mut report = Report {
            commands: 1,
            ..Report::default()
        };
        observe(case, self.flush_policy, |judge, log| {
            for state in states(log, case.blocks.limits(), self.seed) {
                report.states += 1;
                match judge.judge(&state) {
                    Ok(verdict) => *report.verdicts.entry(verdict).or_default() += 1,
                    Err(what) => {
                        report.broken += 1;
                        report.first.get_or_insert_with(|| Broken {
                            command: case.command(),
                            case: case.name(),
                            place: format!("{case:?}: {}", state.cut),
                            what,
                        });
                        if self.patience == Patience::First {
                            break;
                        }
                    }
                }
            }
            report.distinct = judge.distinct();
        })?;
        Ok(report)
    }
}

/// Runs the command of a case on recorded disks, and lets `look` take the record apart.
pub(super) fn observe<R>(
    case: &Case,
    flush_policy: FlushPolicy,
    look: impl FnOnce(&Judge<'_>, &Log) -> R,
) -> Result<R> {
    let host = host()?;
    let failed = |error: Error| {
        let what = format!("{case:?} cannot be explored: {error}");
        Error::new(error.kind(), what)
    };
    let images = prepare(&host, case).map_err(failed)?;
    let recorder = Recorder::default();
    let record = |image: &Image| -> Result<Arc<dyn Device>> {
        recorder.record(case.blocks.disk(image)).map_err(unusable)
    };
    let devices: Devices = images.iter().map(record).collect::<Result<_>>()?;
    let mut versions = view(&scan(&host, &images)).groups;
    if let Some(killed) = case.killed {
        let without = FlushPolicy::Without(FlushPoint::Headers);
        // It did not live to discard anything.
        let dying = Host::without_config();
        versions.extend(written(&killed.run(&dying, &devices, without, 500_000)?));
    }
    let outcome = case.command.run(&host, &devices, flush_policy, 600_000);
    versions.extend(written(&outcome.map_err(failed)?));
    recorder.mark();
    let log = recorder.log();
    let judge = Judge::new(&host, case, &images, &log.end_state(), versions);
    Ok(look(&judge, &log))
}

/// A machine without any, whose freed extents are discarded.
pub(super) fn host() -> Result<Host> {
    let mut config = Config::empty();
    config.add_text("devices/issue_discards=1\nlocal/extra_system_ids=[\"here\"]")?;
    Ok(Host {
        config,
        sysfs: Sysfs::at("/nonexistent"),
    })
}

/// So many disks that nobody has used for metadata.
fn fresh(disks: usize, size: u64) -> Vec<Image> {
    let mut image = Image::new(size);
    let junk = vec![JUNK; (size - DATA_START) as usize];
    image.write(DATA_START, &junk);
    vec![image; disks]
}

/// So many disks after some commands.
#[cfg(any(test, feature = "explore"))]
pub(super) fn prepared(host: &Host, disks: usize, setup: &[Command]) -> Result<Vec<Image>> {
    let mut images = fresh(disks, DISK_SIZE);
    for (number, command) in setup.iter().enumerate() {
        images = run(host, &images, *command, number as u64 * 1000, Blocks::Small)?;
    }
    Ok(images)
}

/// The disks of a case before its command.
pub(super) fn prepare(host: &Host, case: &Case) -> Result<Vec<Image>> {
    let size = if case.has_checksums() {
        LARGE_DISK_SIZE
    } else {
        DISK_SIZE
    };
    let mut images = fresh(case.disks, size);
    let mut before = images.clone();
    for (number, command) in case.setup.iter().enumerate() {
        before.clone_from(&images);
        let is_away = case.mishap == Mishap::LastAway && number + 1 == case.setup.len();
        if is_away {
            images[case.disks - 1] = Image::new(size);
        }
        images = run(host, &images, *command, number as u64 * 1000, case.blocks)?;
    }
    match case.mishap {
        Mishap::None => {}
        Mishap::FirstStale => images[0] = before[0].clone(),
        Mishap::LastAway => images[case.disks - 1] = before[case.disks - 1].clone(),
        Mishap::LastLost => images[case.disks - 1] = Image::new(size),
        Mishap::InTheMiddle => {
            for image in &mut images {
                put_in_the_middle(host, image);
            }
        }
        Mishap::FirstStaleLastLost => {
            images[0] = before[0].clone();
            images[case.disks - 1] = Image::new(size);
        }
    }
    Ok(images)
}

fn run(
    host: &Host,
    images: &[Image],
    command: Command,
    first: u64,
    blocks: Blocks,
) -> Result<Vec<Image>> {
    let devices = devices(images, blocks);
    command.run(host, &devices, FlushPolicy::Strict, first)?;
    contents(&devices)
}

/// Moves the text of each area to where the free parts of the ring before it and behind it are
/// equally large.
fn put_in_the_middle(host: &Host, image: &mut Image) {
    let found = scan(host, std::slice::from_ref(image));
    let areas = found.physical_volumes.iter().flat_map(|pv| &pv.areas);
    for header in areas.filter_map(|area| area.header) {
        let area = image.bytes(Range::new(header.start.0, header.size.0));
        let text = header.committed.as_ref();
        let Some(text) = text.and_then(|text| Ring::new(&header).text(&area, text).ok()) else {
            continue;
        };
        let middle = (header.size.0 - text.len() as u64) / 2;
        let middle = Bytes(middle - middle % SECTOR_SIZE);
        image.write(header.start.0 + middle.0, &text);
        // Only the commits of commands make headers; this one is told where its text went.
        let mut sector = area[..AREA_HEADER_SIZE].to_vec();
        sector[PLACE].copy_from_slice(&middle.0.to_le_bytes());
        let sum = checksum(&sector[SUM.end..]);
        sector[SUM].copy_from_slice(&sum.to_le_bytes());
        image.write(header.start.0, &sector);
    }
}

/// What devices hold.
pub(super) fn contents(devices: &[Arc<dyn Device>]) -> Result<Vec<Image>> {
    let read = |device: &Arc<dyn Device>| Image::of_device(&**device).map_err(unusable);
    devices.iter().map(read).collect()
}

fn unusable(error: block::Error) -> Error {
    Error::new(Kind::Device, "a simulated disk failed").because(error)
}
