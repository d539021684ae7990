//! Looking at all devices at once, without waiting for one that does not answer.
//!
//! Threads take devices from a list and go one step with each: see `stage`. The first one begins
//! alone: a few devices that answer at once are done before others would have started. As long as
//! devices are waiting, the threads double every few milliseconds. A device that has not answered
//! after the time limit is reported and left behind with its thread, which a stuck kernel call
//! holds; another thread takes its place, so that one dead disk costs the limit once and hides
//! nothing else.
//!
//! Who waits for the first thread parses what it brings meanwhile: reading waits for disks, parsing
//! for a processor.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use block::Device;

use super::again::Looked;
use super::arrays::with_arrays;
use super::assemble::assemble;
use super::decisions::log_decisions;
use super::finding::{Finding, FindingKind, Severity};
use super::found::Scan;
use super::probe::{Probed, ProbedContent, probe_source, read_head};
use super::source::Source;
use super::stage::{Stage, step};
use super::texts::Texts;
use crate::host::{Candidate, DeviceSource, Host, Location};
use crate::{Error, Kind, Result, log};

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
        let looked = look_at(candidates.devices, Texts::default(), options)?;
        let probed = with_arrays(&looked, options.time_limit);
        Ok(assemble((looked, probed), host, candidates.findings))
    };
    look_twice(once)
}

/// Looks `once`, and once more where what was seen may be a commit that is under way.
pub(crate) fn look_twice(once: impl Fn() -> Result<Scan>) -> Result<Scan> {
    let mut scan = once()?;
    if may_be_passing(&scan.findings) {
        log::debug(|| "Areas look damaged or different: looking again.".to_owned());
        scan = once()?;
    }
    log_decisions(&scan);
    Ok(scan)
}

/// Looks at these devices, each as it is now.
pub(super) fn look_at(
    candidates: Vec<Candidate>,
    texts: Texts,
    options: &Options,
) -> Result<Vec<Looked>> {
    let probed = probe_all(candidates.clone(), texts, options, step)?;
    assert_eq!(probed.len(), candidates.len(), "each device has its answer");
    let looked = candidates.into_iter().zip(probed);
    Ok(looked
        .map(|(candidate, probed)| Looked { candidate, probed })
        .collect())
}

/// Looks at devices that are open already, known by these names; for devices that are no files.
pub fn scan_devices(host: &Host, devices: &[(String, Arc<dyn Device>)]) -> Scan {
    let texts = Texts::default();
    let look = |(name, device): &(String, Arc<dyn Device>)| {
        let candidate = Candidate::named(name, Location::whole(name));
        let source = Source::of_device(Arc::clone(device), name);
        let probed = probe_source(&candidate, &source, read_head(&source), &texts);
        Looked { candidate, probed }
    };
    let looked: Vec<Looked> = devices.iter().map(look).collect();
    let probed = with_arrays(&looked, Options::default().time_limit);
    assemble((looked, probed), host, Vec::new())
}

/// Whether a commit that is under way looks like this, and looking again does not cost the time
/// limit of a dead device again.
pub(super) fn may_be_passing(findings: &[Finding]) -> bool {
    let has = |kinds: &[FindingKind]| findings.iter().any(|finding| kinds.contains(&finding.kind));
    let torn = [
        FindingKind::DamagedArea,
        FindingKind::DamagedText,
        FindingKind::StaleArea,
        FindingKind::Disagreement,
        // A group is getting another UUID.
        FindingKind::DuplicateName,
    ];
    has(&torn) && !has(&[FindingKind::TimedOut])
}

/// How long the threads there are may take before there are twice as many: longer than a handful
/// of disks needs that answer at once, shorter than one turn of a disk that does not.
const PATIENCE: Duration = Duration::from_millis(4);

/// What the threads share.
struct Work {
    candidates: Vec<Candidate>,
    step: Step,
    texts: Texts,
    progress: Mutex<Progress>,
    /// Told when the last answer is there, and when there is a text to be parsed.
    news: Condvar,
}

struct Progress {
    /// The first device of which nothing was done.
    next: usize,
    /// Devices that wait for their next step, by index.
    waiting: VecDeque<(usize, Stage)>,
    /// When the steps that are being made were begun, by the device's index.
    begun: HashMap<usize, Instant>,
    /// What was found on each device, or that it was given up.
    answers: Vec<Option<Vec<Probed>>>,
    /// How many answers are not there yet.
    missing: usize,
}

/// How many devices may be waiting for their next step: each is an open file.
const WAITING_MAX: usize = 16;

/// How a device is looked at; tests bring their own.
type Step = fn(Stage, &Candidate, &Texts) -> Stage;

