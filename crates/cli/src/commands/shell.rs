//! `lvm` without a command: commands from standard input, or from a file.
//!
//! ```text
//!   echo 'lvcreate -L4m vg' | lvm      each line is a command; the lines behind a failure run, too
//!   lvm FILE                           the same from a file that begins with #!, up to the first
//!                                      failure
//! ```
//!
//! A line is split as stock splits it: at blanks; a word that begins with ' or " goes on to the
//! next one of these; a word that begins with # ends the line; there is nothing else that quotes.
//! `exit` and `quit` end it, an empty line is nothing.
//!
//! The exit status is that of the first command that failed. Of a file, that is what stock gives.
//! Stock's shell on standard input gives 0 whatever happened; a script that looks at the status
//! would believe that all of it was done, so this one tells.

use std::io::{self, BufRead, IsTerminal, Write};
use std::process::ExitCode;

use super::dispatch::{named, status};
use super::session::Session;
use crate::args::Error;

const PROMPT: &str = "lvm> ";
/// What one line may be long, so that no file of other bytes fills the memory: stock's own limit
/// of arguments (64) is far below.
const LINE_MAX: u64 = 64 * 1024;

/// How a line that was taken ended.
enum Line {
    /// It was no command.
    Empty,
    /// It ends the shell.
    Exit,
    /// A command ran, with this status.
    Ran(u8),
}

/// Runs commands from standard input to its end.
pub(super) fn run_input() -> ExitCode {
    let is_terminal = io::stdin().is_terminal();
    let mut first = 0;
    loop {
        if is_terminal {
            // Nobody can be told that standard output is closed.
            let _ = write!(io::stdout(), "{PROMPT}").and_then(|()| io::stdout().flush());
        }
        // Not held while a command runs, which may ask its questions there.
        let text = match line(&mut io::stdin().lock()) {
            Ok(Some(text)) => text,
            Ok(None) => break,
            Err(error) => return unreadable("standard input", error),
        };
        match run_line(&text) {
            Line::Exit => {
                Session::new().error("Exiting.");
                break;
            }
            Line::Ran(status) if first == 0 => first = status,
            Line::Empty | Line::Ran(_) => {}
        }
    }
    ExitCode::from(first)
}

/// Runs the commands of a file, up to the first that fails. `None` if it is no such file: it has to
/// begin with `#!`.
pub(super) fn run_file(path: &str) -> Option<ExitCode> {
    // Opening a named pipe would wait for somebody to write.
    let is_file = std::fs::metadata(path).is_ok_and(|found| found.is_file());
    let file = std::fs::File::open(path).ok().filter(|_| is_file)?;
    let mut file = io::BufReader::new(file);
    file.fill_buf()
        .ok()
        .filter(|head| head.starts_with(b"#!"))?;
    loop {
        let text = match line(&mut file) {
            Ok(Some(text)) => text,
            Ok(None) => return Some(ExitCode::SUCCESS),
            Err(error) => return Some(unreadable(path, error)),
        };
        match run_line(&text) {
            Line::Exit => return Some(ExitCode::SUCCESS),
            Line::Empty | Line::Ran(0) => {}
            Line::Ran(status) => return Some(ExitCode::from(status)),
        }
    }
}

/// The next line, if there is one.
fn line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    let length = io::Read::take(&mut *input, LINE_MAX).read_until(b'\n', &mut bytes)?;
    if length as u64 == LINE_MAX && bytes.last() != Some(&b'\n') {
        let what = format!("a line is longer than {LINE_MAX} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    Ok((length > 0).then(|| String::from_utf8_lossy(&bytes).into_owned()))
}

fn run_line(text: &str) -> Line {
    let words = split(text);
    let words = match words.first().map(String::as_str) {
        Some("lvm") => &words[1..],
        _ => &words[..],
    };
    match words {
        [] => Line::Empty,
        [word, ..] if word == "exit" || word == "quit" => Line::Exit,
        words => {
            let mut session = Session::new();
            let outcome = named(words, &mut session);
            Line::Ran(status(outcome, &mut session))
        }
    }
}

/// The words of a line.
fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (word, behind) = match first {
            '#' => break,
            '\'' | '"' => {
                let inner = &rest[1..];
                inner.split_once(first).unwrap_or((inner.trim_end(), ""))
            }
            _ => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        };
        words.push(word.to_owned());
        rest = behind.trim_start();
    }
    words
}

fn unreadable(what: &str, error: io::Error) -> ExitCode {
    let error = Error::failed(format!("Could not read commands from {what}")).because(error);
    ExitCode::from(status(Err(error), &mut Session::new()))
}

#[cfg(test)]
mod tests;
