//! A result with its identity: one JSON object on one line, appended to a file.
//!
//! Reports are functions of that file, so a line says all that is needed to place it: the revision
//! (and whether the tree had changes), the time, the processor, the kernel.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::tidy::{git, root};

use super::contest::Row;
use super::stats::Estimate;

/// Who measured where and when.
pub(super) struct Identity {
    revision: String,
    seconds_since_1970: u64,
    machine: String,
    kernel: String,
}

impl Identity {
    /// This tree on this machine, now.
    pub(super) fn now() -> Self {
        let run = |arguments: &[&str]| git(&root(), arguments).unwrap_or_default();
        let mut revision = run(&["rev-parse", "--short=12", "HEAD"]).trim().to_owned();
        if !run(&["status", "--porcelain"]).is_empty() {
            revision.push('+');
        }
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let processor = read("/proc/cpuinfo");
        let model = processor
            .lines()
            .find_map(|line| line.strip_prefix("model name"));
        let model = model.map_or("unknown processor", |text| {
            text.trim_start_matches([' ', '\t', ':'])
        });
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        Identity {
            revision,
            seconds_since_1970: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |time| time.as_secs()),
            machine: format!("{cores} x {model}"),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        }
    }

    /// One line for people.
    pub(super) fn shown(&self) -> String {
        format!(
            "{} on {}, Linux {}",
            self.revision, self.machine, self.kernel
        )
    }

    /// One JSON line for each peer of a row; one without a peer when there is none.
    pub(super) fn lines(&self, table: &str, row: &Row) -> String {
        let mut head = format!(
            "{{\"revision\":{},\"time\":{},\"machine\":{},\"kernel\":{},\"table\":{},\"case\":{}",
            quoted(&self.revision),
            self.seconds_since_1970,
            quoted(&self.machine),
            quoted(&self.kernel),
            quoted(table),
            quoted(&row.case),
        );
        write!(
            head,
            ",\"unit\":{},\"rounds\":{}",
            quoted(row.unit.name()),
            row.rounds
        )
        .expect("a string takes all");
        write!(head, ",\"ours\":{:e}", row.ours).expect("a string takes all");
        if row.peers.is_empty() {
            return format!("{head}}}\n");
        }
        row.peers
            .iter()
            .fold(String::new(), |mut lines, (name, theirs, ratio)| {
                let Estimate { median, low, high } = ratio;
                write!(
                    lines,
                    "{head},\"peer\":{},\"theirs\":{theirs:e}",
                    quoted(name)
                )
                .and_then(|()| write!(lines, ",\"ratio\":{median:.4},\"low\":{low:.4}"))
                .and_then(|()| writeln!(lines, ",\"high\":{high:.4}}}"))
                .expect("a string takes all");
                lines
            })
    }
}

/// Appends to a file, which is made with its folder if it is not there.
pub(super) fn append(path: &Path, lines: &str) -> Result<(), String> {
    let explain = |error| format!("{} cannot be written: {error}", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(explain)?;
    }
    let mut file = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .map_err(explain)?;
    std::io::Write::write_all(&mut file, lines.as_bytes()).map_err(explain)
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => write!(out, "\\u{:04x}", u32::from(c)).expect("a string"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests;
