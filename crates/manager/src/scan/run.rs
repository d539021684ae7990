//! Looking at all devices at once, without waiting for one that does not answer.
//!
//! Threads take devices from a list. The first one begins alone: a few devices that answer at once
//! are done before others would have started. As long as devices are waiting, the threads double
//! every few milliseconds. A device that has not answered after the time limit is reported and left
//! behind with its thread, which a stuck kernel call holds; another thread takes its place, so that
//! one dead disk costs the limit once and hides nothing else.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use block::Device;

use super::assemble::assemble;
use super::finding::{Finding, FindingKind, Severity};
use super::found::Scan;
use super::probe::{Probed, ProbedContent, probe, probe_source};
use super::source::Source;
use super::texts::Texts;
use crate::host::{Candidate, DeviceSource, Host, Location};
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
        let candidate = Candidate::named(name, Location::whole(name));
        let source = Source::of_device(Arc::clone(device), name);
        probe_source(&candidate, &source, &texts)
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

/// How long the threads there are may take before there are twice as many: longer than a handful
/// of disks needs that answer at once, shorter than one turn of a disk that does not.
const PATIENCE: Duration = Duration::from_millis(4);

/// What the threads share.
struct Work {
    candidates: Vec<Candidate>,
    probe: Probe,
    texts: Texts,
    progress: Mutex<Progress>,
    /// Told when the last answer is there.
    all_answered: Condvar,
}

struct Progress {
    next: usize,
    /// When the devices that are being looked at were begun, by index.
    begun: HashMap<usize, Instant>,
    /// What was found on each device, or that it was given up.
    answers: Vec<Option<Vec<Probed>>>,
    /// How many answers are not there yet.
    missing: usize,
}

/// How a device is looked at; tests bring their own.
type Probe = fn(&Candidate, &Texts) -> Vec<Probed>;

fn probe_all(candidates: Vec<Candidate>, options: &Options, probe: Probe) -> Result<Vec<Probed>> {
    let count = candidates.len();
    let progress = Mutex::new(Progress {
        next: 0,
        begun: HashMap::new(),
        answers: (0..count).map(|_| None).collect(),
        missing: count,
    });
    let work = Arc::new(Work {
        candidates,
        probe,
        texts: Texts::default(),
        progress,
        all_answered: Condvar::new(),
    });
    let threads_max = options.threads_max.max(1).min(count);
    let mut threads = threads_max.min(1);
    for _ in 0..threads {
        start_thread(&work)?;
    }
    loop {
        let unbegun = match work.wait(options.time_limit, threads < threads_max) {
            Waited::Answered(answers) => return Ok(answers),
            Waited::Late(replaced) => {
                for _ in 0..replaced {
                    start_thread(&work)?;
                }
                continue;
            }
            Waited::Slow(unbegun) => unbegun,
        };
        work.texts.parse_at_once();
        let more = threads.min(threads_max - threads).min(unbegun);
        for _ in 0..more {
            start_thread(&work)?;
        }
        threads += more;
    }
}

fn start_thread(work: &Arc<Work>) -> Result<()> {
    let work = Arc::clone(work);
    let thread = thread::Builder::new()
        .name("scan".to_owned())
        .spawn(move || {
            while let Some(index) = work.take() {
                let probed = work.probe_safely(&work.candidates[index]);
                work.answer(index, probed);
            }
        });
    match thread {
        Ok(_) => Ok(()),
        Err(error) => Err(Error::new(Kind::Device, "cannot start a thread to scan").because(error)),
    }
}

/// How a wait ended.
enum Waited {
    /// All answers are there.
    Answered(Vec<Probed>),
    /// So many devices, at least one, were given up; each holds its thread.
    Late(usize),
    /// So many devices, at least one, are waiting for a thread.
    Slow(usize),
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

    /// Waits for all answers; until devices have used up their time, or, where there may be more
    /// threads, until those there are have had time for what is easy.
    fn wait(&self, limit: Duration, may_grow: bool) -> Waited {
        let patience_ends = Instant::now() + PATIENCE;
        let mut progress = self.lock();
        loop {
            if progress.missing == 0 {
                let answers = std::mem::take(&mut progress.answers);
                return Waited::Answered(answers.into_iter().flatten().flatten().collect());
            }
            let now = Instant::now();
            let late = self.give_up(&mut progress, now, limit);
            if late > 0 {
                return Waited::Late(late);
            }
            let oldest = progress.begun.values().min().copied();
            let mut until = oldest.unwrap_or(now) + limit;
            let unbegun = self.candidates.len() - progress.next;
            if may_grow && unbegun > 0 {
                if now >= patience_ends {
                    return Waited::Slow(unbegun);
                }
                until = until.min(patience_ends);
            }
            let (guard, _) = self
                .all_answered
                .wait_timeout(progress, until.saturating_duration_since(now))
                .unwrap_or_else(PoisonError::into_inner);
            progress = guard;
        }
    }

    /// Answers for the devices whose time is up, and returns how many they are.
    fn give_up(&self, progress: &mut Progress, now: Instant, limit: Duration) -> usize {
        let late: Vec<usize> = progress
            .begun
            .iter()
            .filter(|(_, begun)| now.saturating_duration_since(**begun) >= limit)
            .map(|(index, _)| *index)
            .collect();
        for index in &late {
            let candidate = &self.candidates[*index];
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
            progress.set(*index, vec![probed]);
        }
        late.len()
    }

    fn answer(&self, index: usize, probed: Vec<Probed>) {
        let mut progress = self.lock();
        progress.set(index, probed);
        if progress.missing == 0 {
            self.all_answered.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
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

impl Progress {
    /// Keeps an answer. One of a device that was given up may still come: it is too late, as is
    /// one that comes when the scan has ended.
    fn set(&mut self, index: usize, probed: Vec<Probed>) {
        self.begun.remove(&index);
        if let Some(answer @ None) = self.answers.get_mut(index) {
            *answer = Some(probed);
            self.missing -= 1;
        }
    }
}

#[cfg(test)]
mod tests;
