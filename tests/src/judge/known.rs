//! Differences that are accepted, each with a reason: `known.txt`, read.
//!
//! ```text
//!   COMMAND | STATE | WHAT | PATTERN | REASON       `*` stands for anything
//! ```
//!
//! `WHAT` is what differs (`code`, `report`, `lacks`, `form`, `adds`, `field`, `hang`), or `stock`,
//! `ours` or `line`: where that side says what fits, or the line itself fits, all that it does is
//! listed.

use super::bench::Outcome;
use super::neutral::{self, fits};
use super::outcome::Difference;

const KNOWN: &str = include_str!("known.txt");

/// A reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// The commands that it is about.
    pub command: &'static str,
    /// The states.
    pub state: &'static str,
    /// What differs.
    pub what: &'static str,
    /// The messages, fields or codes.
    pub pattern: &'static str,
    /// Why it is accepted.
    pub reason: &'static str,
}

/// All of them.
///
/// # Panics
/// When a line of the file has other than five parts.
pub fn known() -> Vec<Known> {
    let lines = KNOWN
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let read = |line: &'static str| {
        let parts: Vec<&str> = line.splitn(5, " | ").map(str::trim).collect();
        let [command, state, what, pattern, reason] = parts[..] else {
            panic!("{line}: not five parts");
        };
        Known {
            command,
            state,
            what,
            pattern,
            reason,
        }
    };
    lines.map(read).collect()
}

impl Known {
    /// Whether it may be about this command in this state.
    pub(super) fn is_about(&self, command: &str, state: &str) -> bool {
        let any = |names: &str, name: &str| names.split(' ').any(|one| fits(name, one));
        any(self.command, command) && any(self.state, state)
    }

    pub(super) fn covers(&self, difference: &Difference) -> bool {
        let is_what = self
            .what
            .split(' ')
            .any(|what| what == difference.what.name());
        is_what && fits(&difference.text, self.pattern)
    }

    /// Whether it is about all that the line does.
    pub(super) fn covers_all(&self, line: &str, stock: &Outcome, ours: &Outcome) -> bool {
        let outcome = match self.what {
            "line" => return fits(line, self.pattern),
            "stock" => stock,
            "ours" => ours,
            _ => return false,
        };
        let mut said = neutral::lines(&outcome.stderr);
        said.extend(neutral::lines(&outcome.stdout));
        said.iter().any(|line| fits(line, self.pattern))
    }
}

#[cfg(test)]
mod tests;
