//! The kernel's share of our own work: threads that serve our loop devices.
//!
//! A loop device over a FUSE file is served by the kernel's workers, which belong to no process.
//! Their work is ours where the device is: where its backing file lies in one of this process's
//! scratch folders. Whom a worker serves, or served last, is in its name (`kworker/u8:3+loop0`; a
//! thread `loop0` of its own on old kernels), and changes. So a thread looks at all of them once a
//! second, and takes what one used since the last look for the work of its name.
//!
//! Does not: tell two devices apart that share a worker within a second. Costs a thousandth of a
//! processor.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Time between two looks.
const PERIOD: Duration = Duration::from_secs(1);

/// Watches until it is stopped.
pub(in super::super) struct Watch {
    stop: Sender<()>,
    thread: JoinHandle<u32>,
}

impl Watch {
    /// Begins.
    pub(in super::super) fn start() -> Self {
        let (stop, stopped) = channel();
        let thread = thread::spawn(move || {
            let mut ledger = Ledger::default();
            loop {
                look(&mut ledger);
                match stopped.recv_timeout(PERIOD) {
                    Err(RecvTimeoutError::Timeout) => {}
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
                }
            }
            look(&mut ledger);
            ledger.ours
        });
        Self { stop, thread }
    }

    /// Ends, and says how many ticks the kernel worked for our devices.
    pub(in super::super) fn stop(self) -> f64 {
        drop(self.stop);
        let ticks = self.thread.join().expect("looking does not panic");
        f64::from(ticks)
    }
}

/// What the workers used until now.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    ticks: HashMap<u32, u32>,
    /// Whether there was a look before this one: a worker not seen in it is new.
    has_looked: bool,
    ours: u32,
}

impl Ledger {
    /// A look at all workers: thread, name, and the ticks it ever used.
    pub(super) fn note<'a>(
        &mut self,
        workers: impl Iterator<Item = (u32, &'a str, u32)>,
        is_ours: impl Fn(&str) -> bool,
    ) {
        for (thread, name, ticks) in workers {
            let before = self.ticks.insert(thread, ticks);
            let before = before.unwrap_or(if self.has_looked { 0 } else { ticks });
            if device(name).is_some_and(&is_ours) {
                self.ours += ticks.saturating_sub(before);
            }
        }
        self.has_looked = true;
    }

    /// Ticks spent for our devices.
    #[cfg(test)]
    pub(super) fn ours(&self) -> u32 {
        self.ours
    }
}

fn look(ledger: &mut Ledger) {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let texts: Vec<(u32, String)> = processes
        .filter_map(|id| Some((id, fs::read_to_string(format!("/proc/{id}/stat")).ok()?)))
        .collect();
    let workers = texts.iter().filter_map(|(id, text)| {
        let (name, ticks) = worker(text)?;
        Some((*id, name, ticks))
    });
    let mark = format!("/ashlar-test-{}-", std::process::id());
    ledger.note(workers, |device| {
        let backing = Path::new("/sys/block")
            .join(device)
            .join("loop/backing_file");
        fs::read_to_string(backing).is_ok_and(|file| file.contains(&mark))
    });
}

/// Name and ticks of a kernel's worker, from its `/proc/PID/stat`; nothing of other threads.
pub(super) fn worker(stat: &str) -> Option<(&str, u32)> {
    let (_, rest) = stat.split_once('(')?;
    let (name, numbers) = rest.rsplit_once(") ")?;
    if !name.starts_with("kworker/") && device(name) != Some(name) {
        return None;
    }
    // From the state on, which is field 3; utime and stime are fields 14 and 15.
    let times = numbers.split(' ').skip(11).take(2);
    let ticks = times.filter_map(|word| word.parse::<u32>().ok()).sum();
    Some((name, ticks))
}

/// The loop device that a worker of this name serves or served last.
fn device(name: &str) -> Option<&str> {
    let last = name.rsplit(['+', '-']).next()?;
    let number = last.strip_prefix("loop")?;
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(last)
}

#[cfg(test)]
mod tests;
