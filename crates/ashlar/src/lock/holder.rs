//! Who holds a lock, as far as `/proc` tells.

use std::fs::{File, Metadata};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::MetadataExt;

/// A lock in a text of `/proc/locks`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HeldLock {
    /// Who holds it; `None` where the kernel does not tell.
    pub(super) pid: Option<u32>,
    /// Whether others may hold it, too.
    pub(super) is_shared: bool,
}

/// Words that name the processes that hold a lock on `file`, for an error; empty if unknown.
pub(super) fn holders(file: &File) -> String {
    let pids = locks_on(file).into_iter().filter_map(|lock| lock.pid);
    let names: Vec<String> = pids.map(describe).collect();
    if names.is_empty() {
        String::new()
    } else {
        format!(" by {}", names.join(", "))
    }
}

/// Whether ashlars, and nobody else, have `file` locked, all of them shared: they serve a group.
pub(super) fn is_served(file: &File) -> bool {
    are_shared_by(&locks_on(file), is_ashlar)
}

/// Whether there are locks, and all of them are shared and held by processes that are `meant`.
pub(super) fn are_shared_by(locks: &[HeldLock], is_meant: impl Fn(u32) -> bool) -> bool {
    let is_reader = |lock: &HeldLock| lock.is_shared && lock.pid.is_some_and(&is_meant);
    !locks.is_empty() && locks.iter().all(is_reader)
}

/// The locks on the whole of `file`; none where that cannot be read.
fn locks_on(file: &File) -> Vec<HeldLock> {
    match (file.metadata(), std::fs::read_to_string("/proc/locks")) {
        (Ok(metadata), Ok(locks)) => held(&locks, &place(&metadata)),
        _ => Vec::new(),
    }
}

/// How `/proc/locks` names a file.
fn place(metadata: &Metadata) -> String {
    let device = metadata.dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    format!("{major:02x}:{minor:02x}:{}", metadata.ino())
}

/// The locks in a text of `/proc/locks` on the file at `place`.
pub(super) fn held(locks: &str, place: &str) -> Vec<HeldLock> {
    let lines = locks.lines().filter_map(|line| {
        // "1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF"; who waits has "->" in front.
        let words: Vec<&str> = line.split_whitespace().collect();
        let holds = words.get(1) != Some(&"->") && words.get(5) == Some(&place);
        holds.then(|| HeldLock {
            pid: words[4].parse().ok(),
            is_shared: words[3] == "READ",
        })
    });
    lines.collect()
}

/// The processes, beside this one, that hold one of `bytes` of `file` locked through an open file.
/// Of such locks `/proc/locks` names nobody; what is said of each open file does, to its user and
/// to root.
pub(super) fn byte_holders(file: &impl AsFd, bytes: &[u64]) -> Vec<u32> {
    let Ok(stat) = rustix::fs::fstat(file) else {
        return Vec::new();
    };
    let holds = |text: &str| bytes.iter().any(|byte| has_lock(text, stat.st_ino, *byte));
    others_with_open(
        file,
        |_| true,
        |pid, number| {
            let text = std::fs::read_to_string(format!("/proc/{pid}/fdinfo/{number}"));
            text.is_ok_and(|text| holds(&text))
        },
    )
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
pub(super) fn is_open_elsewhere(file: &impl AsFd) -> bool {
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
    others_with_open(file, is_ashlar, |_, _| true)
}

/// The processes beside this one that are `meant` and have the file open, as far as they can be
/// seen: by the names of files alone, since to look at the files themselves would wait for stuck
/// servers. `counts` is asked of each of their open files, by its number.
fn others_with_open(
    file: &impl AsFd,
    is_meant: impl Fn(u32) -> bool,
    counts: impl Fn(u32, &str) -> bool,
) -> Vec<u32> {
    let own = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    let Ok(wanted) = std::fs::read_link(own) else {
        return Vec::new();
    };
    let has_open = |pid: u32| {
        let links = std::fs::read_dir(format!("/proc/{pid}/fd"));
        let mut links = links.into_iter().flatten().flatten();
        links.any(|link| {
            std::fs::read_link(link.path()).is_ok_and(|target| target == wanted)
                && counts(pid, &link.file_name().to_string_lossy())
        })
    };
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut found: Vec<u32> = numbers
        .filter(|pid| *pid != std::process::id() && is_meant(*pid) && has_open(*pid))
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

/// A process by its name and number.
pub(super) fn describe(pid: u32) -> String {
    match std::fs::read_to_string(format!("/proc/{pid}/comm")) {
        Ok(name) => format!("{} (process {pid})", name.trim()),
        Err(_) => format!("process {pid}"),
    }
}
