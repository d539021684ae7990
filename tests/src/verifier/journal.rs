//! The events of a run as a text file, one a line, so that a verdict can be repeated.
//!
//! ```text
//!   blocks 512 seed 7 survivors answered     the first line
//!   write 12 100 3 noise fua                 submitted: number, first block, blocks, content
//!   flush 13
//!   answered 12
//!   read 100 12                              block 100 held version 12
//!   cut
//! ```
//!
//! A line is in the file before the run goes on. The file belongs to the verifier, which is not
//! what is killed; it is not flushed to a disk.

use std::fs::{File, read_to_string};
use std::io::Write;
use std::path::Path;

use super::history::{Durability, Event, History, Survivors};
use super::pattern::Content;

/// A history, and the file that it is written to.
#[derive(Debug)]
pub struct Journal {
    file: File,
    history: History,
}

impl Journal {
    /// An empty journal in a new file.
    pub fn create(path: &Path, seed: u64, blocks: u64, survivors: Survivors) -> Self {
        let mut file =
            File::create_new(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let word = match survivors {
            Survivors::Answered => "answered",
            Survivors::Flushed => "flushed",
        };
        writeln!(file, "blocks {blocks} seed {seed} survivors {word}").expect("a journal is kept");
        Journal {
            file,
            history: History::new(seed, blocks, survivors),
        }
    }

    /// Writes an event down, and then takes note of it.
    pub fn add(&mut self, event: Event) {
        // In one call, so that the line is there as a whole.
        let line = format!("{}\n", shown(event));
        self.file
            .write_all(line.as_bytes())
            .expect("a journal is kept");
        self.history.apply(event);
    }

    /// What is known.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The history that a journal tells.
    ///
    /// # Panics
    /// When the file is no journal.
    pub fn replay(path: &Path) -> History {
        let (mut history, events) = Self::events(path);
        for event in events {
            history.apply(event);
        }
        history
    }

    /// The history that a journal begins with, and what happened since.
    pub(super) fn events(path: &Path) -> (History, Vec<Event>) {
        let text =
            read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        // Somebody may be writing the last line.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let mut lines = whole.lines();
        let head: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
        let ["blocks", blocks, "seed", seed, "survivors", word] = head[..] else {
            panic!("{}: no journal", path.display());
        };
        let survivors = match word {
            "answered" => Survivors::Answered,
            _ => Survivors::Flushed,
        };
        let history = History::new(number(seed), number(blocks), survivors);
        (history, lines.map(event).collect())
    }
}

fn shown(event: Event) -> String {
    match event {
        Event::Write {
            id,
            first,
            count,
            content,
            durability,
        } => {
            let content = match content {
                Content::Noise => "noise",
                Content::Zeros => "zeros",
            };
            let durability = match durability {
                Durability::Volatile => "volatile",
                Durability::Fua => "fua",
            };
            format!("write {id} {first} {count} {content} {durability}")
        }
        Event::Flush { id } => format!("flush {id}"),
        Event::Answered { id } => format!("answered {id}"),
        Event::Read { block, version } => format!("read {block} {version}"),
        Event::Cut => "cut".to_owned(),
    }
}

fn event(line: &str) -> Event {
    let words: Vec<&str> = line.split(' ').collect();
    match words[..] {
        ["write", id, first, count, content, durability] => Event::Write {
            id: number(id),
            first: number(first),
            count: number(count),
            content: match content {
                "zeros" => Content::Zeros,
                _ => Content::Noise,
            },
            durability: match durability {
                "fua" => Durability::Fua,
                _ => Durability::Volatile,
            },
        },
        ["flush", id] => Event::Flush { id: number(id) },
        ["answered", id] => Event::Answered { id: number(id) },
        ["read", block, version] => Event::Read {
            block: number(block),
            version: number(version),
        },
        ["cut"] => Event::Cut,
        _ => panic!("no event: {line}"),
    }
}

fn number(word: &str) -> u64 {
    word.parse()
        .unwrap_or_else(|_| panic!("not a number: {word}"))
}
