//! A tree of settings as the text of a configuration file, with stock's tabs.

use std::fmt::Write;

use ashlar::host::{Key, KeyState};
use lvm2::text::Value;

use super::tree::{Shown, given_up_in};

/// Blanks around `=` and inside of brackets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spaces {
    /// There are some.
    In,
    /// There are none.
    Out,
}

/// What is said of each setting.
#[derive(Debug, Clone, Copy)]
pub(super) struct Said {
    /// What the table knows of it.
    pub(super) comments: bool,
    /// Since when LVM2 has it.
    pub(super) versions: bool,
    /// How it is set.
    pub(super) spaces: Spaces,
}

/// The text of one node and what is in it.
pub(super) fn text(shown: &Shown, said: Said) -> String {
    let mut out = String::new();
    print(shown, said, 0, &mut out);
    out
}

fn print(shown: &Shown, said: Said, depth: usize, out: &mut String) {
    let tabs = "\t".repeat(depth);
    // A string takes all that is written.
    match shown {
        Shown::Section {
            path,
            name,
            since,
            is_commented,
            nodes,
        } => {
            if said.comments {
                let _ = writeln!(out, "\n{tabs}# Configuration section {path}.");
                if path.ends_with('>') {
                    let what = "This configuration section has variable name.";
                    let _ = writeln!(out, "{tabs}# {what}");
                }
                if *is_commented {
                    let what = "This configuration section has an automatic default value.";
                    let _ = writeln!(out, "{tabs}# {what}");
                }
            }
            if said.versions {
                versions(since, given_up_in(path), &tabs, out);
            }
            let mark = mark(*is_commented);
            let _ = writeln!(out, "{tabs}{mark}{name} {{");
            for node in nodes {
                print(node, said, depth + 1, out);
            }
            let _ = writeln!(out, "{tabs}{mark}}}");
        }
        Shown::Setting {
            key,
            name,
            value,
            is_commented,
            is_set,
        } => {
            if said.comments {
                let _ = writeln!(out, "\n{tabs}# Configuration option {}.", key.path);
                for line in comments(key) {
                    let _ = writeln!(out, "{tabs}# {line}");
                }
            }
            if said.versions && key.since != "-" {
                versions(key.since, key.given_up_in(), &tabs, out);
            }
            let Some(value) = value else { return };
            let mark = mark(*is_commented);
            let _ = match said.spaces {
                Spaces::In if !is_set => writeln!(out, "{tabs}{mark}{name} = {}", spread(value)),
                _ => writeln!(out, "{tabs}{mark}{name}={value}"),
            };
        }
    }
}

fn versions(since: &str, given_up_in: Option<&str>, tabs: &str, out: &mut String) {
    let _ = writeln!(out, "{tabs}# Available since version {since}.");
    if let Some(release) = given_up_in {
        let _ = writeln!(out, "{tabs}# Deprecated since version {release}.");
    }
}

fn mark(is_commented: bool) -> &'static str {
    if is_commented { "# " } else { "" }
}

/// An array with blanks inside of its brackets.
fn spread(value: &str) -> String {
    let inner = value
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    match inner {
        Some("") => "[ ]".to_owned(),
        Some(inner) => format!("[ {} ]", inner.replace("\",", "\", ")),
        _ => value.to_owned(),
    }
}

/// What the table says of a setting.
fn comments(key: &Key) -> Vec<String> {
    let state = match key.state {
        KeyState::Read => "read".to_owned(),
        KeyState::NoEffect(reason) => format!("no effect in Ashlar: {reason}"),
    };
    let mut lines = vec![format!("{}; {state}.", key.kind.name())];
    let profiles = key
        .marks
        .split(',')
        .filter(|mark| mark.ends_with("-profile"));
    lines.extend(profiles.map(|mark| format!("May stand in a {}.", mark.replace('-', " "))));
    for (mark, what) in [
        ("advanced", "is advanced"),
        ("deprecated", "is deprecated"),
        ("unsupported", "is not officially supported"),
    ] {
        if key.has_mark(mark) {
            lines.push(format!("This configuration option {what}."));
        }
    }
    let default = match key.default {
        "undefined" => "does not have a default value defined",
        _ => "has an automatic default value",
    };
    lines.push(format!("This configuration option {default}."));
    lines
}

/// A value as stock writes it: arrays of one without brackets.
pub(super) fn value_text(value: &Value<'_>) -> String {
    match value {
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => match number.parse::<f64>() {
            Ok(number) => format!("{number:.6}"),
            Err(_) => number.clone().into_owned(),
        },
        Value::String(text) => {
            let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
            format!("\"{escaped}\"")
        }
        Value::Array(values) => match &values[..] {
            [single] => value_text(single),
            values => {
                let all: Vec<String> = values.iter().map(value_text).collect();
                format!("[{}]", all.join(","))
            }
        },
    }
}
