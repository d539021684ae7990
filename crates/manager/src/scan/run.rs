//! Looking at all devices at once, without waiting for one that does not answer.
//!
//! A few threads take devices from a list. A device that has not answered after the time limit is
//! reported and left behind with its thread, which a stuck kernel call holds; another thread takes
//! its place, so that one dead disk costs the limit once and hides nothing else.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use block::Device;

use super::assemble::assemble;
use super::finding::{Finding, FindingKind, Severity};
use super::found::Scan;
use super::probe::{Probed, ProbedContent, probe, probe_source};
use super::source::Source;
use super::texts::Texts;
use crate::host::{Candidate, DeviceSource, Host, KernelPartitions, Location, Origin};
use crate::{Error, Kind, Result};

/// How a scan is done.
#[derive(Debug, Clone)]
pub struct Options {
    /// How long a device may take before the scan goes on without it.
    pub time_limit: Duration,
    /// How many devices are looked at at once, at least 1.
    pub threads_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        // A disk that spins up answers after ten seconds or so. Threads wait, they do not compute.
        Self {
            time_limit: Duration::from_secs(30),
            threads_max: 16,
        }
    }
}

/// Looks at the devices of `source`.
///
/// Fails only where the configuration cannot be used; everything else is a finding. No lock is
/// taken, so another program may be in the middle of a commit: where areas look damaged or
/// different, everything is looked at a second time, which tells.
pub fn scan(host: &Host, source: &DeviceSource, options: &Options) -> Result<Scan> {
    let once = || -> Result<Scan> {
        let candidates = host.candidates(source)?;
        let probed = probe_all(candidates.devices, options, probe)?;
        Ok(assemble(probed, host, candidates.findings))
    };
    let scan = once()?;
    if may_be_passing(&scan.findings) {
        once()
    } else {
        Ok(scan)
    }
}

/// Looks at devices that are open already, known by these names; for devices that are no files.
pub fn scan_devices(host: &Host, devices: &[(String, Arc<dyn Device>)]) -> Scan {
    let texts = Texts::default();
    let look = |(name, device): &(String, Arc<dyn Device>)| {
        let candidate = Candidate {
            name: name.clone(),
            location: Location::whole(name),
            number: None,
            id: None,
            partition: None,
            origin: Origin::Named,
            kernel_partitions: KernelPartitions::Absent,
            skip: None,
        };
        probe_source(
            &candidate,
            &Source::of_device(Arc::clone(device), name),
            &texts,
        )
    };
    assemble(devices.iter().flat_map(look).collect(), host, Vec::new())
}

/// Whether a commit that is under way looks like this, and looking again does not cost the time
/// limit of a dead device again.
fn may_be_passing(findings: &[Finding]) -> bool {
    let has = |kinds: &[FindingKind]| findings.iter().any(|finding| kinds.contains(&finding.kind));
    let torn = [
        FindingKind::DamagedArea,
        FindingKind::DamagedText,
        FindingKind::StaleArea,
        FindingKind::Disagreement,
    ];
    has(&torn) && !has(&[FindingKind::TimedOut])
}

/// What the threads share.
struct Work {
    candidates: Vec<Candidate>,
    probe: Probe,
    texts: Texts,
    progress: Mutex<Progress>,
}

struct Progress {
    next: usize,
    /// When the devices that are being looked at were begun, by index.
    begun: HashMap<usize, Instant>,
}

/// How a device is looked at; tests bring their own.
type Probe = fn(&Candidate, &Texts) -> Vec<Probed>;

type Answer = (usize, Vec<Probed>);

