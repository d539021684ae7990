//! Calls a handler: in this process for a terminal, or in an owner for somebody else.

use std::path::PathBuf;

use ashlar::apply::Ownership;
use ashlar::commit::Hooks;
use ashlar::live::{Console, Stream};

use super::table::find;
use super::terminal::Terminal;
use super::work::{Purpose, Work};
use crate::args::{Arguments, Error, Kind, flags, parse, text};
use crate::commands::{Session, interrupt};
use crate::live::{Forwarded, forward};
use crate::output::collected;

/// How many owners may end, one after the other, before they begin a command.
const OWNERS_MAX: usize = 5;

/// Who runs a command, and for whom.
pub(crate) struct Caller<'a> {
    /// Where its lines go and answers come from.
    pub(crate) console: &'a mut dyn Console,
    /// Who is told when tables change: the owner of live volumes.
    pub(crate) hooks: Option<&'a mut dyn Hooks>,
    /// Whether this process serves volumes of the groups.
    pub(crate) ownership: Ownership,
    /// The folder that relative paths are meant from; this process's own if `None`.
    pub(crate) folder: Option<PathBuf>,
}

impl<'a> Caller<'a> {
    /// Somebody at a console of this process, which serves nothing.
    pub(super) fn at(console: &'a mut dyn Console) -> Self {
        Self {
            console,
            hooks: None,
            ownership: Ownership::Nobody,
            folder: None,
        }
    }

    /// The same for a shorter time.
    fn lend(&mut self) -> Caller<'_> {
        Caller {
            console: &mut *self.console,
            hooks: match &mut self.hooks {
                Some(hooks) => Some(&mut **hooks),
                None => None,
            },
            ownership: self.ownership.clone(),
            folder: self.folder.clone(),
        }
    }
}

/// What all commands that change metadata have as their `run`.
pub(in crate::commands) fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let (command, handler) = find(session.command()).expect("it is in the table");
    interrupt::of_command();
    for _ in 0..OWNERS_MAX {
        let mut terminal = Terminal;
        let caller = Caller::at(&mut terminal);
        let mut work = Work::new(arguments, caller, Purpose::Change)?;
        let client = if let Some(client) = work.place(command.name, arguments)? {
            client
        } else {
            let outcome = work.perform(handler, arguments, command.name);
            let Some(client) = work.delegated() else {
                return outcome;
            };
            client
        };
        if forward(client, session.command(), arguments)? == Forwarded::Done {
            return Ok(());
        }
    }
    Err(Error::failed(
        "The processes that own the group end one after the other; run the command again",
    ))
}

/// Runs a command for somebody else; `words` begin with its name. Gives its exit status.
pub(crate) fn perform(words: &[String], mut caller: Caller<'_>) -> u8 {
    let Err(error) = perform_checked(words, caller.lend()) else {
        return 0;
    };
    if !matches!(error.kind(), Kind::Reported | Kind::Ended(_) | Kind::Pipe) {
        let text = error.to_string().replace('\n', "\n  ");
        // Whoever is gone is told nothing.
        let _ = caller.console.write(Stream::Err, &format!("  {text}\n"));
    }
    error.exit_status()
}

fn perform_checked(words: &[String], mut caller: Caller<'_>) -> Result<(), Error> {
    let name = words.first().map_or("", String::as_str);
    let Some((command, handler)) = find(name) else {
        return Err(Error::no_such_command(format!(
            "'{name}' is no command that changes a volume group."
        )));
    };
    let arguments = parse(command, &words[1..])?;
    if arguments.has(&flags::HELP) || arguments.has(&flags::LONG_HELP) {
        return Ok(caller.console.write(Stream::Out, &text(command))?);
    }
    let (log, lines) = collected(&arguments);
    let outcome = Work::new(&arguments, caller.lend(), Purpose::Change)
        .and_then(|mut work| work.perform(handler, &arguments, command.name));
    drop(log);
    // The owner's thread has no terminal: its client gets the log when the command has ended.
    let lines = lines.take();
    if !lines.is_empty() {
        let _ = caller.console.write(Stream::Err, &lines);
    }
    outcome
}
