//! The command line of the fuzzer, and one run of one target.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::Outcome;
use crate::tidy::root;

use super::build;
use super::progress::Progress;

const USAGE: &str = "usage: fuzz [--seconds N] [TARGET…] | --repeat TARGET FILE | --keep TARGET";

/// Time for all targets together when nothing is said.
const SECONDS: u64 = 60;
/// Below this a target does little more than read its corpus.
const TARGET_SECONDS_MIN: u64 = 3;
/// One input may not take longer, in seconds.
const INPUT_SECONDS_MAX: u64 = 10;
/// Inputs are not made longer: larger ones only repeat what smaller ones do.
const INPUT_SIZE_MAX: usize = 64 << 10;
/// What a decoder may use for one such input, in MiB.
const GROWTH_MAX_MIB: u64 = 64;
/// Ends a run away process before the machine suffers; the check that counts is the one on growth.
const MEMORY_MAX_MIB: u64 = 1024;
/// How often the progress is shown.
const PERIOD: Duration = Duration::from_secs(5);
/// Lines of libFuzzer's output shown after a failure.
const TAIL: usize = 40;

/// `cargo xtask fuzz`.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["--repeat", target, file] => repeat(target, file),
        ["--keep", target] => keep(target),
        ["--seconds", seconds, names @ ..] => match seconds.parse() {
            Ok(seconds) => all(seconds, names),
            Err(_) => Err(USAGE.to_owned()),
        },
        [flag, ..] if flag.starts_with('-') => Err(USAGE.to_owned()),
        names => all(SECONDS, names),
    };
    result.unwrap_or_else(Outcome::Unusable)
}

/// Where a target's files are.
struct Target {
    name: String,
    program: PathBuf,
    fuzz: PathBuf,
}

impl Target {
    /// Builds the named targets, or all.
    fn built(names: &[&str]) -> Result<Vec<Self>, String> {
        let fuzz = root().join("fuzz");
        let known = build::targets(&fuzz)?;
        if let Some(unknown) = names.iter().find(|name| !known.iter().any(|k| k == *name)) {
            return Err(format!(
                "no target is called '{unknown}'; there are: {}",
                known.join(" ")
            ));
        }
        let is_wanted = |name: &String| names.is_empty() || names.contains(&name.as_str());
        let wanted: Vec<String> = known.into_iter().filter(is_wanted).collect();
        println!("fuzz: building {}", wanted.join(" "));
        let folder = build::build(&fuzz, &wanted)?;
        let target = |name: String| Target {
            program: folder.join(&name),
            name,
            fuzz: fuzz.clone(),
        };
        Ok(wanted.into_iter().map(target).collect())
    }

    /// The folder `kind/TARGET`, made if it is not there.
    fn folder(&self, kind: &str) -> Result<PathBuf, String> {
        let folder = self.fuzz.join(kind).join(&self.name);
        fs::create_dir_all(&folder)
            .map_err(|error| format!("{} cannot be made: {error}", folder.display()))?;
        Ok(folder)
    }

    fn command(&self) -> Result<Command, String> {
        let mut command = Command::new(&self.program);
        let artifacts = self.folder("artifacts")?;
        command
            .arg(format!("-artifact_prefix={}/", artifacts.display()))
            .arg(format!("-timeout={INPUT_SECONDS_MAX}"))
            .arg(format!("-rss_limit_mb={MEMORY_MAX_MIB}"))
            .arg(format!("-max_len={INPUT_SIZE_MAX}"))
            .stdin(Stdio::null());
        Ok(command)
    }
}

fn all(seconds: u64, names: &[&str]) -> Result<Outcome, String> {
    let targets = Target::built(names)?;
    let share = (seconds / targets.len() as u64).max(TARGET_SECONDS_MIN);
    let mut failed = 0;
    for target in &targets {
        if let Err(message) = fuzz(target, share)? {
            println!("{}: {message}", target.name);
            failed += 1;
        }
    }
    println!(
        "fuzz: {} targets for {share} s each, {failed} failed",
        targets.len()
    );
    Ok(if failed == 0 {
        Outcome::Passed
    } else {
        Outcome::Failed
    })
}

