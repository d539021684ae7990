//! The watch itself: start, wait, and clear up.

use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions};

use crate::Outcome;

use super::fuse;
use super::processes::{Process, descendants};

/// Exit code when the time limit passed or the standard input closed.
pub(crate) const EXPIRED: u8 = 124;
/// Exit code when the command ended and left processes running.
pub(crate) const LITTERED: u8 = 125;

/// How often the command is looked at: far below any step's length, far above the cost of a look.
const PERIOD: Duration = Duration::from_millis(20);
/// How long a process that was killed may take to go before the watch gives up on it.
const BURIAL_MAX: Duration = Duration::from_secs(20);
/// How long one that waits for nothing may take to die of it.
const DEATH_MAX: Duration = Duration::from_secs(5);
/// How long children may take to follow a command that has ended, before they count as left behind.
const FAREWELL_MAX: Duration = Duration::from_secs(2);

/// `cargo xtask watch`.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let Some(options) = Options::parse(arguments) else {
        let usage = "usage: watch --limit SECONDS [--until-stdin-closes] -- COMMAND [ARGUMENT…]";
        return Outcome::Unusable(usage.to_owned());
    };
    if let Err(error) = rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
        return Outcome::Unusable(format!("watch cannot adopt orphans: {error}"));
    }
    let connections = fuse::connections();
    let [program, rest @ ..] = options.command else {
        unreachable!("checked by parse")
    };
    match Command::new(program)
        .args(rest)
        .stdin(Stdio::null())
        .spawn()
    {
        Ok(child) => Outcome::Code(watch(child, &options, &connections)),
        Err(error) => Outcome::Unusable(format!("'{program}' cannot be started: {error}")),
    }
}

struct Options<'a> {
    limit: Duration,
    until_stdin_closes: bool,
    command: &'a [String],
}

impl<'a> Options<'a> {
    fn parse(arguments: &'a [String]) -> Option<Self> {
        let split = arguments.iter().position(|argument| argument == "--")?;
        let (flags, command) = (&arguments[..split], &arguments[split + 1..]);
        let (until_stdin_closes, flags) = match flags {
            [flags @ .., last] if last == "--until-stdin-closes" => (true, flags),
            flags => (false, flags),
        };
        let [name, seconds] = flags else { return None };
        if name != "--limit" || command.is_empty() {
            return None;
        }
        let limit = Duration::from_secs(seconds.parse().ok()?);
        Some(Options {
            limit,
            until_stdin_closes,
            command,
        })
    }
}

fn watch(mut child: Child, options: &Options<'_>, connections: &BTreeSet<String>) -> u8 {
    let deadline = Instant::now() + options.limit;
    let closed = if options.until_stdin_closes {
        closing_of_stdin()
    } else {
        Arc::default()
    };
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return after(status, &child, connections),
            Ok(None) => {}
            Err(error) => eprintln!("watch: the command cannot be waited for: {error}"),
        }
        if closed.load(Ordering::Relaxed) {
            eprintln!("watch: whoever started this is gone");
            clear_up(&child, connections);
            return EXPIRED;
        }
        if Instant::now() >= deadline {
            eprintln!(
                "watch: not done after {} s; still running:",
                options.limit.as_secs()
            );
            clear_up(&child, connections);
            return EXPIRED;
        }
        thread::sleep(PERIOD);
    }
}

/// Becomes true when the standard input ends.
fn closing_of_stdin() -> Arc<AtomicBool> {
    let closed = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&closed);
    thread::spawn(move || {
        let mut byte = [0];
        while matches!(std::io::stdin().read(&mut byte), Ok(1)) {}
        flag.store(true, Ordering::Relaxed);
    });
    closed
}

/// The exit code for a command that ended by itself.
fn after(status: ExitStatus, child: &Child, connections: &BTreeSet<String>) -> u8 {
    let deadline = Instant::now() + FAREWELL_MAX;
    while !living(child).is_empty() && Instant::now() < deadline {
        thread::sleep(PERIOD);
    }
    let left = living(child);
    let code = status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    if left.is_empty() {
        return u8::try_from(code).unwrap_or(1);
    }
    eprintln!("watch: the command ended with {code} and left these running:");
    clear_up(child, connections);
    if code == 0 {
        LITTERED
    } else {
        u8::try_from(code).unwrap_or(1)
    }
}

/// The descendants that run, after burying those that are dead; `child` is left to its owner.
fn living(child: &Child) -> Vec<Process> {
    let own = child.id().cast_signed();
    let mut found = descendants(std::process::id().cast_signed());
    for dead in found
        .iter()
        .filter(|process| process.state == 'Z' && process.pid != own)
    {
        if let Some(pid) = Pid::from_raw(dead.pid) {
            // Only our own children can be buried; the others are their parents' affair.
            let _ = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
        }
    }
    found.retain(|process| process.state != 'Z');
    found
}

/// Prints the living and kills until nobody is left. Whoever does not die waits for an answer over
/// FUSE, maybe its own: then new FUSE connections are aborted. Not sooner, since they may belong to
/// others of this machine, and a server that dies ends its own.
fn clear_up(child: &Child, connections: &BTreeSet<String>) {
    for process in living(child) {
        eprintln!("  {process}");
    }
    let start = Instant::now();
    let deadline = start + BURIAL_MAX;
    loop {
        if start.elapsed() > DEATH_MAX {
            for connection in fuse::abort_newer_than(connections) {
                eprintln!("watch: aborted FUSE connection {connection}");
            }
        }
        let left = living(child);
        if left.is_empty() {
            return;
        }
        if Instant::now() >= deadline {
            eprintln!("watch: these cannot be killed:");
            for process in &left {
                eprintln!("  {process}");
            }
            return;
        }
        for pid in left.iter().filter_map(|process| Pid::from_raw(process.pid)) {
            // It may have ended by itself in between.
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        thread::sleep(PERIOD);
    }
}

#[cfg(test)]
mod tests;
