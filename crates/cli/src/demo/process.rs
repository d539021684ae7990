//! Runs a command to its end, within a time limit.
//!
//! The command has its own process group, so that Ctrl-C on the terminal reaches the demo alone,
//! which then lets the command end in order.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::args::Error;

/// How long any of the commands may take: each is a matter of a second.
const TIME_MAX: Duration = Duration::from_secs(30);
/// How long the output may take after the end.
const OUTPUT_MAX: Duration = Duration::from_secs(2);
const PERIOD: Duration = Duration::from_millis(5);

/// This program with `words`; what it attaches, it records in `runtime`.
pub(super) fn ashlar(runtime: &Path, words: &[&str]) -> Result<String, Error> {
    let mut command = this_program(runtime);
    command.args(words);
    run(&mut command, &format!("ashlar {}", words.join(" ")))
}

/// This program; what it attaches and owns, it records in `runtime`.
pub(super) fn this_program(runtime: &Path) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command
        .arg0("ashlar")
        .env(ashlar::live::RUNTIME_VARIABLE, runtime);
    command
}

/// Keeps Ctrl-C on the terminal away from a command.
pub(super) fn own_group(command: &mut Command) {
    command.process_group(0);
}

/// Whether a program of this name can be found.
pub(super) fn is_installed(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

/// Runs `command`, which people know as `shown`, and gives what it printed. Fails with what it
/// complained about.
pub(super) fn run(command: &mut Command, shown: &str) -> Result<String, Error> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    own_group(command);
    let child = command.spawn();
    let mut child =
        child.map_err(|error| Error::failed(format!("Cannot run {shown}")).because(error))?;
    let output = collect(child.stdout.take());
    let complaints = collect(child.stderr.take());
    let Some(status) = wait(&mut child)? else {
        let seconds = TIME_MAX.as_secs();
        return Err(Error::failed(format!(
            "{shown} was not done after {seconds} s"
        )));
    };
    let text = |pipe: Receiver<Vec<u8>>| {
        let bytes = pipe.recv_timeout(OUTPUT_MAX).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    if status.success() {
        return Ok(text(output));
    }
    let complaints = text(complaints);
    Err(Error::failed(format!(
        "{shown} failed ({status}): {}",
        complaints.trim()
    )))
}

/// Waits for the end; `None`, and the child is killed, if it does not come in time.
fn wait(child: &mut Child) -> Result<Option<ExitStatus>, Error> {
    let deadline = Instant::now() + TIME_MAX;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            // One that hangs in the kernel cannot be waited for.
            let _ = child.kill();
            return Ok(None);
        }
        std::thread::sleep(PERIOD);
    }
}

/// What comes out of a pipe, once it ends.
pub(super) fn collect(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What was read before an error is still worth showing.
            let _ = pipe.read_to_end(&mut bytes);
        }
        // Nobody waits any more after the time limit.
        let _ = sender.send(bytes);
    });
    receiver
}
