//! A map as a file, in the format of GNU ddrescue's mapfiles.
//!
//! ```text
//!   # Mapfile. Created by ...                      comments
//!   # current_pos  current_status  current_pass
//!   0x00200000     *               1               where the salvage is
//!   #      pos        size  status
//!   0x00000000  0x00200000  +                      one line for each run
//!   0x00200000  0x00080000  *
//! ```
//!
//! So ddrescue, ddrescuelog and ddrescueview understand it, and maps that ddrescue wrote are read:
//! of its modes of filling and generating too, which count as copying. Numbers are decimal, octal
//! behind `0`, hexadecimal behind `0x`. Runs must follow each other without gaps; what lies before
//! the first was never tried.

use std::io::{self, Write};

use super::map::{Map, Status};
use crate::{Error, Kind, Range, Result};

/// Runs that are read from a file: they take 640 MiB, and no copy that is worked on for weeks has
/// more than some hundred thousand.
pub const RUNS_MAX: usize = 1 << 24;

impl Map {
    /// Writes the map behind `comments`, lines without their `#`.
    pub fn write(&self, comments: &[String], out: &mut dyn Write) -> io::Result<()> {
        for comment in comments {
            writeln!(out, "# {comment}")?;
        }
        writeln!(out, "# current_pos  current_status  current_pass")?;
        let (position, phase) = (hex(self.position), self.phase.letter());
        writeln!(out, "{position}     {phase}               {}", self.pass)?;
        writeln!(out, "#      pos        size  status")?;
        for (run, status) in self.runs() {
            let (start, len) = (hex(run.start()), hex(run.len()));
            writeln!(out, "{start}  {len}  {}", status.letter())?;
        }
        Ok(())
    }

    /// Reads a map. Says in which line it is none.
    pub fn parse(text: &str) -> Result<Self> {
        let mut lines = text
            .lines()
            .enumerate()
            .map(|(number, line)| (number + 1, line.trim()))
            .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let (number, line) = lines.next().ok_or_else(|| wrong(1, "has no content"))?;
        let (position, phase, pass) = current(line).ok_or_else(|| {
            let what = "is not where a salvage is (position, status, pass)";
            wrong(number, what)
        })?;
        let mut runs: Vec<(Range, Status)> = Vec::new();
        for (number, line) in lines {
            let (run, status) =
                run(line).ok_or_else(|| wrong(number, "is not a run (position, size, status)"))?;
            if runs
                .last()
                .is_some_and(|(last, _)| last.end() != run.start())
            {
                return Err(wrong(number, "does not begin where the line before ends"));
            }
            if runs.len() == RUNS_MAX {
                return Err(wrong(number, "is one run too many: 16777216 are read"));
            }
            runs.push((run, status));
        }
        let size = runs.last().map_or(0, |(last, _)| last.end());
        let mut map = Self::new(size);
        for (run, status) in runs {
            map.set(run, status);
        }
        if cfg!(debug_assertions) {
            map.check();
        }
        (map.position, map.phase, map.pass) = (position, phase, pass);
        Ok(map)
    }
}

fn hex(number: u64) -> String {
    format!("0x{number:08X}")
}

fn wrong(line: usize, what: &str) -> Error {
    Error::new(Kind::Invalid, format!("line {line} of the map {what}"))
}

fn number(word: &str) -> Option<u64> {
    let hex = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X"));
    let (digits, radix) = match (hex, word.strip_prefix('0')) {
        (Some(digits), _) => (digits, 16),
        (None, Some(digits)) if !digits.is_empty() => (digits, 8),
        _ => (word, 10),
    };
    let is_plain = digits.chars().all(|c| c.is_digit(radix));
    u64::from_str_radix(digits, radix).ok().filter(|_| is_plain)
}

/// A word of one letter.
fn letter(word: &str) -> Option<char> {
    let mut letters = word.chars();
    letters.next().filter(|_| letters.next().is_none())
}

fn current(line: &str) -> Option<(u64, Status, u32)> {
    let mut words = line.split_whitespace();
    let position = number(words.next()?)?;
    let phase = match letter(words.next()?)? {
        'F' | 'G' => Status::NonTried,
        other => Status::from_letter(other)?,
    };
    // Maps of before 2015 have no pass.
    let pass = words.next().map_or(Some(1), |word| word.parse().ok())?;
    words.next().is_none().then_some((position, phase, pass))
}

fn run(line: &str) -> Option<(Range, Status)> {
    let mut words = line.split_whitespace();
    let (start, len) = (number(words.next()?)?, number(words.next()?)?);
    let status = Status::from_letter(letter(words.next()?)?)?;
    let range = Range::checked(start, len).filter(|range| !range.is_empty())?;
    words.next().is_none().then_some((range, status))
}
