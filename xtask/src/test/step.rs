//! One step: a command under the watch, its output passed on, its tests counted.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::watch::{EXPIRED, LITTERED};

use super::{requirements, steps};

/// What a step of the run is.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) name: &'static str,
    /// Program and arguments.
    pub(super) command: Vec<String>,
    /// Variables set for it.
    pub(super) environment: Vec<(&'static str, String)>,
    /// Time after which it counts as hanging.
    pub(super) limit: Duration,
    pub(super) counts: Counts,
}

/// Whether a step's output must show that tests ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counts {
    Nothing,
    Tests,
}

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Report {
    /// `None` when all is well.
    pub(super) failure: Option<String>,
    /// Tests that passed and failed, as the test binaries say.
    pub(super) tests: (usize, usize),
    /// The names of those that failed, or had not ended when the time was up.
    pub(super) failed: Vec<String>,
    pub(super) time: Duration,
}

/// What the test binaries of a step say.
#[derive(Debug, Default)]
struct Tally {
    passed: usize,
    failed: usize,
    /// The names of those that failed.
    names: Vec<String>,
    /// The names of those that take long and have not ended.
    slow: BTreeSet<String>,
}

/// After the watch has ended nobody holds the pipe, unless a process could not be killed.
const OUTPUT_MAX: Duration = Duration::from_secs(5);

impl Step {
    /// Runs the step to its end.
    pub(super) fn run(&self) -> Report {
        let start = Instant::now();
        let (failure, tally) = match self.watched() {
            Ok((code, tally)) => (self.judge(code, (tally.passed, tally.failed)), tally),
            Err(message) => (Some(message), Tally::default()),
        };
        Report {
            failure,
            tests: (tally.passed, tally.failed),
            failed: tally.names.into_iter().chain(tally.slow).collect(),
            time: start.elapsed(),
        }
    }

    fn watched(&self) -> Result<(Option<i32>, Tally), String> {
        let mut child = Command::new(steps::xtask())
            .args(["watch", "--limit", &self.limit.as_secs().to_string()])
            .args(["--until-stdin-closes", "--"])
            .args(&self.command)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .env("PATH", requirements::search_path())
            .env("ASHLAR_KERNEL_BOOTS", super::run::boots_file())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|error| format!("cannot be started: {error}"))?;
        let output = child.stdout.take().expect("its output is piped");
        // Held open until the end; its closing tells the watch that we are gone.
        let lifeline = child.stdin.take();
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            let mut tally = Tally::default();
            for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line);
                // The reader of our own output may have gone; the count still matters.
                let _ = writeln!(std::io::stdout(), "{line}");
                if let Some((passed, failed)) = test_result(&line) {
                    tally.passed += passed;
                    tally.failed += failed;
                }
                tally.names.extend(failed_test(&line).map(str::to_owned));
                tally.slow.extend(slow_test(&line).map(str::to_owned));
                if let Some(name) = ended_test(&line) {
                    tally.slow.remove(name);
                }
            }
            sender.send(tally)
        });
        let status = child
            .wait()
            .map_err(|error| format!("cannot be waited for: {error}"))?;
        drop(lifeline);
        let tally = receiver.recv_timeout(OUTPUT_MAX).unwrap_or_default();
        Ok((status.code(), tally))
    }

    fn judge(&self, code: Option<i32>, (passed, failed): (usize, usize)) -> Option<String> {
        let message = match code {
            Some(0) if failed > 0 => format!("{failed} tests failed"),
            Some(0) if self.counts == Counts::Tests && passed == 0 => "ran no test".to_owned(),
            Some(0) => return None,
            Some(code) if code == i32::from(EXPIRED) => {
                format!("was not done after {} s", self.limit.as_secs())
            }
            Some(code) if code == i32::from(LITTERED) => "left processes running".to_owned(),
            Some(_) if failed > 0 => format!("{failed} tests failed"),
            Some(code) => format!("exit code {code}"),
            None => "was killed".to_owned(),
        };
        Some(message)
    }
}

/// The counts in a line like `test result: ok. 3 passed; 0 failed; 1 ignored; …`.
fn test_result(line: &str) -> Option<(usize, usize)> {
    let counts = line.strip_prefix("test result: ")?.split_once(". ")?.1;
    let mut numbers = counts
        .split("; ")
        .map(|part| part.split(' ').next()?.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// The name in a line like `test owner::ends ... FAILED`.
fn failed_test(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}

/// The name in a line like `test owner::ends has been running for over 60 seconds`.
fn slow_test(line: &str) -> Option<&str> {
    let (name, rest) = line.strip_prefix("test ")?.split_once(' ')?;
    rest.starts_with("has been running for over ")
        .then_some(name)
}

/// The name in a line like `test owner::ends ... ok`, however it ended.
fn ended_test(line: &str) -> Option<&str> {
    let (name, _) = line.strip_prefix("test ")?.split_once(" ... ")?;
    Some(name)
}

#[cfg(test)]
mod tests;
