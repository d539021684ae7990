//! Processor time: of this process, and of the kernel's workers that serve loop devices.
//!
//! The clock of the process counts all of its threads: clients, servers, and the workers of
//! `io_uring`. A loop device is served by workers of the kernel that belong to no process; whom one
//! serves, or served last, is in its name (`kworker/u8:3+loop0`), and what it used in
//! `/proc/PID/schedstat`, to the nanosecond. A worker that served one of ours at the beginning or
//! the end of a slice is counted for the whole of it.

use std::collections::BTreeMap;
use std::fs;

use rustix::time::{ClockId, clock_gettime};

/// Processor time of this process until now, in nanoseconds.
pub(super) fn process_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The kernel's workers at a moment.
#[derive(Debug, Default)]
pub(super) struct Workers(BTreeMap<u32, (String, u64)>);

impl Workers {
    /// All of them now; none if no loop device is asked about.
    pub(super) fn look(devices: &[String]) -> Self {
        if devices.is_empty() {
            return Self::default();
        }
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let worker = |id: u32| {
            let name = fs::read_to_string(format!("/proc/{id}/comm")).ok()?;
            let name = name.trim_end();
            let is_worker = name.starts_with("kworker/") || device(name) == Some(name);
            let text = is_worker.then(|| fs::read_to_string(format!("/proc/{id}/schedstat")));
            let used = text?.ok()?.split(' ').next()?.parse().ok()?;
            Some((id, (name.to_owned(), used)))
        };
        Self(processes.filter_map(worker).collect())
    }

    /// What those of `devices` used since `before`, in nanoseconds.
    pub(super) fn since(&self, before: &Self, devices: &[String]) -> u64 {
        let ours = |name: &str| device(name).is_some_and(|one| devices.iter().any(|d| d == one));
        let used = |(id, (name, now)): (&u32, &(String, u64))| {
            let was = before.0.get(id);
            let is_ours = ours(name) || was.is_some_and(|(name, _)| ours(name));
            let used = now.saturating_sub(was.map_or(0, |(_, used)| *used));
            if is_ours { used } else { 0 }
        };
        self.0.iter().map(used).sum()
    }
}

/// The loop device that a worker of this name serves or served last.
fn device(name: &str) -> Option<&str> {
    let last = name.rsplit(['+', '-']).next()?;
    let number = last.strip_prefix("loop")?;
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(last)
}
