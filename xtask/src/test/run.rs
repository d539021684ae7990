//! The order of the run and its summary.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::Outcome;

use super::step::{Report, Step};
use super::{requirements, steps};

/// Without this step's result the ones after it would only repeat its failure.
const FOUNDATION: &str = "build";

/// `cargo xtask test [STEP…]`: all steps, or the named ones.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let all = steps::steps();
    let known: Vec<&str> = all.iter().map(|step| step.name).collect();
    if let Some(unknown) = arguments
        .iter()
        .find(|name| !known.contains(&name.as_str()))
    {
        let message = format!(
            "no step is called '{unknown}'; there are: {}",
            known.join(" ")
        );
        return Outcome::Unusable(message);
    }
    if let Err(message) = requirements::ensure() {
        return Outcome::Unusable(message);
    }
    let is_wanted = |step: &Step| arguments.is_empty() || arguments.iter().any(|a| a == step.name);
    let wanted: Vec<Step> = all.into_iter().filter(is_wanted).collect();
    let boots = boots_file();
    // What is left of an earlier run; usually nothing.
    let _ = std::fs::remove_file(&boots);
    let start = Instant::now();
    let mut reports = Vec::new();
    let mut broken = false;
    for step in &wanted {
        let report = if broken { not_tried() } else { announced(step) };
        broken |= step.name == FOUNDATION && report.failure.is_some();
        reports.push(report);
    }
    let booted = std::fs::read_to_string(&boots).unwrap_or_default();
    println!("\nboots of the stock kernel: {}", booted.lines().count());
    summarise(&wanted, &reports, start.elapsed())
}

/// Where the tests note each boot of the stock kernel. They end with a failure when there are
/// more than a whole run may have.
pub(super) fn boots_file() -> PathBuf {
    let path = crate::target_folder().join("kernel-boots");
    // The tests run in other folders.
    std::path::absolute(&path).unwrap_or(path)
}

fn announced(step: &Step) -> Report {
    println!("\n== {}: {}", step.name, step.command.join(" "));
    let report = step.run();
    if let Some(failure) = &report.failure {
        println!("== {}: FAILED: {failure}", step.name);
    }
    report
}

fn not_tried() -> Report {
    let failure = Some(format!("not tried: {FOUNDATION} failed"));
    Report {
        failure,
        tests: (0, 0),
        failed: Vec::new(),
        time: Duration::ZERO,
    }
}

fn summarise(steps: &[Step], reports: &[Report], time: Duration) -> Outcome {
    println!("\n{:<12} {:>8}  {:>6}  result", "step", "time", "tests");
    for (step, report) in steps.iter().zip(reports) {
        let tests = match report.tests {
            (0, 0) => String::new(),
            (passed, failed) => (passed + failed).to_string(),
        };
        let result = report
            .failure
            .as_deref()
            .map_or("ok".to_owned(), |f| format!("FAILED: {f}"));
        let seconds = report.time.as_secs_f64();
        println!("{:<12} {seconds:>6.1} s  {tests:>6}  {result}", step.name);
        // Far above in the output; who sees only its end needs them, too.
        for name in &report.failed {
            println!("{:<12} failed or still ran: {name}", "");
        }
    }
    let failed = reports
        .iter()
        .filter(|report| report.failure.is_some())
        .count();
    println!("in {:.1} s", time.as_secs_f64());
    println!("steps: {} passed, {failed} failed", reports.len() - failed);
    if failed == 0 {
        Outcome::Passed
    } else {
        Outcome::Failed
    }
}
