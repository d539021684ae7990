//! Who holds a lock, as far as `/proc/locks` tells.

use std::fs::File;
use std::os::unix::fs::MetadataExt;

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

fn describe(pid: u32) -> String {
    match std::fs::read_to_string(format!("/proc/{pid}/comm")) {
        Ok(name) => format!("{} (process {pid})", name.trim()),
        Err(_) => format!("process {pid}"),
    }
}
