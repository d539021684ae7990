//! Why a command ended badly, and the exit status that says so.

use std::fmt;

/// What a caller (a script, by the exit status) can tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// What is asked for makes no sense to the command: exit status 3.
    Usage,
    /// An option, or its value, is none that there is: exit status 3.
    Syntax,
    /// Options and names do not go together: exit status 3.
    Form,
    /// There is no such command: exit status 2.
    NoSuchCommand,
    /// The command could not do what was asked: exit status 5.
    Failed,
    /// Everything has been said already; only the exit status (5) is left.
    Reported,
    /// The same, with an exit status that somebody else chose.
    Ended(u8),
    /// A copy was made that lacks what could not be read, and this was said: exit status 6.
    Incomplete,
    /// The reader of our output went away.
    Pipe,
}

/// An error of a command: what failed, on what, and what to do.
#[derive(Debug)]
pub(crate) struct Error {
    kind: Kind,
    context: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// A wrong command line.
    pub(crate) fn usage(context: impl Into<String>) -> Self {
        Self {
            kind: Kind::Usage,
            context: context.into(),
            source: None,
        }
    }

    /// A word that no option or value is.
    pub(crate) fn syntax(context: impl Into<String>) -> Self {
        Self {
            kind: Kind::Syntax,
            ..Self::usage(context)
        }
    }

    /// Options and names that do not go together.
    pub(crate) fn form(context: impl Into<String>) -> Self {
        Self {
            kind: Kind::Form,
            ..Self::usage(context)
        }
    }

    /// Words that lack something, in stock's words and then ours.
    pub(crate) fn lacking(command: &str, what: &str) -> Self {
        Self::no_form(command, &format!("  {what}"))
    }

    /// Words that are no form of their command, in stock's words, and what is added to these.
    pub(super) fn no_form(command: &str, behind: &str) -> Self {
        Self::form(format!(
            "No command with matching syntax recognised.  Run '{command} --help' for more \
             information.{behind}"
        ))
    }

    /// A command that does not exist.
    pub(crate) fn no_such_command(context: impl Into<String>) -> Self {
        Self {
            kind: Kind::NoSuchCommand,
            context: context.into(),
            source: None,
        }
    }

    /// Something that could not be done.
    pub(crate) fn failed(context: impl Into<String>) -> Self {
        Self {
            kind: Kind::Failed,
            context: context.into(),
            source: None,
        }
    }

    /// A failure whose messages have been printed already.
    pub(crate) fn reported() -> Self {
        Self {
            kind: Kind::Reported,
            context: String::new(),
            source: None,
        }
    }

    /// The same failure when what it says has been said.
    pub(crate) fn said(self) -> Self {
        let kind = match self.kind {
            Kind::Failed => Kind::Reported,
            kind => kind,
        };
        Self {
            kind,
            ..Self::reported()
        }
    }

    /// A copy without what could not be read, which was said.
    pub(crate) fn incomplete() -> Self {
        Self {
            kind: Kind::Incomplete,
            ..Self::reported()
        }
    }

    /// A failure whose messages another process has printed, with its exit status.
    pub(crate) fn ended(status: u8) -> Self {
        Self {
            kind: Kind::Ended(status),
            ..Self::reported()
        }
    }

    /// A failure whose messages have been printed, of a command that has looked at nothing yet: it
    /// has no report either.
    pub(crate) fn unbegun() -> Self {
        Self::ended(Self::reported().exit_status())
    }

    /// The same error with what caused it.
    pub(crate) fn because(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.source = Some(source.into());
        self
    }

    /// What a caller can match on.
    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// The exit status, as LVM2 numbers them.
    pub(crate) fn exit_status(&self) -> u8 {
        match self.kind {
            Kind::NoSuchCommand => 2,
            Kind::Usage | Kind::Syntax | Kind::Form => 3,
            Kind::Failed | Kind::Reported => 5,
            // LVM2 ends with at most 5.
            Kind::Incomplete => 6,
            Kind::Ended(status) => status,
            // What a shell shows for a program that SIGPIPE ended.
            Kind::Pipe => 141,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.context)?;
        let mut source = self
            .source
            .as_deref()
            .map(|source| source as &dyn std::error::Error);
        while let Some(cause) = source {
            write!(f, ": {cause}")?;
            source = cause.source();
        }
        Ok(())
    }
}

/// It tells everything itself.
impl std::error::Error for Error {}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        let kind = match error.kind() {
            std::io::ErrorKind::BrokenPipe => Kind::Pipe,
            _ => Kind::Failed,
        };
        Self {
            kind,
            context: "Could not write the output".into(),
            source: Some(error.into()),
        }
    }
}

impl From<ashlar::Error> for Error {
    fn from(error: ashlar::Error) -> Self {
        Self::failed(error.to_string())
    }
}

impl From<block::Error> for Error {
    fn from(error: block::Error) -> Self {
        Self::failed(error.to_string())
    }
}
