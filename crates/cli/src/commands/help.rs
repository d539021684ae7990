//! `ashlar help`: the commands, one of them, manual pages, or completion of words.

use std::path::Path;

use super::Session;
use super::catalogue::{by_task, find};
use crate::args::{
    Arguments, Command, Error, Example, Flag, Shell, completion, overview, pages, text,
};

const MAN: Flag = Flag::value(
    "man",
    "Directory",
    "Write ashlar.8 and a manual page for each command there; the directory is made.",
);
const COMPLETION: Flag = Flag::value(
    "completion",
    "bash|zsh|fish",
    "Print what completes commands, options and names of volumes in a shell.",
);

/// `help`
pub(super) const COMMAND: Command = Command {
    name: "help",
    summary: "List the commands, explain one, or write manual pages",
    operands: "[COMMAND]",
    description: "Without a name, lists all commands. With one, shows the same as COMMAND --help.",
    flags: &[&[MAN, COMPLETION], crate::args::flags::COMMON],
    examples: &[
        Example {
            line: "ashlar help lvs",
            does: "explains lvs",
        },
        Example {
            line: "ashlar help --man /usr/local/share/man/man8",
            does: "writes ashlar.8, ashlar-lvs.8 and all the others, none with another program's \
                name",
        },
        Example {
            line: "ashlar help --completion bash >/etc/bash_completion.d/ashlar",
            does: "completes words in bash",
        },
    ],
    run,
};

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    if let Some(folder) = arguments.value(&MAN) {
        return write_pages(Path::new(folder));
    }
    if let Some(name) = arguments.value(&COMPLETION) {
        let shell = Shell::named(name)
            .ok_or_else(|| Error::usage(format!("Invalid argument for --completion: {name}")))?;
        return Ok(session.print(&completion(shell, &by_task()))?);
    }
    match arguments.operands() {
        [] => Ok(session.print(&overview(&by_task()))?),
        [name, ..] => match find(name) {
            Some(command) => Ok(session.print(&text(command))?),
            None => Err(Error::no_such_command(format!(
                "No such command '{name}'.  Try 'ashlar help'."
            ))),
        },
    }
}

fn write_pages(folder: &Path) -> Result<(), Error> {
    let failed = |path: &Path, error: std::io::Error| {
        Error::failed(format!("Could not write {}", path.display())).because(error)
    };
    std::fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    for (name, page) in pages(&by_task()) {
        let path = folder.join(name);
        std::fs::write(&path, page).map_err(|error| failed(&path, error))?;
    }
    Ok(())
}
