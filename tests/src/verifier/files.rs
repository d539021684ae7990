//! Files that are written with `fsync`, and the question whether they are still there.
//!
//! Each step replaces one of a few files in the way that careful programs do: the new content goes
//! to another name, is flushed, takes the old name, and the folder is flushed. Some steps append a
//! line to a growing file instead. The journal gets a line before and after each step:
//!
//! ```text
//!   try 3 17       file 3 is about to become version 17
//!   done 3 17      it has; from here on it must never be older again
//!   try line 18    line 18 is about to be appended, and the lines before it are flushed
//!   done line 18
//! ```
//!
//! The journal lies on another file system than the files.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::random::Random;

/// Files that are replaced again and again.
const FILES: u64 = 12;
/// The longest content, in bytes.
const LEN_MAX: u64 = 48 << 10;
/// Length of a line, in bytes.
const LINE: usize = 64;
const LINES: &str = "lines";

/// Writes into `folder`, which is there and empty, until `count` steps are done.
///
/// # Errors
/// The error of the first step that failed: what it was about to do may be there or not.
///
/// # Panics
/// When the journal cannot be written.
pub fn write_files(folder: &Path, journal: &Path, seed: u64, count: u64) -> io::Result<()> {
    let mut journal = File::create(journal).expect("a journal");
    let mut random = Random::new(seed);
    let mut lines = File::create(folder.join(LINES))?;
    File::open(folder)?.sync_all()?;
    for version in 1..=count {
        if random.below(4) == 0 {
            note(&mut journal, &format!("try line {version}"));
            lines.write_all(&line(version))?;
            lines.sync_data()?;
            note(&mut journal, &format!("done line {version}"));
        } else {
            let file = random.below(FILES);
            note(&mut journal, &format!("try {file} {version}"));
            let new = folder.join("new");
            let mut options = OpenOptions::new();
            let mut output = options.write(true).create(true).truncate(true).open(&new)?;
            output.write_all(&content(seed, version))?;
            output.sync_all()?;
            fs::rename(&new, path(folder, file))?;
            File::open(folder)?.sync_all()?;
            note(&mut journal, &format!("done {file} {version}"));
        }
    }
    Ok(())
}

/// What of the journal's promises `folder` does not keep, and how many it keeps.
///
/// # Errors
/// One line for each broken promise.
///
/// # Panics
/// When the journal cannot be read.
pub fn check_files(folder: &Path, journal: &Path, seed: u64) -> Result<u64, Vec<String>> {
    let text = fs::read_to_string(journal).expect("a journal");
    // For each file the versions that it may be: the newest that is done, and those tried since.
    let mut allowed: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    let (mut kept, mut lines_done, mut lines_tried) = (0, Vec::new(), Vec::new());
    for words in text.lines().map(|line| line.split(' ').collect::<Vec<_>>()) {
        let version = words[2].parse().expect("a number");
        match (words[0], words[1]) {
            ("try", "line") => lines_tried.push(version),
            ("done", "line") => lines_done.push(version),
            ("try", file) => allowed.entry(file).or_insert_with(|| vec![0]).push(version),
            ("done", file) => {
                let versions = allowed.get_mut(file).expect("it was tried");
                versions.retain(|&other| other == version);
            }
            _ => panic!("no line of a journal: {words:?}"),
        }
        kept += u64::from(words[0] == "done");
    }
    let mut problems = Vec::new();
    for (file, versions) in &allowed {
        let found = fs::read(folder.join(file));
        let right = |version: &u64| match (&found, version) {
            (Err(error), 0) => error.kind() == io::ErrorKind::NotFound,
            (Err(_), _) | (Ok(_), 0) => false,
            (Ok(bytes), &version) => *bytes == content(seed, version),
        };
        if !versions.iter().any(right) {
            let found = found.map(|bytes| (bytes.len(), shown(&bytes)));
            problems.push(format!("file {file} is {found:?}, allowed: {versions:?}"));
        }
    }
    let lines = fs::read(folder.join(LINES)).unwrap_or_default();
    for (index, &version) in lines_tried.iter().enumerate() {
        let found = lines.get(index * LINE..(index + 1) * LINE);
        if index < lines_done.len() && found != Some(&line(version)) {
            problems.push(format!("line {version} is {found:?}"));
        }
    }
    if problems.is_empty() {
        Ok(kept)
    } else {
        Err(problems)
    }
}

fn note(journal: &mut File, line: &str) {
    journal
        .write_all(format!("{line}\n").as_bytes())
        .expect("a journal is kept");
}

fn path(folder: &Path, file: u64) -> PathBuf {
    folder.join(file.to_string())
}

fn content(seed: u64, version: u64) -> Vec<u8> {
    let mut random = Random::new(seed ^ version.rotate_left(32));
    let words = 1 + random.below(LEN_MAX / 8);
    let words = std::iter::once(version).chain((0..words).map(|_| random.draw()));
    words.flat_map(u64::to_le_bytes).collect()
}

fn line(version: u64) -> [u8; LINE] {
    let mut line = [b'.'; LINE];
    let number = format!("{version:>20}");
    line[..number.len()].copy_from_slice(number.as_bytes());
    line[LINE - 1] = b'\n';
    line
}

/// The version that a file begins with, for people.
fn shown(bytes: &[u8]) -> Option<u64> {
    bytes.first_chunk().map(|word| u64::from_le_bytes(*word))
}
