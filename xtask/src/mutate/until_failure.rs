//! Runs a test program in a world of its own, and ends it with the first test that fails: one is
//! enough to find a mutant, and many a mutant that one test finds at once makes another one wait
//! for ever.
//!
//! `cargo xtask mutate --until-failure WORLD SECONDS PROGRAM [ARGUMENT…]`. What a killed program
//! leaves in its world is taken away before the next one starts, and when this one ends.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use super::leftovers;
use crate::Outcome;

/// How long this waits when the time is up: cargo-mutants, whose limit is a little longer, ends it
/// meanwhile, and so knows.
const LINGER: Duration = Duration::from_secs(10);
/// How long a program may go on after a failure: the only test that ran says why it failed.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// What cargo takes for failed tests.
const FAILED: u8 = 101;
/// The exit code when the time was up, the same as of timeout(1).
pub(super) const TIME_UP: u8 = 124;

#[derive(Debug, PartialEq, Eq)]
enum Ended {
    Passed,
    Failed,
    TimeUp,
}

pub(super) fn run(arguments: &[String]) -> Outcome {
    let [world, seconds, program, arguments @ ..] = arguments else {
        return Outcome::Unusable("--until-failure needs a folder, seconds and a program".into());
    };
    let Ok(seconds) = seconds.parse() else {
        return Outcome::Unusable(format!("'{seconds}' are no seconds"));
    };
    let world = Path::new(world);
    leftovers::clear(world);
    let child = Command::new(program)
        .args(arguments)
        .env("TMPDIR", world)
        .env("ASHLAR_RUNTIME_DIR", world.join("run"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => return Outcome::Unusable(format!("{program} does not start: {error}")),
    };
    let ended = watch(&mut child, Instant::now() + Duration::from_secs(seconds));
    leftovers::clear(world);
    match ended {
        Ended::Passed => Outcome::Passed,
        Ended::Failed => Outcome::Code(FAILED),
        Ended::TimeUp => {
            println!("mutate: not done after {seconds} s");
            thread::sleep(LINGER);
            Outcome::Code(TIME_UP)
        }
    }
}

/// Passes on what the child prints, until it ends, a test fails, or its time is up.
fn watch(child: &mut Child, mut deadline: Instant) -> Ended {
    let lines = lines(child);
    let mut has_failed = false;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match lines.recv_timeout(left) {
            Ok(line) => {
                println!("{line}");
                if line.ends_with("... FAILED") && !has_failed {
                    has_failed = true;
                    deadline = Instant::now() + LAST_WORDS;
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                // It may be gone already. Nobody waits for it: what it hangs on may only be taken
                // away afterwards.
                let _ = child.kill();
                return if has_failed {
                    Ended::Failed
                } else {
                    Ended::TimeUp
                };
            }
            Err(RecvTimeoutError::Disconnected) => {
                return match child.wait() {
                    Ok(status) if status.success() => Ended::Passed,
                    _ => Ended::Failed,
                };
            }
        }
    }
}

/// The lines of the child's output, by a thread: whoever else has the pipe open may keep it so.
fn lines(child: &mut Child) -> Receiver<String> {
    let output = BufReader::new(child.stdout.take().expect("it is piped"));
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in output.split(b'\n').map_while(Result::ok) {
            if sender.send(String::from_utf8_lossy(&line).into()).is_err() {
                break;
            }
        }
    });
    receiver
}

#[cfg(test)]
mod tests;
