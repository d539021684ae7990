//! Says what is done: numbered steps, the commands that do the same, and what came of them.
//!
//! Colours are for terminals only, and not for those who set `NO_COLOR`. What was said is kept, for
//! those who write it down.

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

/// Something that was said, without colours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line {
    /// A step began: its number and title.
    Step(String),
    /// A sentence, or what a command printed.
    Said(String),
    /// A command as it is typed.
    Command(String),
    /// What turned out as it should.
    Good(String),
    /// What is left out, and why.
    LeftOut(String),
}

/// The story of the demo, told as it goes on.
pub(super) struct Story<'a> {
    session: &'a mut Session,
    paint: Paint,
    /// The number and the title of the present step.
    step: (u32, &'static str),
    lines: Vec<Line>,
}

impl<'a> Story<'a> {
    /// One that begins.
    pub(super) fn new(session: &'a mut Session) -> Self {
        let (paint, step) = (Paint::of_output(), (0, "start"));
        Self {
            session,
            paint,
            step,
            lines: Vec::new(),
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
        self.lines.push(Line::Step(heading.clone()));
        let heading = self.paint.paint(BOLD, &heading);
        self.print(&format!("\n{heading}\n"))
    }

    /// A sentence, or several lines.
    pub(super) fn say(&mut self, text: &str) -> Result<(), Error> {
        self.lines.push(Line::Said(plain(text)));
        self.show(text)
    }

    /// All that was said in steps.
    pub(super) fn lines(&self) -> &[Line] {
        &self.lines
    }

    fn show(&mut self, text: &str) -> Result<(), Error> {
        let lines = text.lines().map(|line| format!("   {line}\n"));
        self.print(&lines.collect::<String>())
    }

    /// A command line that does what is done now.
    pub(super) fn command(&mut self, line: &str) -> Result<(), Error> {
        self.lines.push(Line::Command(line.to_owned()));
        let line = self.paint.paint(COMMAND, &format!("$ {line}"));
        self.show(&line)
    }

    /// Something turned out as it should.
    pub(super) fn good(&mut self, text: &str) -> Result<(), Error> {
        self.lines.push(Line::Good(text.to_owned()));
        let text = self.paint.paint(GOOD, text);
        self.show(&text)
    }

    /// Something is left out, and why.
    pub(super) fn left_out(&mut self, text: &str) -> Result<(), Error> {
        self.lines.push(Line::LeftOut(text.to_owned()));
        let text = self.paint.paint(LEFT_OUT, text);
        self.show(&text)
    }

    /// Text as it is; people see it at once.
    pub(super) fn print(&mut self, text: &str) -> Result<(), Error> {
        self.session.print(text)?;
        Ok(self.session.out().flush()?)
    }
}

/// Text without the sequences that colour it.
fn plain(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(part.split_once('m').map_or("", |(_, rest)| rest));
    }
    plain
}
