//! Asks other tests for the mutants that the unit tests of their package let live.
//!
//! Each mutant is made once more, from the patch that cargo-mutants prints, and only the program
//! (for unit and integration tests their package) is built: the end-to-end tests were built before
//! from what is right, and are given the program by its path. They run in namespaces of their own,
//! so that no server outlives them, and end with the first failure.
//!
//! Before, all that will be asked is run without a mutant: it has to pass, and the time it takes
//! says how long a mutant may take. A test that fails is run again alone, without the mutant and
//! with it: what fails by chance, or of what else the machine does, finds nothing.
//!
//! Costs: half a minute to some minutes for each mutant. Needs root, as the tests do.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::geteuid;

use super::areas::{Area, Later};
use super::generated::Made;
use super::leftovers;
use super::patch::Patch;
use super::tree::Tree;
use super::until_failure::TIME_UP;

/// How long tests may take before it is known how long they take.
const FIRST_LIMIT: Duration = Duration::from_mins(8);
/// How many times longer than without a mutant they may take, beside [`EXTRA`]: the machine may
/// have more to do by then.
const TIMES: u32 = 3;
const EXTRA: Duration = Duration::from_mins(1);
/// How long after its time a command may end; a process that waits for a device that is gone may
/// never.
const GRACE: Duration = Duration::from_mins(1);
const PERIOD: Duration = Duration::from_millis(50);

/// What is asked, ready to run.
#[derive(Debug)]
pub(super) struct Bench<'a> {
    tree: &'a Tree,
    /// The built end-to-end tests.
    end_to_end: PathBuf,
    /// The program without a mutant.
    right: PathBuf,
    /// What was run without a mutant, and how long it may take with one.
    limits: BTreeMap<Later, Duration>,
}

/// What the program is built from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Right,
    Mutant,
}

/// What tests said.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Answer {
    Passed,
    /// This one failed, if its name is known.
    Failed(Option<String>),
    TimeUp,
    /// They do not compile.
    NotBuilt,
}

impl<'a> Bench<'a> {
    /// Builds what runs later.
    pub(super) fn new(tree: &'a Tree) -> Result<Self, String> {
        if !geteuid().is_root() {
            return Err(
                "end-to-end tests need root (loop devices, mounts): run this as root".into(),
            );
        }
        let mut build = tree.cargo();
        build.args(["test", "--locked", "--package=tests", "--test=end_to_end"]);
        let output = build.arg("--no-run").output();
        let output = output.map_err(|error| format!("cargo cannot be run: {error}"))?;
        let text = String::from_utf8_lossy(&output.stderr);
        let built = executable(&text).filter(|_| output.status.success());
        let built = built.ok_or_else(|| format!("the end-to-end tests are not built: {text}"))?;
        Ok(Self {
            tree,
            end_to_end: built,
            right: tree.folder().join("ashlar"),
            limits: BTreeMap::new(),
        })
    }

    /// Asks for all that survived in `made`.
    pub(super) fn ask(&mut self, area: &Area, made: &mut Made) -> Result<(), String> {
        let found = made.later.get_or_insert_default();
        if made.survived.is_empty() {
            return Ok(());
        }
        self.try_without(area.later)?;
        let patches = Patch::list(self.tree, area, &made.survived)?;
        let survived = std::mem::take(&mut made.survived);
        let count = survived.len();
        for (number, name) in survived.into_iter().enumerate() {
            let patch = patches
                .get(&name)
                .ok_or_else(|| format!("cargo-mutants knows no more of {name}"))?;
            let start = Instant::now();
            let (said, list) = match self.with(patch, area.later)? {
                None => ("survived".to_owned(), &mut made.survived),
                Some((_, Answer::NotBuilt)) => ("does not compile".into(), &mut made.unviable),
                Some((later, Answer::TimeUp)) => (format!("{later} do not end"), &mut made.timeout),
                Some((later, answer)) => (format!("{later}: {answer:?}"), &mut *found),
            };
            let seconds = start.elapsed().as_secs();
            println!("{} of {count}: {name}: {said} ({seconds} s)", number + 1);
            list.push(name);
        }
        Ok(())
    }

    /// Runs what is asked on what is right.
    fn try_without(&mut self, asked: &[Later]) -> Result<(), String> {
        self.build_program()?
            .then_some(())
            .ok_or("the program is not built")?;
        fs::copy(self.program(Source::Mutant), &self.right)
            .map_err(|error| format!("{} cannot be made: {error}", self.right.display()))?;
        for later in asked {
            if self.limits.contains_key(later) {
                continue;
            }
            let start = Instant::now();
            match self.answer(*later, Source::Right, &[], FIRST_LIMIT)? {
                Answer::Passed => {}
                answer => return Err(format!("{later} fail without a mutant: {answer:?}")),
            }
            let taken = start.elapsed();
            println!("{later} pass without a mutant ({} s)", taken.as_secs());
            self.limits.insert(*later, taken * TIMES + EXTRA);
        }
        Ok(())
    }

    /// Makes a mutant, asks until one finds it, and takes it back.
    fn with(&self, patch: &Patch, asked: &[Later]) -> Result<Option<(Later, Answer)>, String> {
        let path = self.tree.root().join(&patch.file);
        let right = fs::read_to_string(&path);
        let right = right.map_err(|error| format!("{} cannot be read: {error}", patch.file))?;
        write(&path, &patch.applied(&right)?)?;
        let found = self.first_to_find(asked);
        write(&path, &right)?;
        found
    }

