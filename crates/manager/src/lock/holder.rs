//! Who holds a lock, as far as `/proc/locks` tells.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Words that name the processes that hold a lock on `file`, for an error; empty if unknown.
pub(super) fn holders(file: &File) -> String {
    let (Ok(metadata), Ok(locks)) = (file.metadata(), std::fs::read_to_string("/proc/locks"))
    else {
        return String::new();
    };
    let device = metadata.dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let place = format!("{major:02x}:{minor:02x}:{}", metadata.ino());
    let names: Vec<String> = pids(&locks, &place).map(describe).collect();
    if names.is_empty() {
        String::new()
    } else {
        format!(" by {}", names.join(", "))
    }
}

/// The processes in a text of `/proc/locks` that hold a lock on the file at `place`.
pub(super) fn pids<'a>(locks: &'a str, place: &'a str) -> impl Iterator<Item = u32> + 'a {
    locks.lines().filter_map(move |line| {
        // "1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF"; who waits has "->" in front.
        let words: Vec<&str> = line.split_whitespace().collect();
        let holds = words.get(1) != Some(&"->") && words.get(5) == Some(&place);
        holds.then(|| words[4].parse().ok()).flatten()
    })
}

/// Whether another ashlar that can be seen has the file open.
pub(crate) fn is_open_elsewhere(file: &impl AsFd) -> bool {
    !openers(file).is_empty()
}

/// Words that name the ashlars that have the file open, for an error; empty if none can be seen.
/// Which of them holds a lock of an open file the kernel does not tell.
pub(super) fn openers(file: &impl AsFd) -> String {
    let own = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    let Ok(wanted) = std::fs::read_link(own) else {
        return String::new();
    };
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut found: Vec<u32> = numbers
        .filter(|pid| *pid != std::process::id() && is_ashlar(*pid) && has_open(*pid, &wanted))
        .collect();
    found.sort_unstable();
    let names: Vec<String> = found.iter().map(|pid| format!("process {pid}")).collect();
    if names.is_empty() {
        String::new()
    } else {
        format!(" ({})", names.join(", "))
    }
}

fn is_ashlar(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "ashlar")
}

/// By the names of files alone: to look at the files themselves would wait for stuck servers.
fn has_open(pid: u32, wanted: &Path) -> bool {
    let links = std::fs::read_dir(format!("/proc/{pid}/fd"));
    let mut links = links.into_iter().flatten().flatten();
    links.any(|link| std::fs::read_link(link.path()).is_ok_and(|target| target == wanted))
}

fn describe(pid: u32) -> String {
    match std::fs::read_to_string(format!("/proc/{pid}/comm")) {
        Ok(name) => format!("{} (process {pid})", name.trim()),
        Err(_) => format!("process {pid}"),
    }
}
