//! From the words of the command line to an exit status.

use std::ffi::OsString;
use std::process::ExitCode;

use super::catalogue::{ALL, find};
use super::session::Session;
use super::vgs;
use crate::args::{
    Arguments, Command, Error, Kind, flags, meant, overview, parse, split_leading, text,
};

/// Runs the command that the words name.
pub(crate) fn main(words: impl Iterator<Item = OsString>) -> ExitCode {
    let words: Vec<String> = words
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let mut session = Session::new();
    let outcome = run(&words, &mut session).and_then(|()| session.finish());
    let Err(error) = outcome else {
        return ExitCode::SUCCESS;
    };
    match error.kind() {
        Kind::Reported | Kind::Ended(_) | Kind::Pipe => {}
        Kind::Usage => {
            session.error(&error.to_string());
            session.error("Error during parsing of command line.");
        }
        Kind::Failed | Kind::NoSuchCommand => session.error(&error.to_string()),
    }
    ExitCode::from(error.exit_status())
}

/// The arguments of a command that looks at `devices` and has no other options.
pub(crate) fn device_arguments(devices: &str) -> Result<Arguments, Error> {
    parse(&vgs::COMMAND, &["--devices".to_owned(), devices.to_owned()])
}

/// Runs the command that the words, the binary's name first, mean.
fn run(words: &[String], session: &mut Session) -> Result<(), Error> {
    let (binary, mut rest) = match words {
        [] => ("ashlar", words),
        [path, rest @ ..] => (path.rsplit('/').next().unwrap_or(path), rest),
    };
    if let Some(command) = find(binary).filter(|_| binary != "help") {
        return run_command(command, rest, session);
    }
    if rest.first().is_some_and(|word| word == "lvm") {
        rest = &rest[1..];
    }
    let (leading, rest) = split_leading(rest);
    match rest {
        [] if leading.iter().any(|word| word == "--version") => version(session),
        [] => Ok(session.print(&overview(ALL))?),
        [word, ..] if word == "version" => version(session),
        [name, rest @ ..] => match find(name) {
            Some(command) => run_command(command, &[leading, rest].concat(), session),
            None => Err(no_such_command(name)),
        },
    }
}

fn no_such_command(name: &str) -> Error {
    let hint = meant(name, ALL.iter().map(|command| command.name));
    let stop = if hint.is_empty() { "." } else { "" };
    Error::no_such_command(format!(
        "No such command '{name}'{hint}{stop}  Try 'ashlar help'."
    ))
}

fn run_command(
    command: &'static Command,
    words: &[String],
    session: &mut Session,
) -> Result<(), Error> {
    let arguments = parse(command, words)?;
    if arguments.has(&flags::HELP) || arguments.has(&flags::LONG_HELP) {
        return Ok(session.print(&text(command))?);
    }
    if arguments.has(&flags::VERSION) {
        return version(session);
    }
    session.begin(command, &arguments);
    (command.run)(&arguments, session)
}

fn version(session: &mut Session) -> Result<(), Error> {
    let version = env!("CARGO_PKG_VERSION");
    Ok(session.print(&format!("  Ashlar version:  {version}\n"))?)
}
