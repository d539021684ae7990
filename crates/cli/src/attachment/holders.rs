//! Who has a block device open.
//!
//! The kernel does not count openers where a process could read it, so the links of every
//! process's open files are read. Only `fd` links and `comm` are looked at: a process's command
//! line lies in its memory, and reading it waits for a process that is stuck in a page fault.

use std::path::Path;
use std::time::{Duration, Instant};

use block::Result;

/// How long somebody may have a device open without being named as its user.
const GLANCE_MAX: Duration = Duration::from_secs(1);
const INTERVAL: Duration = Duration::from_millis(20);

/// A process that has a device open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Holder {
    /// Its number.
    pub(crate) pid: u32,
    /// Its name, as the kernel cuts it.
    pub(crate) name: String,
}

/// The processes beside `server` that have `node` open, as far as this user may see them.
pub(crate) fn holders(node: &Path, server: u32) -> Vec<Holder> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut found: Vec<Holder> = numbers
        .filter(|&pid| pid != server && pid != std::process::id() && has_open(pid, node))
        .map(|pid| {
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            Holder {
                pid,
                name: name.trim_end().to_owned(),
            }
        })
        .collect();
    found.sort_by_key(|holder| holder.pid);
    found
}

/// What `is_unused` says when whoever had just a look is gone: programs that list devices open each
/// of them for a moment.
pub(crate) fn after_glances(is_unused: impl Fn() -> Result<()>) -> Result<()> {
    let end = Instant::now() + GLANCE_MAX;
    loop {
        match is_unused() {
            Err(_) if Instant::now() < end => std::thread::sleep(INTERVAL),
            said => return said,
        }
    }
}

fn has_open(pid: u32, node: &Path) -> bool {
    let links = std::fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten()
        .flatten();
    links
        .filter_map(|link| std::fs::read_link(link.path()).ok())
        .any(|target| target == node)
}
