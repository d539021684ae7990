//! Who has a block device open.
//!
//! The kernel does not count openers where a process could read it, so the links of every
//! process's open files are read. Only `fd` links, `comm` and `stat` are looked at: a process's
//! command line lies in its memory, and reading it waits for a process that is stuck in a page
//! fault.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
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

/// The processes beside `server` and its children, which hold nodes for it, that have `node` open,
/// as far as this user may see them.
pub(crate) fn holders(node: &Path, server: u32) -> Vec<Holder> {
    let pids = processes().filter(|&pid| is_holder(pid, server));
    let pids = pids.filter(|&pid| files(pid).any(|file| file == node));
    let mut found: Vec<Holder> = pids
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

/// Those of `places` that others have open than the processes which serve them: all of them by one
/// look at the processes.
pub(crate) fn open_places<'a>(places: &HashMap<&'a Path, u32>) -> HashSet<&'a Path> {
    let mut open = HashSet::new();
    for pid in processes() {
        for file in files(pid) {
            if let Some((place, server)) = places.get_key_value(&*file)
                && is_holder(pid, *server)
            {
                open.insert(*place);
            }
        }
    }
    open
}

fn processes() -> impl Iterator<Item = u32> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
}

fn is_holder(pid: u32, server: u32) -> bool {
    pid != server && pid != std::process::id() && parent(pid) != Some(server)
}

fn files(pid: u32) -> impl Iterator<Item = PathBuf> {
    let links = std::fs::read_dir(format!("/proc/{pid}/fd"));
    let links = links.into_iter().flatten().flatten();
    links.filter_map(|link| std::fs::read_link(link.path()).ok())
}

/// What `is_unused` says when whoever had just a look is gone: programs that list devices open each
/// of them for a moment.
pub(crate) fn after_glances(mut is_unused: impl FnMut() -> Result<()>) -> Result<()> {
    let end = Instant::now() + GLANCE_MAX;
    loop {
        match is_unused() {
            Err(_) if Instant::now() < end => std::thread::sleep(INTERVAL),
            said => return said,
        }
    }
}

/// The parent of a process: the second word behind its name, which may hold anything.
fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, behind) = stat.rsplit_once(") ")?;
    behind.split(' ').nth(1)?.parse().ok()
}
