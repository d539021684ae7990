//! Mistakes that people thought of (`known.txt`), each with the test that has to find it.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::tree::Tree;

const KNOWN: &str = include_str!("known.txt");
/// How long its tests may take: those that take longer wait for ever.
const LIMIT: Duration = Duration::from_mins(5);

/// A mistake.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) name: String,
    /// What cargo test is given, without the names of tests.
    target: Vec<String>,
    /// The names of tests.
    tests: Vec<String>,
    file: String,
    /// What goes, and what comes instead.
    places: Vec<(String, String)>,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    ByTest,
    ByNobody,
}

/// All of them whose name has `word` in it.
pub(super) fn list(word: &str) -> Vec<Known> {
    let all = parse(KNOWN);
    all.into_iter()
        .filter(|known| known.name.contains(word))
        .collect()
}

fn parse(text: &str) -> Vec<Known> {
    let mut all: Vec<Known> = Vec::new();
    for line in text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        if let Some(name) = line.strip_prefix("= ") {
            let name = name.to_owned();
            all.push(Known {
                name,
                ..Known::default()
            });
            continue;
        }
        let known = all.last_mut().expect("a name comes first");
        if let Some(test) = line.strip_prefix("test ") {
            let (target, tests) = test.split_once(" -- ").expect("names of tests are given");
            let words = |text: &str| text.split(' ').map(str::to_owned).collect();
            (known.target, known.tests) = (words(target), words(tests));
        } else if let Some(file) = line.strip_prefix("file ") {
            file.clone_into(&mut known.file);
            known.places.push(<_>::default());
        } else if line == "@" {
            known.places.push(<_>::default());
        } else {
            let (goes, comes) = known.places.last_mut().expect("a file comes first");
            let (mark, rest) = line.split_at(1);
            if mark != "+" {
                goes.push_str(rest);
                goes.push('\n');
            }
            if mark != "-" {
                comes.push_str(rest);
                comes.push('\n');
            }
        }
    }
    all
}

impl Known {
    /// Runs its tests on what is right: they pass.
    pub(super) fn try_without(&self, tree: &Tree) -> Result<(), String> {
        match self.test(tree)? {
            Found::ByNobody => Ok(()),
            Found::ByTest => Err(format!("{}: its test fails without it", self.name)),
        }
    }

    /// Makes the mistake, runs its tests, and takes it back.
    pub(super) fn try_with(&self, tree: &Tree) -> Result<Found, String> {
        let path = tree.root().join(&self.file);
        let right = fs::read_to_string(&path);
        let right = right.map_err(|error| format!("{} cannot be read: {error}", self.file))?;
        write(&path, &self.applied(&right)?)?;
        let found = self.test(tree);
        write(&path, &right)?;
        found
    }

    fn applied(&self, right: &str) -> Result<String, String> {
        let mut wrong = right.to_owned();
        for (goes, comes) in &self.places {
            if wrong.matches(goes.as_str()).count() != 1 {
                return Err(format!(
                    "{}: {} has changed, write its lines in known.txt anew",
                    self.name, self.file
                ));
            }
            wrong = wrong.replacen(goes, comes, 1);
        }
        Ok(wrong)
    }

    fn test(&self, tree: &Tree) -> Result<Found, String> {
        let cargo = |arguments: &[&str]| -> Result<bool, String> {
            let mut command: Command = tree.cargo();
            command
                .args(["test", "--quiet"])
                .arg(tree.cargo_runner(LIMIT));
            command.args(&self.target).args(arguments);
            command.stdout(Stdio::null()).stderr(Stdio::null());
            let status = command.status();
            let status = status.map_err(|error| format!("cargo cannot be run: {error}"))?;
            Ok(status.success())
        };
        if !cargo(&["--no-run"])? {
            return Err(format!("{}: it does not compile", self.name));
        }
        let mut arguments = vec!["--"];
        arguments.extend(self.tests.iter().map(String::as_str));
        Ok(if cargo(&arguments)? {
            Found::ByNobody
        } else {
            Found::ByTest
        })
    }

    /// What its tests are, to run them once.
    pub(super) fn asks(&self) -> (&[String], &[String]) {
        (&self.target, &self.tests)
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{} cannot be written: {error}", path.display()))
}

#[cfg(test)]
mod tests;
