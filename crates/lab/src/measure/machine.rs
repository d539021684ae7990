//! Where and with what a measurement was made.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Processors, memory and kernel of this machine, in words.
pub fn machine() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let processor = read("/proc/cpuinfo");
    let model = processor
        .lines()
        .find_map(|line| line.strip_prefix("model name"));
    let model = model.map_or("unknown processor", |text| {
        text.trim_start_matches([' ', '\t', ':'])
    });
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = read("/proc/meminfo");
    let kib = memory.split_whitespace().nth(1);
    let gib = kib.and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) >> 20;
    let kernel = read("/proc/sys/kernel/osrelease");
    format!("{cores} x {model}, {gib} GiB, Linux {}", kernel.trim())
}

/// The revision of the sources that this program is made of, if it lies where it was built.
pub fn revision() -> Option<String> {
    let program = std::env::current_exe().ok()?;
    let output = Command::new("git")
        .arg("-C")
        .arg(program.parent()?)
        .args(["rev-parse", "--short=12", "HEAD"])
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}

/// What kind of file system `folder` is in, by the list of mounts.
pub(super) fn file_system(folder: &Path) -> String {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mount = |line: &str| {
        let mut words = line.split(' ').skip(1);
        let (place, kind) = (words.next()?.to_owned(), words.next()?.to_owned());
        folder.starts_with(&place).then_some((place.len(), kind))
    };
    let found = mounts.lines().filter_map(mount).max_by_key(|found| found.0);
    found.map_or_else(|| "unknown".to_owned(), |found| found.1)
}

/// The day of a time in seconds since 1970 began: `2026-03-01`, in UTC.
pub fn date(seconds: u64) -> String {
    // Years that begin with March, in periods of 400.
    let days = seconds / 86_400 + 719_468;
    let (period, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, late) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    format!("{:04}-{month:02}-{day:02}", 400 * period + year + late)
}
