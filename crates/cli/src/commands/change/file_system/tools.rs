//! Programs of others: whether they are there, and what they said when they failed.
//!
//! A tool that changes a file system is never interrupted: it runs in a process group of its own,
//! which the terminal's ^C does not reach, and its end is waited for whatever this process is
//! asked. Whoever asked it to end is heard between two tools.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use super::decide::{Step, Word};
use crate::args::Error;

/// Where tools of the system stand that an ordinary `PATH` may leave out.
const SYSTEM_DIRECTORIES: &str = "/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin";
/// What tells e2fsprogs the time: those that go through its library, and e2fsck's own clock.
const SOURCE_DATES: [&str; 2] = ["E2FSPROGS_FAKE_TIME", "E2FSCK_TIME"];
/// How much of what a tool said is told, in lines: the end of it.
const LINES_MAX: usize = 20;
/// Mounts a file system in a namespace of its own, which goes with it: type, node, mount point, and
/// the tool's words.
const MOUNTED: &str = "mount -t \"$1\" -o nosuid,nodev,noexec -- \"$2\" \"$3\" || exit; point=$3; \
    shift 3; \"$@\"; status=$?; umount -- \"$point\" || exit; exit $status";

/// Asks to end that came while a tool ran.
pub(in crate::commands::change) struct Asks(Signals);

impl Asks {
    /// From now on this process does not end by itself when it is asked to.
    pub(in crate::commands::change) fn watch() -> Result<Self, Error> {
        let signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM]);
        let signals =
            signals.map_err(|error| Error::failed("Cannot wait for signals").because(error))?;
        Ok(Self(signals))
    }

    /// Whether this process was asked to end.
    pub(in crate::commands::change) fn is_asked(&mut self) -> bool {
        self.0.pending().next().is_some()
    }
}

/// Fails where a program is missing that a step needs, naming its package.
pub(super) fn require<'s>(steps: impl Iterator<Item = &'s Step>) -> Result<(), Error> {
    let mut missing: Vec<String> = Vec::new();
    for step in steps {
        let mut needed = vec![(step.program, step.package)];
        if step.mounted.is_some() {
            needed.extend([("unshare", "util-linux"), ("mount", "mount")]);
        }
        for (program, package) in needed {
            let words = format!("{program} (Debian's package {package})");
            if find(program).is_none() && !missing.contains(&words) {
                missing.push(words);
            }
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(Error::failed(format!(
        "Cannot resize the file system: not installed: {}. Nothing was changed.",
        missing.join(", ")
    )))
}

fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default();
    let directories = path.split(':').chain(SYSTEM_DIRECTORIES.split(':'));
    let mut files = directories
        .filter(|directory| !directory.is_empty())
        .map(|directory| Path::new(directory).join(program));
    files.find(|file| rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok())
}

/// A step as people read it.
pub(super) fn shown(step: &Step, node: &Path, point: &Path) -> String {
    let words = command(step, node, point);
    let words = words.iter().map(|word| word.to_string_lossy().into_owned());
    let line = words.collect::<Vec<_>>().join(" ");
    match step.mounted {
        Some(_) => format!("{line} (mounted for this alone)"),
        None => line,
    }
}

fn command(step: &Step, node: &Path, point: &Path) -> Vec<OsString> {
    let words = step.words.iter().map(|word| match word {
        Word::Plain(text) => text.clone(),
        Word::Node => node.into(),
        Word::Point => point.into(),
    });
    std::iter::once(step.program.into()).chain(words).collect()
}

/// How mounts go between a new namespace and this one: what others unmount meanwhile goes there as
/// well, where the machine shares its mounts. In a chroot `/` is no mount, and cannot be told so.
fn propagation() -> &'static str {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    if mounts
        .lines()
        .any(|line| line.split(' ').nth(4) == Some("/"))
    {
        "--propagation=slave"
    } else {
        "--propagation=unchanged"
    }
}

/// Runs a step, and gives what it printed. The error says what the tool said. `date`, in seconds
/// since 1970 began, is the time that e2fsprogs write instead of the machine's.
pub(super) fn run(
    step: &Step,
    node: &Path,
    point: &Path,
    date: Option<u64>,
) -> Result<String, Error> {
    let failed = |why: String| Error::failed(format!("{} {why}", step.program));
    let mut words = command(step, node, point);
    if let Some(kind) = step.mounted {
        let unshare = ["unshare", "--mount", propagation(), "--"];
        let front = [&unshare[..], &["sh", "-c", MOUNTED, "sh", kind]].concat();
        let mut all: Vec<OsString> = front.iter().map(OsString::from).collect();
        all.extend([node.into(), point.into()]);
        all.append(&mut words);
        words = all;
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let program = words[0].to_string_lossy();
    let times = date.map(|seconds| SOURCE_DATES.map(|name| (name, seconds.to_string())));
    let output = Process::new(find(&program).unwrap_or_else(|| PathBuf::from(&*program)))
        .args(&words[1..])
        .env("PATH", format!("{path}:{SYSTEM_DIRECTORIES}"))
        .env("LC_ALL", "C")
        .envs(times.into_iter().flatten())
        .stdin(Stdio::null())
        .process_group(0)
        .output()
        .map_err(|error| failed("cannot be run".to_owned()).because(error))?;
    let status = output.status;
    if status.success() || (step.success != 0 && status.code() == Some(step.success)) {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let how = match status.code() {
        Some(code) => format!("exit status {code}"),
        None => status.to_string(),
    };
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    let lines: Vec<&str> = said
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let last = &lines[lines.len().saturating_sub(LINES_MAX)..];
    let line = shown(step, node, point);
    Err(failed(format!(
        "failed ({how}): {line}\n{}",
        last.join("\n")
    )))
}
