//! From the words of the command line to an exit status.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use ashlar::notices::hear;
use export::loop_device;

use rustix::fs::Mode;

use super::catalogue::{ALL, by_task, find};
use super::session::Session;
use super::version::version;
use super::{absent, change, command_log, own, shell, vgs};
use crate::args::{
    Arguments, Command, Error, Kind, flags, meant, nodes_dir, overview, parse, read_typed,
    require_form, split_leading, text,
};
use crate::attachment::keeper;
use crate::output::{harmless, on_stderr, records};

/// Whether LVM2 was meant.
static CALLED_AS_LVM2: AtomicBool = AtomicBool::new(false);

/// Whether the program was called by the name of LVM2 or of one of its commands, or as `ashlar
/// lvm`: then it does by itself what LVM2 does.
pub(crate) fn is_called_as_lvm2() -> bool {
    CALLED_AS_LVM2.load(Ordering::Relaxed)
}

fn is_lvm2(words: &[String]) -> bool {
    match words {
        [path, word, ..] if own_name(path).starts_with("ashlar") => word == "lvm",
        [path, ..] => !own_name(path).starts_with("ashlar"),
        [] => false,
    }
}

/// Runs the command that the words name.
pub(crate) fn main(words: impl Iterator<Item = OsString>) -> ExitCode {
    let words: Vec<String> = words
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    hear(Box::new(|line| {
        // Nobody can be told that standard error is closed.
        let _ = writeln!(std::io::stderr(), "  {}", harmless(line));
    }));
    if matches!(&words[..], [path, word] if own_name(path) == keeper::NAME && word == keeper::WORD)
    {
        loop_device::keeper::keep();
        return ExitCode::SUCCESS;
    }
    if let [path, word, rest @ ..] = &words[..]
        && own_name(path) == keeper::NAME
        && word == own::WORD
    {
        let mut session = Session::new();
        let outcome = run_command(&own::COMMAND, rest, &mut session);
        return ExitCode::from(status(outcome, &mut session));
    }
    CALLED_AS_LVM2.store(is_lvm2(&words), Ordering::Relaxed);
    if let Some(rest) = shell_words(&words) {
        match rest {
            [] => return shell::run_input(),
            // A script that names this program in its first line.
            [path] if find(path).is_none() => {
                if let Some(status) = shell::run_file(path) {
                    return status;
                }
            }
            _ => {}
        }
    }
    let mut session = Session::new();
    let outcome = run(&words, &mut session);
    ExitCode::from(status(outcome, &mut session))
}

/// The exit status of a command, which is told what went wrong.
pub(super) fn status(outcome: Result<(), Error>, session: &mut Session) -> u8 {
    let Err(error) = outcome.and_then(|()| session.finish()) else {
        return 0;
    };
    match error.kind() {
        Kind::Reported | Kind::Ended(_) | Kind::Incomplete | Kind::Pipe => {}
        Kind::Usage => {
            let what = error.to_string();
            // Where it is in a command's log, it was said.
            if !what.is_empty() {
                session.error(&what);
            }
            let command = session.command();
            session.error(&format!("Run `{command} --help' for more information."));
        }
        Kind::Syntax => {
            session.error(&error.to_string());
            session.error("Error during parsing of command line.");
        }
        Kind::Failed | Kind::Form | Kind::NoSuchCommand => session.error(&error.to_string()),
    }
    error.exit_status()
}

/// The words behind `lvm`, where the program is called by this name or as `ashlar lvm`.
fn shell_words(words: &[String]) -> Option<&[String]> {
    match words {
        [path, rest @ ..] if own_name(path) == "lvm" => Some(rest),
        [path, word, rest @ ..] if word == "lvm" && is_ours(own_name(path)) => Some(rest),
        _ => None,
    }
}

fn own_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether the program may be called so and then be told a command: `ashlar`, `ashlar-0.1.0`,
/// `lvm`.
fn is_ours(name: &str) -> bool {
    name.starts_with("ashlar") || name == "lvm"
}

/// The arguments of a command that looks at `devices` and has no other options.
pub(crate) fn device_arguments(devices: &str) -> Result<Arguments, Error> {
    parse(&vgs::COMMAND, &["--devices".to_owned(), devices.to_owned()])
}

/// Runs the command that the words, the binary's name first, mean.
fn run(words: &[String], session: &mut Session) -> Result<(), Error> {
    let (binary, mut rest) = match words {
        [] => ("ashlar", words),
        [path, rest @ ..] => (own_name(path), rest),
    };
    if !is_ours(binary) {
        return match find(binary).filter(|_| binary != "help") {
            Some(command) => run_command(command, rest, session),
            None => Err(no_such_link(binary)),
        };
    }
    if rest.first().is_some_and(|word| word == "lvm") {
        rest = &rest[1..];
    }
    named(rest, session)
}