fn probe_all(candidates: Vec<Candidate>, options: &Options, probe: Probe) -> Result<Vec<Probed>> {
    let count = candidates.len();
    let progress = Mutex::new(Progress {
        next: 0,
        begun: HashMap::new(),
    });
    let work = Arc::new(Work {
        candidates,
        probe,
        texts: Texts::default(),
        progress,
    });
    let (sender, receiver) = channel();
    for _ in 0..options.threads_max.max(1).min(count) {
        start_thread(&work, &sender)?;
    }
    let mut answers: Vec<Option<Vec<Probed>>> = (0..count).map(|_| None).collect();
    let mut missing = count;
    while missing > 0 {
        let Some(answer) = next_answer(&work, &receiver, options.time_limit) else {
            for late in give_up(&work, options.time_limit) {
                start_thread(&work, &sender)?;
                missing -= usize::from(answers[late.0].is_none());
                answers[late.0].get_or_insert(late.1);
            }
            continue;
        };
        // The answer of a device that was given up may still come; it is too late.
        if answers[answer.0].is_none() {
            missing -= 1;
            answers[answer.0] = Some(answer.1);
        }
    }
    Ok(answers.into_iter().flatten().flatten().collect())
}

fn start_thread(work: &Arc<Work>, sender: &Sender<Answer>) -> Result<()> {
    let (work, sender) = (Arc::clone(work), sender.clone());
    let thread = thread::Builder::new()
        .name("scan".to_owned())
        .spawn(move || {
            while let Some(index) = work.take() {
                let probed = work.probe_safely(&work.candidates[index]);
                work.lock().begun.remove(&index);
                // The scan may have ended without this device.
                let _ = sender.send((index, probed));
            }
        });
    match thread {
        Ok(_) => Ok(()),
        Err(error) => Err(Error::new(Kind::Device, "cannot start a thread to scan").because(error)),
    }
}

/// The next answer; `None` when a device has used up its time.
fn next_answer(work: &Work, receiver: &Receiver<Answer>, limit: Duration) -> Option<Answer> {
    let oldest = work.lock().begun.values().min().copied();
    let wait = oldest.map_or(limit, |begun| limit.saturating_sub(begun.elapsed()));
    match receiver.recv_timeout(wait) {
        Ok(answer) => Some(answer),
        Err(RecvTimeoutError::Timeout) => None,
        Err(RecvTimeoutError::Disconnected) => unreachable!("the caller holds a sender"),
    }
}

/// The devices whose time is up.
fn give_up(work: &Work, limit: Duration) -> Vec<Answer> {
    let mut progress = work.lock();
    let late: Vec<usize> = progress
        .begun
        .iter()
        .filter(|(_, begun)| begun.elapsed() >= limit)
        .map(|(index, _)| *index)
        .collect();
    let give_up = |index: usize| {
        progress.begun.remove(&index);
        let candidate = &work.candidates[index];
        let mut probed = Probed::new(candidate, ProbedContent::Unreadable);
        let message = format!(
            "{} did not answer within {} s",
            candidate.name,
            limit.as_secs_f32()
        );
        let finding = Finding::new(FindingKind::TimedOut, Severity::Error, message);
        probed
            .findings
            .push(finding.remedy("check the device, or leave it out with --devices"));
        (index, vec![probed])
    };
    late.into_iter().map(give_up).collect()
}

impl Work {
    /// No bytes on a disk may make a probe panic. If they do all the same, this device is lost and
    /// the others are not.
    fn probe_safely(&self, candidate: &Candidate) -> Vec<Probed> {
        let probe = AssertUnwindSafe(|| (self.probe)(candidate, &self.texts));
        catch_unwind(probe).unwrap_or_else(|_| {
            let mut probed = Probed::new(candidate, ProbedContent::Unreadable);
            let message = format!("{}: looking at it failed, which is a bug", candidate.name);
            let finding = Finding::new(FindingKind::Unreadable, Severity::Error, message);
            probed
                .findings
                .push(finding.remedy("report it with the first MiB of the device"));
            vec![probed]
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The index of a device that nobody has looked at.
    fn take(&self) -> Option<usize> {
        let mut progress = self.lock();
        let index = progress.next;
        (index < self.candidates.len()).then(|| {
            progress.next += 1;
            progress.begun.insert(index, Instant::now());
            index
        })
    }
}

#[cfg(test)]
mod tests;
