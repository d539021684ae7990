//! Manual pages, from the same table as the help.

use std::fmt::Write;

use super::help::synopsis;
use super::table::{Command, Takes};

/// The manual page of a command, in roff.
pub(crate) fn page(command: &Command) -> String {
    let mut out = String::new();
    let name = command.name;
    let _ = writeln!(
        out,
        ".TH \"{}\" \"8\" \"\" \"Ashlar {}\" \"\"",
        name.to_uppercase(),
        VERSION
    );
    let _ = writeln!(
        out,
        ".SH NAME\n{} \\- {}",
        escaped(name),
        escaped(command.summary)
    );
    let _ = writeln!(out, ".SH SYNOPSIS\n{}", escaped(synopsis(command).trim()));
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
    if !command.examples.is_empty() {
        out.push_str(".SH EXAMPLES\n");
        for example in command.examples {
            let _ = writeln!(
                out,
                ".TP\n{}\n{}.",
                escaped(example.line),
                escaped(example.does)
            );
        }
    }
    out.push_str(
        ".SH EXIT STATUS\n0 if all went well, 2 if there is no such command, 3 if the command line \
         is wrong, 5 if the command failed.\n",
    );
    out
}

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