/// Runs the command that these words name.
pub(super) fn named(words: &[String], session: &mut Session) -> Result<(), Error> {
    let (leading, rest) = split_leading(words);
    match rest {
        [] if leading.iter().any(asks_for_version) => Ok(session.print(&version())?),
        [] => Ok(session.print(&overview(&by_task()))?),
        [word, ..] if word == "version" => Ok(session.print(&version())?),
        [name, rest @ ..] => match find(name) {
            Some(command) => run_command(command, &[leading, rest].concat(), session),
            None => Err(no_such_command(name)),
        },
    }
}

/// `-V` asks for the version where no command stands behind it; `lvcreate -V` is a size.
fn asks_for_version(word: &String) -> bool {
    word == "--version" || word == "-V"
}

/// Why there is no such command, and what to do instead.
pub(super) fn no_such_command(name: &str) -> Error {
    absent::refusal(name).unwrap_or_else(|| {
        let hint = meant(name, ALL.iter().map(|command| command.name));
        let stop = if hint.is_empty() { "." } else { "" };
        Error::no_such_command(format!(
            "No such command '{name}'{hint}{stop}  Try 'ashlar help'."
        ))
    })
}

/// The same where the program itself has this name.
fn no_such_link(name: &str) -> Error {
    absent::refusal(name).unwrap_or_else(|| {
        Error::no_such_command(format!(
            "No such command '{name}', the name by which Ashlar was called, and nothing was done.  \
             Call it ashlar, lvm, or a command's name; 'ashlar help' lists these."
        ))
    })
}

fn run_command(
    command: &'static Command,
    words: &[String],
    session: &mut Session,
) -> Result<(), Error> {
    let read = read_typed(command, words);
    let mut arguments = read.map_err(|error| change::own_status(command, error, session))?;
    if wrong_journal(&arguments) {
        session.error("Ignoring unrecognized journal value.");
    }
    let form = require_form(command, &mut arguments);
    form.map_err(|error| change::own_status(command, error, session))?;
    if arguments.has(&flags::HELP) || arguments.has(&flags::LONG_HELP) {
        return Ok(session.print(&text(command))?);
    }
    if arguments.has(&flags::VERSION) {
        return Ok(session.print(&version())?);
    }
    session.begin(command, &arguments);
    session.add_settings(command, &mut arguments);
    // Whoever needs a configuration that cannot be read says so.
    let config = session.config(&arguments).ok();
    if let Some(config) = config {
        if let Some(dir) = nodes_dir::of_caller(&config) {
            nodes_dir::apply(command.name, &mut arguments, &dir);
        }
        if let Some(mask) = config.integer("global/umask") {
            rustix::process::umask(Mode::from_bits_truncate(mask as u32));
        }
        for failed in records::begin(&config, &arguments) {
            session.error(&failed);
        }
    }
    let _log = on_stderr(&arguments);
    check_common(&arguments, session)?;
    if !arguments.has(&flags::LOG_ONLY) {
        let outcome = (command.run)(&arguments, session);
        return command_log::end(&arguments, outcome, session);
    }
    session.begin_log();
    let outcome = (command.run)(&arguments, session);
    command_log::print(&arguments, session)?;
    outcome
}

/// Whether `--journal` says something that stock would not write there. Nothing is, here.
fn wrong_journal(arguments: &Arguments) -> bool {
    let value = arguments.value(&flags::JOURNAL);
    value.is_some_and(|value| !["command", "output", "debug"].contains(&value))
}

/// Looks at the options that all commands take, whether or not this one reads them.
fn check_common(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let read = [
        flags::CONFIG,
        flags::PROFILE,
        flags::COMMAND_PROFILE,
        flags::METADATA_PROFILE,
        flags::DEVICES_FILE,
    ];
    if read.iter().any(|flag| arguments.has(flag)) {
        session.config(arguments)?;
    }
    // What is wrong with the files whatever is read of them was said.
    if let Err(error) = session.config(arguments)
        && matches!(error.kind(), Kind::Ended(_))
    {
        return Err(error);
    }
    if arguments.has(&flags::UNITS) {
        session.units(arguments)?;
    }
    if arguments.has(&flags::TEST) {
        let what = "TEST MODE: Metadata will NOT be updated and volumes will not be (de)activated.";
        session.error(what);
    }
    Ok(())
}
