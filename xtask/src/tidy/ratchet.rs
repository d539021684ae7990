//! The list of files and functions that are longer than the limits, which may only shrink.
//!
//! `xtask/ratchet.txt` has a line `LINES PATH` or `LINES PATH::FUNCTION` for each. A ratchet that
//! anybody can loosen is none, so the list is compared with every version of itself that git
//! remembers: what was not in the first version, or was shorter once, is refused.

use std::fs;
use std::path::Path;

use super::walk;

/// One exception.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// A path, or a path and a function.
    pub(crate) name: String,
    pub(crate) lines: usize,
}

/// The list and what it must not exceed.
pub(crate) struct Ratchet {
    entries: Vec<Entry>,
    history: Vec<Vec<Entry>>,
}

impl Ratchet {
    pub(crate) const PATH: &str = "xtask/ratchet.txt";

    /// Reads the list and its history.
    pub(crate) fn load(root: &Path) -> Result<Self, String> {
        let now = fs::read_to_string(root.join(Self::PATH))
            .map_err(|error| format!("{} cannot be read: {error}", Self::PATH))?;
        let commits = walk::git(root, &["log", "--format=%H", "--", Self::PATH])?;
        let versions: Result<Vec<String>, String> = commits
            .lines()
            .map(|commit| walk::git(root, &["show", &format!("{commit}:{}", Self::PATH)]))
            .collect();
        Self::parse(&now, &versions?)
    }

    pub(crate) fn parse(now: &str, history: &[String]) -> Result<Self, String> {
        let history: Result<_, _> = history.iter().map(|text| parse_list(text)).collect();
        Ok(Ratchet {
            entries: parse_list(now)?,
            history: history?,
        })
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// How long a file or function may be by exception.
    pub(crate) fn lines_of(&self, name: &str) -> Option<usize> {
        self.entries
            .iter()
            .find(|entry| entry.name == name)
            .map(|entry| entry.lines)
    }

    /// What the list allows now and did not allow before.
    pub(crate) fn growth(&self) -> Vec<String> {
        let mut found = Vec::new();
        for entry in &self.entries {
            let before = |version: &Vec<Entry>| {
                version
                    .iter()
                    .find(|old| old.name == entry.name)
                    .map_or(0, |old| old.lines)
            };
            let least = self.history.iter().map(before).min();
            if let Some(least) = least.filter(|least| *least < entry.lines) {
                let name = &entry.name;
                found.push(format!("{name} was {least} once: the list may only shrink"));
            }
        }
        found
    }
}

fn parse_list(text: &str) -> Result<Vec<Entry>, String> {
    let lines = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (lines, name) = line.split_once(' ')?;
            Some(Entry {
                name: name.to_owned(),
                lines: lines.parse().ok()?,
            })
        })
        .collect::<Option<_>>()
        .ok_or_else(|| format!("{}: a line is not 'LINES NAME'", Ratchet::PATH))
}

#[cfg(test)]
mod tests;
