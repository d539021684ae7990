//! `--help`: what a command is for, how it is called, each option, examples.

use std::fmt::Write;

use super::table::{Command, Example, Flag, Takes, Task};

/// Columns of a line of help.
const WIDTH: usize = 90;
/// Where the sentences about options begin.
const INDENT: usize = 10;

/// The help text of one command.
pub(crate) fn text(command: &Command) -> String {
    let mut out = String::new();
    let name = command.name;
    let _ = writeln!(out, "{name} - {}\n", command.summary);
    let _ = writeln!(out, "{}", synopsis(command));
    for paragraph in command.description.split("\n\n") {
        out.push('\n');
        wrap(&mut out, paragraph, 2);
    }
    for (index, group) in command.flags.iter().enumerate() {
        let title = match (index, index + 1 == command.flags.len()) {
            (_, true) if index > 0 => "Options of every command:",
            (0, _) => "Options:",
            _ => "More options:",
        };
        let _ = writeln!(out, "\n{title}");
        for flag in *group {
            let _ = writeln!(out, "  {}", label(flag));
            wrap(&mut out, flag.help, INDENT);
        }
    }
    if !command.examples.is_empty() {
        out.push_str("\nExamples:\n");
        for example in command.examples {
            let _ = writeln!(out, "  {}", example.line);
            wrap(&mut out, &format!("{}.", example.does), INDENT);
        }
    }
    out
}

/// What to try first.
pub(super) const FIRST_STEPS: &[Example] = &[
    Example {
        line: "ashlar demo",
        does: "shows it at work, on disks of its own; needs no root",
    },
    Example {
        line: "ashlar lvs --devices disk.img",
        does: "lists the volumes on an image, also in its partitions",
    },
    Example {
        line: "ashlar cp --devices disk.img vg0/root root.img",
        does: "copies a volume out of it",
    },
    Example {
        line: "ashlar serve --devices disk.img -r vg0/root",
        does: "serves it by NBD, read-only",
    },
    Example {
        line: "ashlar plan lvextend -L +1g vg0/root",
        does: "says what a change would do",
    },
];

/// The list of all commands, by what people want.
pub(crate) fn overview(tasks: &[Task]) -> String {
    let mut out = String::from(
        "ashlar - logical volumes in user space, in LVM2's own format\n\n  \
         ashlar COMMAND [OPTIONS] [NAMES]\n  \
         ashlar COMMAND --help\n\nFirst steps:\n",
    );
    let lines = FIRST_STEPS.iter().map(|step| step.line.len());
    let width = lines.max().unwrap_or(0);
    for step in FIRST_STEPS {
        let _ = writeln!(out, "  {:width$}  {}", step.line, step.does);
    }
    let names = tasks.iter().flat_map(|task| &task.commands);
    let width = names.map(|command| command.name.len()).max().unwrap_or(0);
    for task in tasks {
        let _ = writeln!(out, "\n{}:", task.title);
        for command in &task.commands {
            let _ = writeln!(out, "  {:width$}  {}", command.name, command.summary);
        }
    }
    out.push_str(
        "\nThe commands of LVM2 take LVM2's options and also answer when the binary is linked\n\
         under their names, or called as `ashlar lvm COMMAND`. `ashlar help --man DIR` writes\n\
         manual pages, `ashlar help --completion SHELL` prints what completes words in a shell.\n",
    );
    out
}

/// `lvs [OPTIONS] [VG|LV|@TAG ...]`
pub(super) fn synopsis(command: &Command) -> String {
    let mut line = format!("  {} [OPTIONS]", command.name);
    if !command.operands.is_empty() {
        line.push(' ');
        line += command.operands;
    }
    line
}

/// `-o, --options Field[,Field...]`
pub(super) fn label(flag: &Flag) -> String {
    let short = flag
        .short
        .map_or_else(|| "    ".to_owned(), |letter| format!("-{letter}, "));
    match flag.takes {
        Takes::Nothing => format!("{short}--{}", flag.long),
        Takes::Value(what) => format!("{short}--{} {what}", flag.long),
    }
}

fn wrap(out: &mut String, text: &str, indent: usize) {
    let mut column = 0;
    for word in text.split_whitespace() {
        if column > 0 && column + 1 + word.len() > WIDTH {
            out.push('\n');
            column = 0;
        }
        if column == 0 {
            let _ = write!(out, "{:indent$}{word}", "");
            column = indent + word.len();
        } else {
            let _ = write!(out, " {word}");
            column += 1 + word.len();
        }
    }
    out.push('\n');
}
