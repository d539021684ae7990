//! Who holds a lock, as far as `/proc` tells.

use std::fs::{File, Metadata};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Words that name the processes that hold a lock on `file`, for an error; empty if unknown.
pub(super) fn holders(file: &File) -> String {
    let (Ok(metadata), Ok(locks)) = (file.metadata(), std::fs::read_to_string("/proc/locks"))
    else {
        return String::new();
    };
    let place = place(&metadata);
    let names: Vec<String> = pids(&locks, &place).map(describe).collect();
    if names.is_empty() {
        String::new()
    } else {
        format!(" by {}", names.join(", "))
    }
}

/// Whether ashlars, and nobody else, have `file` locked, all of them shared: they serve a group.
pub(super) fn is_served(file: &File) -> bool {
    let (Ok(metadata), Ok(locks)) = (file.metadata(), std::fs::read_to_string("/proc/locks"))
    else {
        return false;
    };
    let place = place(&metadata);
    let mut held = locks.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let holds = words.get(1) != Some(&"->") && words.get(5) == Some(&place.as_str());
        holds.then(|| words[3] == "READ" && words[4].parse().is_ok_and(is_ashlar))
    });
    let first = held.next();
    first == Some(true) && held.all(|is_reader| is_reader)
}

/// How `/proc/locks` names a file.
fn place(metadata: &Metadata) -> String {
    let device = metadata.dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    format!("{major:02x}:{minor:02x}:{}", metadata.ino())
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

/// The processes, beside this one, that hold one of `bytes` of `file` locked through an open file.
/// Of such locks `/proc/locks` names nobody; what is said of each open file does, to its user and
/// to root.
pub(super) fn byte_holders(file: &impl AsFd, bytes: &[u64]) -> Vec<u32> {
    let own = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    let (Ok(wanted), Ok(stat)) = (std::fs::read_link(own), rustix::fs::fstat(file)) else {
        return Vec::new();
    };
    let is_it = |pid: u32, number: &str| {
        let link = std::fs::read_link(format!("/proc/{pid}/fd/{number}"));
        let text = std::fs::read_to_string(format!("/proc/{pid}/fdinfo/{number}"));
        link.is_ok_and(|link| link == wanted)
            && text.is_ok_and(|text| bytes.iter().any(|byte| has_lock(&text, stat.st_ino, *byte)))
    };
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut found: Vec<u32> = numbers
        .filter(|pid| {
            let files = std::fs::read_dir(format!("/proc/{pid}/fd"));
            let mut files = files.into_iter().flatten().flatten();
            *pid != std::process::id()
                && files.any(|file| is_it(*pid, &file.file_name().to_string_lossy()))
        })
        .collect();
    found.sort_unstable();
    found
}

/// Whether the text of an open file says that it holds `byte` of the file with this inode.
pub(super) fn has_lock(text: &str, inode: u64, byte: u64) -> bool {
    // "lock:\t1: OFDLCK ADVISORY  READ -1 08:01:5678 100 101"
    text.lines()
        .filter(|line| line.starts_with("lock:"))
        .any(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [_, _, "OFDLCK", _, _, _, place, first, last] = words[..] else {
                return false;
            };
            let of_inode = place.rsplit(':').next() == Some(&inode.to_string());
            let first = first.parse::<u64>();
            let last = if last == "EOF" {
                Ok(u64::MAX)
            } else {
                last.parse()
            };
            of_inode
                && matches!((first, last), (Ok(first), Ok(last)) if (first..=last).contains(&byte))
        })
}

/// Whether another ashlar that can be seen has the file open.
pub(crate) fn is_open_elsewhere(file: &impl AsFd) -> bool {
    !openers(file).is_empty()
}

/// Words that name the ashlars that hold `byte` of `file` locked, for an error; where the kernel
/// does not tell, those that have the file open; empty if none can be seen.
pub(super) fn ashlars(file: &impl AsFd, byte: u64) -> String {
    let mut found = byte_holders(file, &[byte]);
    if found.is_empty() {
        found = openers(file);
    }
    let names: Vec<String> = found.iter().map(|pid| format!("process {pid}")).collect();
    if names.is_empty() {
        String::new()
    } else {
        format!(" ({})", names.join(", "))
    }
}

/// The ashlars that have the file open.
fn openers(file: &impl AsFd) -> Vec<u32> {
    let own = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    let Ok(wanted) = std::fs::read_link(own) else {
        return Vec::new();
    };
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut found: Vec<u32> = numbers
        .filter(|pid| *pid != std::process::id() && is_ashlar(*pid) && has_open(*pid, &wanted))
        .collect();
    found.sort_unstable();
    found
}

/// By the usual name of the program, or since it is the one that runs here.
fn is_ashlar(pid: u32) -> bool {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm"));
    let program = |process: &str| std::fs::read_link(format!("/proc/{process}/exe")).ok();
    let own = program("self");
    name.is_ok_and(|name| name.trim() == "ashlar")
        || own.is_some() && program(&pid.to_string()) == own
}

/// By the names of files alone: to look at the files themselves would wait for stuck servers.
fn has_open(pid: u32, wanted: &Path) -> bool {
    let links = std::fs::read_dir(format!("/proc/{pid}/fd"));
    let mut links = links.into_iter().flatten().flatten();
    links.any(|link| std::fs::read_link(link.path()).is_ok_and(|target| target == wanted))
}

/// A process by its name and number.
pub(super) fn describe(pid: u32) -> String {
    match std::fs::read_to_string(format!("/proc/{pid}/comm")) {
        Ok(name) => format!("{} (process {pid})", name.trim()),
        Err(_) => format!("process {pid}"),
    }
}
