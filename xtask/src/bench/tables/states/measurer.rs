//! The example that measures, and answers a line for each line.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::super::super::run::{Bench, Effort};
use super::super::load::example;

/// The example at work. Dropped, it ends.
pub(super) struct Measurer {
    pipes: RefCell<(ChildStdin, BufReader<ChildStdout>)>,
    child: Child,
}

impl Measurer {
    /// Starts it, with its files in `folder`.
    pub(super) fn start(bench: &Bench, folder: &Path) -> Result<Self, String> {
        let mut command = Command::new(example("ashlar-dm", "states")?);
        command.arg(folder);
        if bench.effort == Effort::Smoke {
            command.arg("small");
        }
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.map_err(|error| format!("states cannot be run: {error}"))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (Some(input), Some(output)) = (input, output) else {
            return Err("states has no pipes".to_owned());
        };
        Ok(Self {
            pipes: RefCell::new((input, BufReader::new(output))),
            child,
        })
    }

    /// What it answers to a line.
    pub(super) fn ask(&self, line: &str) -> Result<Vec<f64>, String> {
        let mut pipes = self.pipes.borrow_mut();
        let mut answer = String::new();
        let (input, output) = &mut *pipes;
        writeln!(input, "{line}")
            .and_then(|()| input.flush())
            .and_then(|()| output.read_line(&mut answer))
            .map_err(|error| format!("states: {line}: {error}"))?;
        let numbers: Option<Vec<f64>> = answer
            .split_whitespace()
            .map(|word| word.parse().ok())
            .collect();
        let numbers = numbers.filter(|numbers| !numbers.is_empty());
        numbers.ok_or_else(|| format!("states: {line}: it answered '{answer}'"))
    }
}

impl Drop for Measurer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
