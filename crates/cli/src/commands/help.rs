//! `ashlar help`: the commands, one of them, or manual pages.

use std::path::Path;

use super::Session;
use super::catalogue::{ALL, find};
use super::dispatch::no_such_command;
use crate::args::{Arguments, Command, Error, Example, Flag, overview, page, text};

const MAN: Flag = Flag::value(
    "man",
    "Folder",
    "Write a manual page for each command there.",
);

/// `help`
pub(super) const COMMAND: Command = Command {
    name: "help",
    summary: "List the commands, explain one, or write manual pages",
    operands: "[COMMAND]",
    description: "Without a name, lists all commands. With one, shows the same as COMMAND --help.",
    flags: &[&[MAN], crate::args::flags::COMMON],
    examples: &[
        Example {
            line: "ashlar help lvs",
            does: "explains lvs",
        },
        Example {
            line: "ashlar help --man /usr/local/share/man/man8",
            does: "writes pvs.8, vgs.8 and all the others",
        },
    ],
    run,
};

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    if let Some(folder) = arguments.value(&MAN) {
        for command in ALL {
            let path = Path::new(folder).join(format!("{}.8", command.name));
            std::fs::write(&path, page(command)).map_err(|error| {
                Error::failed(format!("Could not write {}", path.display())).because(error)
            })?;
        }
        return Ok(());
    }
    match arguments.operands() {
        [] => Ok(session.print(&overview(ALL))?),
        [name, ..] => match find(name) {
            Some(command) => Ok(session.print(&text(command))?),
            None => Err(no_such_command(name)),
        },
    }
}
