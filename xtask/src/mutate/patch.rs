//! A mutant as cargo-mutants prints it: the lines of one place, before and after.

use std::collections::BTreeMap;

use super::areas::Area;
use super::generated::{exactly, split};
use super::tree::Tree;

/// What is changed in one place of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Patch {
    pub(super) file: String,
    /// The first line, from 1.
    at: usize,
    goes: Vec<String>,
    comes: Vec<String>,
}

impl Patch {
    /// The patches of mutants of `area`, by their names.
    pub(super) fn list(
        tree: &Tree,
        area: &Area,
        names: &[String],
    ) -> Result<BTreeMap<String, Self>, String> {
        let mut command = tree.cargo();
        command.args(["mutants", "--list", "--diff", "--package", area.package]);
        for file in area.files {
            command.args(["--file", file]);
        }
        for name in names {
            command.args(["--re", &exactly(name)]);
        }
        let output = command.output();
        let output = output.map_err(|error| format!("cargo mutants cannot be run: {error}"))?;
        Ok(parse(&String::from_utf8_lossy(&output.stdout)))
    }

    /// The file with the mutant in it.
    pub(super) fn applied(&self, right: &str) -> Result<String, String> {
        let lines: Vec<&str> = right.lines().collect();
        let first = self.at.saturating_sub(1);
        let last = first + self.goes.len();
        if lines
            .get(first..last)
            .is_none_or(|found| found != self.goes)
        {
            return Err(format!("{} is not what was mutated", self.file));
        }
        let comes = self.comes.iter().map(String::as_str);
        let all = lines[..first].iter().copied().chain(comes);
        let all: Vec<&str> = all.chain(lines[last..].iter().copied()).collect();
        Ok(all.join("\n") + "\n")
    }
}

/// Reads names, each with the patch that follows it.
fn parse(text: &str) -> BTreeMap<String, Patch> {
    let mut patches: BTreeMap<String, Patch> = BTreeMap::new();
    let mut lines = text.lines();
    let mut name = "";
    while let Some(line) = lines.next() {
        let Some((at, mut left)) = hunk(line) else {
            // The name stands before "---" and "+++", and an empty line after the patch.
            if !line.starts_with("--- ") && !line.starts_with("+++ ") && !line.is_empty() {
                name = line;
            }
            continue;
        };
        let file = split(name).0.to_owned();
        let mut patch = Patch {
            file,
            at,
            ..Patch::default()
        };
        while left > (0, 0)
            && let Some(line) = lines.next()
        {
            let (mark, rest) = line.split_at_checked(1).unwrap_or((" ", ""));
            if mark != "+" {
                left.0 = left.0.saturating_sub(1);
                patch.goes.push(rest.to_owned());
            }
            if mark != "-" {
                left.1 = left.1.saturating_sub(1);
                patch.comes.push(rest.to_owned());
            }
        }
        patches.insert(name.to_owned(), patch);
    }
    patches
}

/// Of `@@ -17,28 +17,17 @@`: the first line, and how many there are before and after.
fn hunk(line: &str) -> Option<(usize, (usize, usize))> {
    let (before, after) = line
        .strip_prefix("@@ -")?
        .strip_suffix(" @@")?
        .split_once(" +")?;
    let numbers = |text: &str| -> Option<(usize, usize)> {
        let (at, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((at.parse().ok()?, count.parse().ok()?))
    };
    let (at, goes) = numbers(before)?;
    Some((at, (goes, numbers(after)?.1)))
}

#[cfg(test)]
mod tests;
