//! Commands that leave a process of their own behind them.
//!
//! ```text
//!   the command   run_again ─▸ the same command line, told so by a variable
//!                 ◀─ what it prints, until leave_terminal: it is ready
//! ```
//!
//! What such processes warn of is in the file `log` of the runtime folder, one behind the other. It
//! begins anew with a process that finds it longer than [`LOG_MAX`].

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command as Process, Stdio};

use ashlar::live::runtime_folder;

use crate::args::Error;

/// How long the log may be when a process begins, in bytes.
const LOG_MAX: u64 = 1 << 20;

/// Runs this command line again, with `variable` set, as [`started`] does.
pub(super) fn run_again(variable: &str, cannot: &str) -> Result<String, Error> {
    let mut words = std::env::args_os();
    let mut process = Process::new("/proc/self/exe");
    process
        .arg0(words.next().unwrap_or_default())
        .args(words)
        .env(variable, "1");
    started(process, cannot)
}

/// Starts a process that leaves the terminal when it is ready, and waits for that: what it printed.
/// Fails with `cannot` where it is not started, and without a word where it ends at once, since it
/// has said why.
pub(super) fn started(mut process: Process, cannot: &str) -> Result<String, Error> {
    process
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .process_group(0);
    let child = process.spawn();
    let mut child = child.map_err(|error| Error::failed(cannot).because(error))?;
    let mut printed = String::new();
    if let Some(mut output) = child.stdout.take() {
        output.read_to_string(&mut printed)?;
    }
    if printed.is_empty() {
        child.wait()?;
        return Err(Error::reported());
    }
    Ok(printed)
}

/// Where processes in the background say what they warn of.
pub(super) fn log_path() -> Result<PathBuf, Error> {
    let folder = runtime_folder().map_err(|error| Error::failed(error.to_string()))?;
    Ok(folder.join("log"))
}

fn log() -> Result<File, Error> {
    let mut options = File::options();
    options.append(true).create(true).mode(0o600);
    let log = options.open(log_path()?)?;
    if log.metadata()?.len() > LOG_MAX {
        log.set_len(0)?;
    }
    Ok(log)
}

/// Whoever started this process waits for the end of its output; the terminal is no longer ours.
pub(super) fn leave_terminal() -> Result<(), Error> {
    let nowhere = File::options().read(true).write(true).open("/dev/null")?;
    // Where nothing can be noted down it works all the same.
    let log = log().or_else(|_| nowhere.try_clone())?;
    // A failure to leave the session leaves us in it.
    let _ = rustix::process::setsid();
    for result in [
        rustix::stdio::dup2_stdout(&nowhere),
        rustix::stdio::dup2_stderr(&log),
    ] {
        result.map_err(std::io::Error::from)?;
    }
    Ok(())
}