    fn first_to_find(&self, asked: &[Later]) -> Result<Option<(Later, Answer)>, String> {
        let mut is_built = false;
        for later in asked {
            if matches!(later, Later::EndToEnd(_)) && !is_built {
                is_built = self.build_program()?;
                if !is_built {
                    return Ok(Some((*later, Answer::NotBuilt)));
                }
            }
            let answer = self.certain(*later)?;
            if answer != Answer::Passed {
                return Ok(Some((*later, answer)));
            }
        }
        Ok(None)
    }

    /// What tests say of the mutant; those that fail without it as well are left out.
    fn certain(&self, later: Later) -> Result<Answer, String> {
        let limit = self.limits[&later];
        let mut left_out = Vec::new();
        loop {
            let answer = self.answer(later, Source::Mutant, &left_out, limit)?;
            let Answer::Failed(Some(test)) = &answer else {
                return Ok(answer);
            };
            let alone = ["--exact".to_owned(), test.clone()];
            // Others are built from what is in the tree.
            let is_right = !matches!(later, Later::EndToEnd(_))
                || self.answer(later, Source::Right, &alone, limit)? == Answer::Passed;
            if is_right && self.answer(later, Source::Mutant, &alone, limit)? != Answer::Passed {
                return Ok(answer);
            }
            println!("{test} failed, not because of the mutant");
            left_out.extend(["--skip".to_owned(), test.clone()]);
        }
    }

    fn program(&self, source: Source) -> PathBuf {
        match source {
            Source::Right => self.right.clone(),
            Source::Mutant => self.tree.build().join("debug/ashlar"),
        }
    }

    fn build_program(&self) -> Result<bool, String> {
        let mut build = self.tree.cargo();
        build.args(["build", "--quiet", "--locked", "--package=cli"]);
        let status = build.stderr(Stdio::null()).status();
        let status = status.map_err(|error| format!("cargo cannot be run: {error}"))?;
        Ok(status.success())
    }

    /// Runs tests once; `arguments` are more for the test program.
    fn answer(
        &self,
        later: Later,
        source: Source,
        arguments: &[String],
        limit: Duration,
    ) -> Result<Answer, String> {
        let log = self.tree.folder().join("later.log");
        let output = File::create(&log);
        let output = output.map_err(|error| format!("{} is not made: {error}", log.display()))?;
        let errors = output.try_clone();
        let errors = errors.map_err(|error| format!("{} is not made: {error}", log.display()))?;
        let command = match later {
            Later::Unit(package, _) => self.cargo_test(package, "--lib", limit)?,
            Later::Integration(package) => self.cargo_test(package, "--test=*", limit)?,
            Later::EndToEnd(_) => {
                let mut command = self.end_to_end(limit);
                command.env("ASHLAR_BIN", self.program(source));
                Some(command)
            }
        };
        let Some(mut command) = command else {
            return Ok(Answer::NotBuilt);
        };
        // A test that runs alone has a whole name.
        let is_alone = arguments.first().is_some_and(|first| first == "--exact");
        if let Later::Unit(_, names) | Later::EndToEnd(names) = later
            && !is_alone
        {
            command.arg(names);
        }
        command.args(arguments);
        let child = command.stdout(output).stderr(errors).spawn();
        let mut child = child.map_err(|error| format!("{later} cannot be run: {error}"))?;
        let deadline = Instant::now() + limit + GRACE;
        let code = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status.code(),
                Ok(None) if Instant::now() < deadline => thread::sleep(PERIOD),
                _ => {
                    // Nobody waits for it any more.
                    let _ = child.kill();
                    break Some(i32::from(TIME_UP));
                }
            }
        };
        leftovers::clear(self.tree.world());
        let said = fs::read(&log).unwrap_or_default();
        Ok(match code {
            Some(0) => Answer::Passed,
            Some(code) if code == i32::from(TIME_UP) => Answer::TimeUp,
            _ => Answer::Failed(failed_test(&String::from_utf8_lossy(&said))),
        })
    }

    /// Tests of a package that cargo builds; `None` if they do not compile.
    fn cargo_test(
        &self,
        package: &str,
        which: &str,
        limit: Duration,
    ) -> Result<Option<Command>, String> {
        let test = || {
            let mut command = self.tree.cargo();
            command.args(["test", "--locked", "--package", package, which]);
            command
        };
        let built = test().arg("--no-run").stderr(Stdio::null()).status();
        let built = built.map_err(|error| format!("cargo cannot be run: {error}"))?;
        let mut command = test();
        command.arg(self.tree.cargo_runner(limit)).arg("--");
        Ok(built.success().then_some(command))
    }

    /// The end-to-end tests, with nobody left when they end: the first process of their world, a
    /// shell, also takes those that lost their parent. Mounts of other people, which may have lost
    /// their servers, are not there.
    fn end_to_end(&self, limit: Duration) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]);
        let script = "umount --lazy --all --types fuse.ashlar; \"$@\"; exit $?";
        command.args(["sh", "-c", script, "sh"]);
        command.args(self.tree.runner(limit)).arg(&self.end_to_end);
        command.current_dir(self.tree.root().join("tests"));
        command
    }
}

/// The program that cargo says it has built.
fn executable(text: &str) -> Option<PathBuf> {
    let line = text.lines().find(|line| line.contains("Executable "))?;
    let (_, path) = line.split_once('(')?;
    Some(PathBuf::from(path.strip_suffix(')')?))
}

/// The first test of which a test program says that it failed.
fn failed_test(text: &str) -> Option<String> {
    let mut names = text.lines().filter_map(|line| {
        let name = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
        Some(name.trim_end_matches(" - should panic").to_owned())
    });
    names.next()
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{} cannot be written: {error}", path.display()))
}

#[cfg(test)]
mod tests;
