//! Calls a handler: in this process for a terminal, or in an owner for somebody else.

use std::path::PathBuf;

use ashlar::apply::Ownership;
use ashlar::commit::Hooks;
use ashlar::live::{Client, Console, LiveGroup, Stream};

use super::activation::{ACTIVATE, activates, begin_for};
use super::lvcreate;
use super::table::find;
use super::terminal::Terminal;
use super::work::{Purpose, Work};
use crate::args::{Arguments, Error, Kind, flags, parse, text};
use crate::commands::{Session, interrupt};
use crate::live::{Forwarded, Nodes, forward};
use crate::output::collected;

/// How many owners may end, one after the other, before they begin a command.
pub(super) const OWNERS_MAX: usize = 5;

/// Who runs a command, and for whom.
pub(crate) struct Caller<'a> {
    /// Where its lines go and answers come from.
    pub(crate) console: &'a mut dyn Console,
    /// Who is told when tables change: the owner of live volumes.
    pub(crate) hooks: Option<&'a mut dyn Hooks>,
    /// Whether this process serves volumes of the groups.
    pub(crate) ownership: Ownership,
    /// The group that this process owns, and which volumes of it are active.
    pub(crate) active: Option<(&'a LiveGroup, &'a Nodes)>,
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
            active: None,
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
            active: self.active,
            folder: self.folder.clone(),
        }
    }
}

/// What all commands that change metadata have as their `run`.
pub(in crate::commands) fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    run_as(session.command(), arguments)
}

/// Runs `words`, the name of one of these commands and what is behind it, for another one.
pub(in crate::commands) fn run_words(words: &[String]) -> Result<(), Error> {
    let (name, rest) = words.split_first().expect("a command has a name");
    let (command, _) = find(name).expect("it is in the table");
    run_as(name, &parse(command, rest)?)
}

fn run_as(name: &str, arguments: &Arguments) -> Result<(), Error> {
    let (command, handler) = find(name).expect("it is in the table");
    interrupt::of_command();
    for _ in 0..OWNERS_MAX {
        let mut terminal = Terminal;
        let caller = Caller::at(&mut terminal);
        let mut work = Work::new(arguments, caller, Purpose::Change)?;
        let client = if let Some(client) = work.place(command.name, arguments)? {
            client
        } else if let Some(client) = begun(command.name, arguments, &work)? {
            client
        } else {
            let outcome = work.perform(handler, arguments, command.name);
            let Some(client) = work.delegated() else {
                return outcome;
            };
            client
        };
        let words = implied(command.name, arguments, &work)?;
        if forward(client, name, words, arguments)? == Forwarded::Done {
            return Ok(());
        }
    }
    Err(owners_end())
}

/// The process that a command runs in because it makes active what it makes: one that it starts.
fn begun(name: &str, arguments: &Arguments, work: &Work<'_>) -> Result<Option<Client>, Error> {
    if name != lvcreate::COMMAND.name || !activates(arguments, work)? {
        return Ok(None);
    }
    // What is wrong with its words the command says itself.
    let Ok(group) = lvcreate::group(arguments) else {
        return Ok(None);
    };
    let scan = work.scan()?;
    let Ok(found) = scan.find_group(&group) else {
        return Ok(None);
    };
    if !found.restrictions.is_empty() {
        return Ok(None);
    }
    begin_for(found.uuid, arguments, work).map(Some)
}

/// What a command is told in the process of an owner that it would do by itself here.
fn implied(name: &str, arguments: &Arguments, work: &Work<'_>) -> Result<Vec<String>, Error> {
    let is_implied =
        name == lvcreate::COMMAND.name && !arguments.has(&ACTIVATE) && activates(arguments, work)?;
    Ok(is_implied
        .then(|| format!("--{}=y", ACTIVATE.long))
        .into_iter()
        .collect())
}

/// Why a command gives up.
pub(super) fn owners_end() -> Error {
    Error::failed("The processes that own the group end one after the other; run the command again")
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
