//! The system calls of a running server, as `strace` saw them: what reached the disk, and when.
//!
//! A [`Recording`] is attached to a process that serves files with plain calls
//! (`ASHLAR_IO=threads`; what goes through `io_uring` is not seen). Each call has the moments at
//! which it began and ended, counted in lines of the record, so that "the disk was told to make it
//! durable before the client was answered" can be asked of it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::daemon::Daemon;
use crate::tool::Tool;

/// What touches a disk, and what answers a client.
const CALLS: &str = "trace=pwrite64,pwritev2,fallocate,fdatasync,fsync,writev,sendmsg,sendto,write";

/// A process whose calls are being noted.
#[derive(Debug)]
pub struct Recording {
    strace: Daemon,
    file: PathBuf,
}

/// A call that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// `pwrite64`, `fdatasync`, …
    pub name: String,
    /// What its first argument, a descriptor, stands for: a path, `socket:[…]`.
    pub file: String,
    /// All arguments, as `strace` writes them.
    pub arguments: String,
    /// What it returned.
    pub result: i64,
    /// The line at which it began, and the one at which it ended.
    pub began: usize,
    /// See `began`.
    pub ended: usize,
}

impl Recording {
    /// Notes all calls of the process `pid` and its threads, in `file`, from now on.
    pub fn of(pid: u32, file: &Path) -> Self {
        let strace = Tool::new("strace")
            .args(["-f", "-y", "-qqq", "-s", "0", "-e", CALLS, "-p"])
            .arg(pid.to_string())
            .arg("-o")
            .arg(file);
        Self {
            strace: Daemon::start(strace, || is_traced(pid)),
            file: file.to_owned(),
        }
    }

    /// Lets the process go; its calls so far, in the order in which they ended.
    pub fn stop(self) -> Vec<Call> {
        let complaints = self.strace.stop();
        let text = fs::read_to_string(&self.file).expect("strace left a record");
        assert!(!text.is_empty(), "strace saw nothing: {complaints}");
        calls(&text)
    }
}

/// Whether all threads of a process are being watched.
fn is_traced(pid: u32) -> bool {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return false;
    };
    tasks.flatten().all(|task| {
        let status = fs::read_to_string(task.path().join("status")).unwrap_or_default();
        let tracer = status
            .lines()
            .find_map(|line| line.strip_prefix("TracerPid:"));
        tracer.is_some_and(|tracer| tracer.trim() != "0")
    })
}

/// Reads what `strace -f -y` wrote. Calls that another thread's line cut in two are joined.
fn calls(text: &str) -> Vec<Call> {
    let mut begun: Vec<(&str, usize, String)> = Vec::new();
    let mut calls = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let Some((thread, what)) = line.trim_start().split_once(' ') else {
            continue;
        };
        let what = what.trim_start();
        if let Some(head) = what.strip_suffix(" <unfinished ...>") {
            begun.push((thread, number, head.to_owned()));
        } else if what.starts_with("<... ") {
            let place = begun.iter().position(|(by, _, _)| *by == thread);
            let tail = what.split_once(" resumed>").map(|(_, tail)| tail);
            if let (Some(place), Some(tail)) = (place, tail) {
                let (_, began, head) = begun.swap_remove(place);
                calls.extend(call(&format!("{head}{tail}"), began, number));
            }
        } else {
            calls.extend(call(what, number, number));
        }
    }
    calls
}

/// One call: `name(7</a/path>, …) = 4096`.
fn call(line: &str, began: usize, ended: usize) -> Option<Call> {
    let (name, rest) = line.split_once('(')?;
    let (arguments, result) = rest.rsplit_once(") ")?;
    let result = result.trim_start().strip_prefix("= ")?;
    let result = result.split(' ').next()?.parse().ok()?;
    let file = arguments.split_once('<')?.1;
    let file = &file[..file.find(">,").or_else(|| file.rfind('>'))?];
    Some(Call {
        name: name.to_owned(),
        file: file.to_owned(),
        arguments: arguments.to_owned(),
        result,
        began,
        ended,
    })
}

impl Call {
    /// Whether this changed the byte `at` of `disk`.
    pub fn changes(&self, disk: &Path, at: u64) -> bool {
        let words: Vec<&str> = self.arguments.rsplit(", ").collect();
        let number = |index: usize| words.get(index).and_then(|word| word.parse::<u64>().ok());
        let done = u64::try_from(self.result).unwrap_or(0);
        let span = match self.name.as_str() {
            "pwrite64" => number(0).map(|start| (start, done)),
            "pwritev2" => number(1).map(|start| (start, done)),
            "fallocate" if self.result == 0 => number(1).zip(number(0)),
            _ => None,
        };
        self.is_on(disk) && span.is_some_and(|(start, len)| (start..start + len).contains(&at))
    }

    /// Whether this made durable what had been written to `disk` before it began.
    pub fn syncs(&self, disk: &Path) -> bool {
        matches!(self.name.as_str(), "fdatasync" | "fsync") && self.result == 0 && self.is_on(disk)
    }

    /// Whether it was durable itself when it ended.
    pub fn is_durable(&self) -> bool {
        self.name == "pwritev2" && self.arguments.ends_with("SYNC")
    }

    /// Whether this answered a client: the kernel through FUSE, or one at a socket.
    pub fn answers(&self) -> bool {
        let sends = ["writev", "write", "sendmsg", "sendto"];
        let to_client = self.file == "/dev/fuse" || self.file.starts_with("socket:");
        sends.contains(&self.name.as_str()) && to_client
    }

    fn is_on(&self, disk: &Path) -> bool {
        Path::new(&self.file) == disk
    }
}

/// When what was written last over the byte `at` of `disk` became durable: the line at which the
/// write ended, and the one at which it was safe. An error says what is missing.
pub fn durable_at(calls: &[Call], disk: &Path, at: u64) -> Result<(usize, usize), String> {
    let write = calls.iter().rfind(|call| call.changes(disk, at));
    let Some(write) = write else {
        return Err(format!("nothing was written at byte {at}"));
    };
    if write.is_durable() {
        return Ok((write.ended, write.ended));
    }
    let sync = calls
        .iter()
        .find(|call| call.syncs(disk) && call.began > write.ended);
    match sync {
        Some(sync) => Ok((write.ended, sync.ended)),
        None => Err(format!("nothing makes durable what {write:?} wrote")),
    }
}

#[cfg(test)]
mod tests;
