//! How a command speaks with people: its console, behind the options that answer or silence, and
//! what is wrong with disks, told once.

use std::collections::HashSet;

use ashlar::apply::{Answer, Prompt};
use ashlar::live::{Console, Stream};
use ashlar::scan::{Scan, Severity};
use lvm2::plan::{Level, Message};

use crate::commands::warnings::Interest;

/// What is wrong with disks, as far as people want to know it.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    /// Nobody does.
    pub(super) interest: Option<Interest>,
    told: HashSet<String>,
}

/// How people are spoken with.
#[derive(Debug, Clone, Copy)]
pub(super) struct PromptOptions {
    pub(super) yes: bool,
    pub(super) forced: bool,
    pub(super) quiet: usize,
}

/// The prompt of a command: its console, behind the options that answer or silence.
pub(super) struct CommandPrompt<'v> {
    pub(super) console: &'v mut dyn Console,
    pub(super) options: PromptOptions,
    pub(super) warnings: &'v mut Warnings,
}

impl CommandPrompt<'_> {
    pub(super) fn error(&mut self, text: &str) {
        let text = text.replace('\n', "\n  ");
        // Nobody can be told that standard error is closed.
        let _ = self.console.write(Stream::Err, &format!("  {text}\n"));
    }
}

impl Prompt for CommandPrompt<'_> {
    fn ask(&mut self, question: &str) -> Answer {
        if self.options.yes {
            return Answer::Yes;
        }
        if self.options.quiet >= 2 {
            let _ = self.console.write(Stream::Err, &format!("{question}[n]\n"));
            return Answer::No;
        }
        self.console.ask(question)
    }

    fn ask_to_wipe(&mut self, question: &str) -> Answer {
        if self.options.forced {
            return Answer::Yes;
        }
        self.ask(question)
    }

    fn tell(&mut self, message: &Message) {
        match message.level {
            Level::Note if self.options.quiet >= 2 => {}
            Level::Note => {
                let text = message.text.replace('\n', "\n  ");
                let _ = self.console.write(Stream::Out, &format!("  {text}\n"));
            }
            Level::Warning => self.error(&format!("WARNING: {}", message.text)),
        }
    }

    fn found(&mut self, scan: &Scan) {
        let Some(interest) = &self.warnings.interest else {
            return;
        };
        let said = interest.said(scan).into_iter();
        // Of what cannot be used at all the command speaks itself.
        let warnings = said.filter(|(finding, _)| {
            finding.severity == Severity::Warning || finding.in_lvm2.is_some()
        });
        let lines: Vec<String> = warnings.flat_map(|(_, lines)| lines).collect();
        for line in lines {
            if self.warnings.told.insert(line.clone()) {
                self.error(&line);
            }
        }
    }
}
