//! Real programs: what they printed, checked by the rules of the audit, with their time.
//!
//! Whoever wants to know what `PostMark`, Bonnie++, dbench, tar or fio say of a volume mounts it
//! and lets them run there. Kept is all of their output, with the findings of the audit where it
//! knows the format, the seconds by the clock and of the processor, and where and when it was.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde::Serialize;

use super::machine::{file_system, machine};
use crate::audit::audit;
use crate::error::{Error, Kind, Result};
use crate::experiment::line;

/// Ticks of a second in `/proc/PID/stat`, the same on all machines that Linux runs on today.
const TICKS: f64 = 100.0;

/// A run of a real program.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(tag = "kind", rename = "driven")]
pub struct Driven {
    /// The program and its words.
    pub command: String,
    /// Seconds by the clock.
    pub elapsed_s: f64,
    /// Seconds of the processor, of the program and what it started.
    pub cpu_s: f64,
    /// Seconds since 1970 began.
    pub date: u64,
    /// Machine, folder, its file system, formats of the output, and findings of the audit, by name.
    pub about: BTreeMap<String, String>,
    /// All that it printed.
    pub output: String,
}

/// Runs a program in `folder`; its output is kept and not shown, its complaints are shown.
pub fn drive(folder: &Path, (program, words): (&str, &[String])) -> Result<Driven> {
    let shown = [&[program.to_owned()], words].concat().join(" ");
    let failed = |error| {
        Error::io(
            format!("{program} cannot be run in {}", folder.display()),
            error,
        )
    };
    let folder = folder.canonicalize().map_err(failed)?;
    let (start, before) = (Instant::now(), children_s());
    let mut process = Command::new(program);
    process
        .args(words)
        .current_dir(&folder)
        .stderr(Stdio::inherit());
    let output = process.output().map_err(failed)?;
    let (elapsed, cpu_s) = (start.elapsed(), children_s() - before);
    if !output.status.success() {
        let what = format!("{shown} ended with {}", output.status);
        return Err(Error::new(Kind::Io, what));
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut about = BTreeMap::new();
    let mut add = |name: &str, text: String| about.insert(name.to_owned(), text);
    add("machine", machine());
    add("folder", folder.display().to_string());
    add("file system", file_system(&folder));
    match audit(&text) {
        Ok(found) => {
            add("formats", found.formats.join(", "));
            add("checks", found.checks.to_string());
            let findings: Vec<String> = found.findings.iter().map(ToString::to_string).collect();
            add("findings", findings.join("\n"));
        }
        Err(error) => {
            add(
                "formats",
                format!("none that the audit knows: {}", error.problem()),
            );
        }
    }
    Ok(Driven {
        command: shown,
        elapsed_s: (elapsed.as_secs_f64() * 1e3).round() / 1e3,
        cpu_s: (cpu_s * 1e3).round() / 1e3,
        date: std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |since| since.as_secs()),
        about,
        output: text,
    })
}

impl Driven {
    /// The line, with its end.
    pub fn to_line(&self) -> String {
        line(self)
    }
}

/// Processor time of all children that have ended, in seconds.
fn children_s() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let behind = stat.rsplit_once(") ").map_or("", |(_, behind)| behind);
    // From the state on, which is field 3; cutime and cstime are fields 16 and 17.
    let times = behind.split(' ').skip(13).take(2);
    let ticks: f64 = times.filter_map(|word| word.parse::<f64>().ok()).sum();
    ticks / TICKS
}
