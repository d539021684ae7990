//! Says what is done: numbered steps, the commands that do the same, and what came of them.
//!
//! Colours are for terminals only, and not for those who set `NO_COLOR`.

use std::io::IsTerminal;

use crate::args::Error;
use crate::commands::Session;

/// Whether colours are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paint {
    /// They are.
    Colours,
    /// Plain text.
    Plain,
}

impl Paint {
    /// What standard output and the user want.
    pub(super) fn of_output() -> Self {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        if std::io::stdout().is_terminal() && !is_set("NO_COLOR") && !is_dumb {
            Self::Colours
        } else {
            Self::Plain
        }
    }

    /// `text` between the escape sequence for these attributes (SGR) and the one that ends them.
    pub(super) fn paint(self, attributes: &str, text: &str) -> String {
        match self {
            Self::Colours => format!("\x1b[{attributes}m{text}\x1b[0m"),
            Self::Plain => text.to_owned(),
        }
    }
}

const BOLD: &str = "1";
const COMMAND: &str = "36";
const GOOD: &str = "32";
const LEFT_OUT: &str = "33";

/// The story of the demo, told as it goes on.
pub(super) struct Story<'a> {
    session: &'a mut Session,
    paint: Paint,
    /// The number and the title of the present step.
    step: (u32, &'static str),
}

impl<'a> Story<'a> {
    /// One that begins.
    pub(super) fn new(session: &'a mut Session) -> Self {
        let (paint, step) = (Paint::of_output(), (0, "start"));
        Self {
            session,
            paint,
            step,
        }
    }

    /// Whether colours are used.
    pub(super) fn paint(&self) -> Paint {
        self.paint
    }

    /// Where the story is: `step 3 (Draw …)`.
    pub(super) fn place(&self) -> String {
        let (number, title) = self.step;
        format!("step {number} ({title})")
    }

    /// What commands print to.
    pub(super) fn session(&mut self) -> &mut Session {
        self.session
    }

    /// The next step begins.
    pub(super) fn step(&mut self, title: &'static str) -> Result<(), Error> {
        self.step = (self.step.0 + 1, title);
        let heading = format!("{}. {title}", self.step.0);
        let heading = self.paint.paint(BOLD, &heading);
        self.print(&format!("\n{heading}\n"))
    }

    /// A sentence, or several lines.
    pub(super) fn say(&mut self, text: &str) -> Result<(), Error> {
        let lines = text.lines().map(|line| format!("   {line}\n"));
        self.print(&lines.collect::<String>())
    }

    /// A command line that does what is done now.
    pub(super) fn command(&mut self, line: &str) -> Result<(), Error> {
        let line = self.paint.paint(COMMAND, &format!("$ {line}"));
        self.say(&line)
    }

    /// Something turned out as it should.
    pub(super) fn good(&mut self, text: &str) -> Result<(), Error> {
        let text = self.paint.paint(GOOD, text);
        self.say(&text)
    }

    /// Something is left out, and why.
    pub(super) fn left_out(&mut self, text: &str) -> Result<(), Error> {
        let text = self.paint.paint(LEFT_OUT, text);
        self.say(&text)
    }

    /// Text as it is; people see it at once.
    pub(super) fn print(&mut self, text: &str) -> Result<(), Error> {
        self.session.print(text)?;
        Ok(self.session.out().flush()?)
    }
}