/// What was found on each device and its partitions, in the order of the devices.
fn probe_all(
    candidates: Vec<Candidate>,
    texts: Texts,
    options: &Options,
    step: Step,
) -> Result<Vec<Vec<Probed>>> {
    let count = candidates.len();
    let progress = Mutex::new(Progress {
        next: 0,
        waiting: VecDeque::new(),
        begun: HashMap::new(),
        answers: (0..count).map(|_| None).collect(),
        missing: count,
    });
    let work = Arc::new(Work {
        candidates,
        step,
        texts,
        progress,
        news: Condvar::new(),
    });
    let threads_max = options.threads_max.max(1).min(count);
    let mut threads = threads_max.min(1);
    for _ in 0..threads {
        start_thread(&work)?;
    }
    let mut patience_ends = Instant::now() + PATIENCE;
    loop {
        let may_grow = threads < threads_max;
        let unbegun = match work.wait(options.time_limit, may_grow.then_some(patience_ends)) {
            Waited::Answered(answers) => return Ok(answers),
            Waited::Late(replaced) => {
                for _ in 0..replaced {
                    start_thread(&work)?;
                }
                continue;
            }
            Waited::Slow(unbegun) => unbegun,
            Waited::Text => {
                work.texts.parse_one();
                continue;
            }
        };
        work.texts.parse_at_once();
        let more = threads.min(threads_max - threads).min(unbegun);
        for _ in 0..more {
            start_thread(&work)?;
        }
        threads += more;
        assert!(threads <= threads_max, "threads have a limit");
        patience_ends = Instant::now() + PATIENCE;
    }
}

fn start_thread(work: &Arc<Work>) -> Result<()> {
    let work = Arc::clone(work);
    let thread = thread::Builder::new()
        .name("scan".to_owned())
        .spawn(move || {
            while let Some((index, stage)) = work.take() {
                match work.step_safely(&work.candidates[index], stage) {
                    Stage::Done(probed) => work.answer(index, probed),
                    stage => work.put_back(index, stage),
                }
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
    Answered(Vec<Vec<Probed>>),
    /// So many devices, at least one, were given up; each holds its thread.
    Late(usize),
    /// So many devices, at least one, wait for a thread.
    Slow(usize),
    /// There is a text that nobody has begun to parse.
    Text,
}

impl Work {
    /// No bytes on a disk may make a step panic. If they do all the same, this device is lost and
    /// the others are not.
    fn step_safely(&self, candidate: &Candidate, stage: Stage) -> Stage {
        let step = AssertUnwindSafe(|| (self.step)(stage, candidate, &self.texts));
        catch_unwind(step).unwrap_or_else(|_| {
            let mut probed = Probed::new(candidate, ProbedContent::Unreadable);
            let message = format!("{}: looking at it failed, which is a bug", candidate.name);
            let finding = Finding::new(FindingKind::Unreadable, Severity::Error, message);
            probed
                .findings
                .push(finding.remedy("report it with the first MiB of the device"));
            Stage::Done(vec![probed])
        })
    }

    /// Waits for all answers; until devices have used up their time; until `patience_ends`, where
    /// there may be more threads; or for a text.
    fn wait(&self, limit: Duration, patience_ends: Option<Instant>) -> Waited {
        let mut progress = self.lock();
        loop {
            if progress.missing == 0 {
                let is_whole = progress.answers.iter().all(Option::is_some);
                assert!(is_whole, "each device has its answer");
                let answers = std::mem::take(&mut progress.answers);
                return Waited::Answered(answers.into_iter().flatten().collect());
            }
            let now = Instant::now();
            let late = self.give_up(&mut progress, now, limit);
            if late > 0 {
                return Waited::Late(late);
            }
            let oldest = progress.begun.values().min().copied();
            let mut until = oldest.unwrap_or(now) + limit;
            let unbegun = self.candidates.len() - progress.next + progress.waiting.len();
            if let Some(patience_ends) = patience_ends.filter(|_| unbegun > 0) {
                if now >= patience_ends {
                    return Waited::Slow(unbegun);
                }
                until = until.min(patience_ends);
            }
            if self.texts.has_new() {
                return Waited::Text;
            }
            let (guard, _) = self
                .news
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
        if progress.missing == 0 || self.texts.has_new() {
            self.news.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A device that waits for a step, and how far it has come. New ones come first, so that many
    /// disks are at work.
    fn take(&self) -> Option<(usize, Stage)> {
        let mut progress = self.lock();
        let next = progress.next;
        let may_begin = next < self.candidates.len() && progress.waiting.len() < WAITING_MAX;
        let (index, stage) = if may_begin {
            progress.next += 1;
            (next, Stage::New)
        } else {
            progress.waiting.pop_front()?
        };
        let before = progress.begun.insert(index, Instant::now());
        assert!(before.is_none(), "one thread looks at a device");
        Some((index, stage))
    }

    /// A step was made, and there are more.
    fn put_back(&self, index: usize, stage: Stage) {
        let mut progress = self.lock();
        // One of a device that was given up meanwhile comes too late.
        if progress.begun.remove(&index).is_some() {
            progress.waiting.push_back((index, stage));
        }
    }
}

impl Progress {
    /// Keeps an answer. One of a device that was given up may still come: it is too late, as is
    /// one that comes when the scan has ended.
    fn set(&mut self, index: usize, probed: Vec<Probed>) {
        self.begun.remove(&index);
        if let Some(answer @ None) = self.answers.get_mut(index) {
            *answer = Some(probed);
            assert!(self.missing > 0, "each answers once");
            self.missing -= 1;
        }
    }
}

#[cfg(test)]
mod tests;