/// Runs one target; the inner result is what it found.
fn fuzz(target: &Target, seconds: u64) -> Result<Result<(), String>, String> {
    let mut command = target.command()?;
    let dictionary = target
        .fuzz
        .join(format!("dictionaries/{}.dict", target.name));
    if dictionary.is_file() {
        command.arg(format!("-dict={}", dictionary.display()));
    }
    let mut child = command
        .arg(format!("-max_total_time={seconds}"))
        .arg("-print_final_stats=1")
        .args([target.folder("found")?, target.folder("corpus")?])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{} cannot be started: {error}", target.name))?;
    let start = Instant::now();
    let (mut progress, mut tail, mut shown) = (Progress::default(), Vec::new(), Instant::now());
    let output = child.stderr.take().expect("its output is piped");
    for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line).into_owned();
        progress.read(&line);
        if shown.elapsed() >= PERIOD {
            show(target, &progress, start.elapsed());
            shown = Instant::now();
        }
        tail.push(line);
        tail.drain(..tail.len().saturating_sub(TAIL));
    }
    let status = child
        .wait()
        .map_err(|error| format!("{}: {error}", target.name))?;
    show(target, &progress, start.elapsed());
    let verdict = judge(target, &progress, status.success());
    if verdict.is_err() {
        println!("{}", tail.join("\n"));
    }
    Ok(verdict)
}

fn show(target: &Target, progress: &Progress, time: Duration) {
    println!(
        "  {:<20} {:>4} s  {:>9} runs  {:>6} branches  {:>4} MiB",
        target.name,
        time.as_secs(),
        progress.executions,
        progress.coverage,
        progress.memory_mib
    );
}

fn judge(target: &Target, progress: &Progress, succeeded: bool) -> Result<(), String> {
    if let Some(artifact) = &progress.artifact {
        let root = target.fuzz.parent().unwrap_or(Path::new(""));
        let path = Path::new(artifact);
        let path = path.strip_prefix(root).unwrap_or(path).display();
        return Err(format!(
            "broke on {path}\n  repeat: cargo xtask fuzz --repeat {} {path}",
            target.name
        ));
    }
    if !succeeded {
        return Err("ended with a failure and no input to blame".to_owned());
    }
    match progress.growth_mib() {
        None => Err("never began".to_owned()),
        Some(growth) if growth > GROWTH_MAX_MIB => Err(format!(
            "memory grew by {growth} MiB, {GROWTH_MAX_MIB} are allowed"
        )),
        Some(_) => Ok(()),
    }
}

fn repeat(name: &str, file: &str) -> Result<Outcome, String> {
    if !Path::new(file).is_file() {
        return Err(format!("{file} is not a file"));
    }
    let targets = Target::built(&[name])?;
    let status = targets[0]
        .command()?
        .arg(file)
        .env("RUST_BACKTRACE", "1")
        .status();
    let status = status.map_err(|error| format!("{name} cannot be started: {error}"))?;
    Ok(if status.success() {
        Outcome::Passed
    } else {
        Outcome::Failed
    })
}

/// Takes from `found` into `corpus` whatever reaches something that the corpus does not.
fn keep(name: &str) -> Result<Outcome, String> {
    let targets = Target::built(&[name])?;
    let target = &targets[0];
    let mut command = target.command()?;
    command
        .arg("-merge=1")
        .args([target.folder("corpus")?, target.folder("found")?]);
    let status = command
        .status()
        .map_err(|error| format!("{name} cannot be started: {error}"))?;
    Ok(if status.success() {
        Outcome::Passed
    } else {
        Outcome::Failed
    })
}
