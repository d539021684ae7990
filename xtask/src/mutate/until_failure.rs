//! Runs a test program, and ends it with the first test that fails: one is enough to find a
//! mutant, and many a mutant that one test finds at once makes another one wait for ever.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::Outcome;

/// Tests that take longer wait for ever; cargo-mutants has a shorter limit of its own, and tells
/// such mutants apart.
const LIMIT: Duration = Duration::from_mins(5);
/// What cargo takes for failed tests.
const FAILED: u8 = 101;

pub(super) fn run(command: &[String]) -> Outcome {
    let Some((program, arguments)) = command.split_first() else {
        return Outcome::Unusable("--until-failure needs a program".into());
    };
    let mut child = match Command::new(program)
        .args(arguments)
        .stdout(Stdio::piped())
        .spawn()
    {
        Ok(child) => child,
        Err(error) => return Outcome::Unusable(format!("{program} does not start: {error}")),
    };
    let pid = Pid::from_child(&child);
    thread::spawn(move || {
        thread::sleep(LIMIT);
        let _ = kill_process(pid, Signal::KILL);
    });
    let output = BufReader::new(child.stdout.take().expect("it is piped"));
    for line in output.split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        if line.ends_with("... FAILED") {
            // It may be gone already.
            let _ = child.kill();
            let _ = child.wait();
            return Outcome::Code(FAILED);
        }
    }
    match child.wait() {
        Ok(status) if status.success() => Outcome::Passed,
        _ => Outcome::Code(FAILED),
    }
}
