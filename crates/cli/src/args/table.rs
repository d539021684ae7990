//! What a command and a flag are, as data.
//!
//! A command is one constant in one file under `commands/`; a flag is one constant in `flags.rs`.
//! Nothing about the command line is written down twice: parsing, help and man pages read this.

use super::parse::Arguments;
use crate::commands::Session;

/// What stands behind a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    /// Nothing: the flag is there or not.
    Nothing,
    /// One word; the text is how help names it (`String`, `Size`, `basic|json`).
    Value(&'static str),
}

/// One option of the command line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flag {
    /// The name after `--`, without embedded hyphens.
    pub(crate) long: &'static str,
    /// The letter after `-`.
    pub(crate) short: Option<char>,
    /// Whether a value follows.
    pub(crate) takes: Takes,
    /// What it does, in a sentence or two.
    pub(crate) help: &'static str,
}

impl Flag {
    /// A flag without a value.
    pub(crate) const fn switch(long: &'static str, help: &'static str) -> Self {
        Self {
            long,
            short: None,
            takes: Takes::Nothing,
            help,
        }
    }

    /// A flag with a value; `what` is the value's name in help.
    pub(crate) const fn value(long: &'static str, what: &'static str, help: &'static str) -> Self {
        Self {
            long,
            short: None,
            takes: Takes::Value(what),
            help,
        }
    }

    /// The same flag with a one-letter name.
    pub(crate) const fn short(self, letter: char) -> Self {
        Self {
            short: Some(letter),
            ..self
        }
    }
}

/// A command line shown as an example, and what it does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Example {
    /// What to type, without a prompt.
    pub(crate) line: &'static str,
    /// What it does, as a sentence without a full stop.
    pub(crate) does: &'static str,
}

/// One command.
pub(crate) struct Command {
    /// The name: the subcommand, and the name of a link to the binary.
    pub(crate) name: &'static str,
    /// What it does in one line, without a full stop.
    pub(crate) summary: &'static str,
    /// The names it takes, as in a synopsis (`[VG|LV|@TAG ...]`); empty for none.
    pub(crate) operands: &'static str,
    /// One or more paragraphs, separated by empty lines.
    pub(crate) description: &'static str,
    /// The flags in groups: its own first, shared groups after.
    pub(crate) flags: &'static [&'static [Flag]],
    /// Worked examples.
    pub(crate) examples: &'static [Example],
    /// What runs.
    pub(crate) run: fn(&Arguments, &mut Session) -> Result<(), crate::args::Error>,
}

/// What people want, and the commands that do it.
pub(crate) struct Task {
    /// As a heading.
    pub(crate) title: &'static str,
    /// The commands, the ones most often wanted first.
    pub(crate) commands: Vec<&'static Command>,
}

impl Command {
    /// Whether its first operand is another command, whose options follow.
    pub(crate) fn names_a_command(&self) -> bool {
        self.operands.starts_with("COMMAND ")
    }

    /// Where among its operands devices begin, if it takes any.
    pub(crate) fn devices_from(&self) -> Option<usize> {
        let mut words = self.operands.split_whitespace();
        let names = ["PV", "DEVICE", "IMAGE"];
        words.position(|word| names.iter().any(|name| word.contains(name)))
    }

    /// Every flag of the command, its own first.
    pub(crate) fn all_flags(&self) -> impl Iterator<Item = &'static Flag> {
        self.flags.iter().flat_map(|group| group.iter())
    }
}
