//! Commands that leave a process of their own behind them.
//!
//! ```text
//!   the command   run_again ─▸ the same command line, told so by a variable
//!                 ◀─ what it prints, until leave_terminal: it is ready
//! ```

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Command as Process, Stdio};

use crate::args::Error;

/// Runs this command line again, with `variable` set, and waits until it is ready: what it printed.
/// Fails with `cannot` where it is not started, and without a word where it ends at once, since it
/// has said why.
pub(super) fn run_again(variable: &str, cannot: &str) -> Result<String, Error> {
    let mut words = std::env::args_os();
    let mut process = Process::new("/proc/self/exe");
    process
        .arg0(words.next().unwrap_or_default())
        .args(words)
        .env(variable, "1")
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

/// Whoever started this process waits for the end of its output; the terminal is no longer ours.
pub(super) fn leave_terminal() -> Result<(), Error> {
    let nowhere = std::fs::File::options()
        .read(true)
        .write(true)
        .open("/dev/null")?;
    // A failure to leave the session leaves us in it.
    let _ = rustix::process::setsid();
    for result in [
        rustix::stdio::dup2_stdout(&nowhere),
        rustix::stdio::dup2_stderr(&nowhere),
    ] {
        result.map_err(std::io::Error::from)?;
    }
    Ok(())
}
