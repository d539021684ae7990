//! Manual pages, from the same table as the help: `ashlar(8)`, and `ashlar-COMMAND(8)` for each.
//!
//! No page has the name of a command alone: `lvs(8)` is LVM2's, and `cp` is somebody else's still.

use std::fmt::Write;

use super::help::{FIRST_STEPS, synopsis};
use super::table::{Command, Example, Takes, Task};

/// The pages, with the names of their files.
pub(crate) fn pages(tasks: &[Task]) -> Vec<(String, String)> {
    let commands = tasks.iter().flat_map(|task| &task.commands);
    let mut all = vec![("ashlar.8".to_owned(), first_page(tasks))];
    all.extend(commands.map(|command| (format!("ashlar-{}.8", command.name), page(command))));
    all
}

/// `ashlar(8)`: what there is.
fn first_page(tasks: &[Task]) -> String {
    let mut out = String::new();
    begin(
        &mut out,
        "ashlar",
        "logical volumes in user space, in LVM2's own format",
    );
    out.push_str(
        ".SH SYNOPSIS\n.B ashlar\n\\fICOMMAND\\fP [\\fIOPTIONS\\fP] [\\fINAMES\\fP]\n\
         .SH DESCRIPTION\n",
    );
    for paragraph in DESCRIPTION {
        let _ = writeln!(out, "{}\n.PP", escaped(paragraph));
    }
    for task in tasks {
        let _ = writeln!(out, ".SS {}", escaped(task.title));
        for command in &task.commands {
            let (name, summary) = (escaped(command.name), escaped(command.summary));
            let _ = writeln!(out, ".TP\n.BR ashlar\\-{name} (8)\n{summary}");
        }
    }
    out.push_str(".SH ENVIRONMENT\n");
    for (name, meaning) in VARIABLES {
        let _ = writeln!(out, ".TP\n.B {name}\n{}", escaped(meaning));
    }
    examples(&mut out, FIRST_STEPS);
    out.push_str(EXIT_STATUS);
    out
}

const DESCRIPTION: &[&str] = &[
    "Reads and writes LVM2's on-disk format without a kernel module, without root and without \
     udev. A disk can move between Ashlar and LVM2 at any time.",
    "Disks are block devices, image files, directories of images, partitions in images \
     (disk.img:2), or exports of NBD servers. --devices names them, which may be repeated; \
     nothing else is then looked at. Without it ASHLAR_DEVICES counts, else the machine's block \
     devices under the filters of lvm.conf and the devices file.",
    "The commands of LVM2 take LVM2's options, print what LVM2 prints, and end with \
     its exit codes.",
];

/// What of the environment counts.
const VARIABLES: &[(&str, &str)] = &[
    ("ASHLAR_DEVICES", "Where the disks are: a list with colons."),
    (
        "ASHLAR_IO",
        "threads or uring: how files are read, instead of what each file is found to do best.",
    ),
    (
        "ASHLAR_RUNTIME_DIR",
        "Where attachments and owners of live groups are recorded, instead of /run/ashlar or \
         $XDG_RUNTIME_DIR/ashlar.",
    ),
    (
        "LVM_COMMAND_PROFILE",
        "The profile of commands that --commandprofile names none for.",
    ),
    (
        "LVM_VG_NAME",
        "The volume group of volumes that are named alone, and of lvcreate.",
    ),
    ("LVM_SYSTEM_DIR", "Where lvm.conf is, instead of /etc/lvm."),
    (
        "SOURCE_DATE_EPOCH",
        "The time that changes carry, in seconds since 1970 began, and that --resizefs has e2fsck \
         and resize2fs write. The machine's name and the directories of images are then left out \
         of what is written, too; with --uuid-seed the same commands give the same bytes.",
    ),
];

/// The manual page of a command, in roff.
fn page(command: &Command) -> String {
    let mut out = String::new();
    begin(
        &mut out,
        &format!("ashlar-{}", command.name),
        command.summary,
    );
    let call = format!("ashlar {}", synopsis(command).trim());
    let _ = writeln!(out, ".SH SYNOPSIS\n{}", escaped(&call));
    out.push_str(".SH DESCRIPTION\n");
    for paragraph in command.description.split("\n\n") {
        let text = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = writeln!(out, "{}\n.PP", escaped(&text));
    }
    out.push_str(".SH OPTIONS\n");
    for flag in command.all_flags() {
        out.push_str(".TP\n");
        if let Some(letter) = flag.short {
            let _ = write!(out, "\\fB\\-{letter}\\fP, ");
        }
        let _ = write!(out, "\\fB\\-\\-{}\\fP", flag.long);
        if let Takes::Value(what) = flag.takes {
            let _ = write!(out, " \\fI{}\\fP", escaped(what));
        }
        let _ = writeln!(out, "\n{}", escaped(flag.help));
    }
    examples(&mut out, command.examples);
    out.push_str(EXIT_STATUS);
    out.push_str(".SH SEE ALSO\n.BR ashlar (8)\n");
    out
}

/// Title and name.
fn begin(out: &mut String, name: &str, summary: &str) {
    let title = name.to_uppercase();
    let _ = writeln!(out, ".TH \"{title}\" \"8\" \"\" \"Ashlar {VERSION}\" \"\"");
    let (name, summary) = (escaped(name), escaped(summary));
    let _ = writeln!(out, ".SH NAME\n{name} \\- {summary}");
}

fn examples(out: &mut String, examples: &[Example]) {
    if examples.is_empty() {
        return;
    }
    out.push_str(".SH EXAMPLES\n");
    for example in examples {
        let (line, does) = (escaped(example.line), escaped(example.does));
        let _ = writeln!(out, ".TP\n{line}\n{does}.");
    }
}

const EXIT_STATUS: &str = ".SH EXIT STATUS\n0 if all went well, 2 if there is no such command, 3 \
    if the command line is wrong, 5 if the command failed, 6 if a copy lacks what could not be \
    read (\\-\\-partial).\n";
const VERSION: &str = env!("CARGO_PKG_VERSION");

fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    // A control character at the start of a line would be a request.
    if text.starts_with(['.', '\'']) {
        format!("\\&{text}")
    } else {
        text
    }
}
