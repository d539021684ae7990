//! Habits of style: small rules, each with a reason of one line.
//!
//! ```text
//!   essay       a file begins by saying what it is                    //!
//!   facade      lib.rs and mod.rs hold docs, mod and use, nothing else
//!   glob        an import names what it takes
//!   leftover    todo!, unimplemented!, dbg! and unfinished comments do not land
//!   reason      a lint is switched off with a reason
//!   test-file   unit tests stand in a sibling file, not in the file they test
//!   conflict    no text has the marks of a merge that was not ended
//!   name        nothing is called utils, common, misc, helpers, prelude: it has no name yet
//! ```

use super::finding::Finding;
use super::source::Source;

const NAMELESS: &[&str] = &["util", "utils", "common", "misc", "helpers", "prelude"];

pub(crate) fn check(source: &Source, findings: &mut Vec<Finding>) {
    check_essay(source, findings);
    check_facade(source, findings);
    check_globs(source, findings);
    check_leftovers(source, findings);
    check_attributes(source, findings);
    check_modules(source, findings);
}

/// Checks the names of files and folders.
pub(crate) fn check_paths(paths: &[String], findings: &mut Vec<Finding>) {
    for path in paths {
        for part in path.split('/') {
            let stem = part.split('.').next().unwrap_or_default();
            if NAMELESS.contains(&stem) {
                let message = format!("'{stem}' is no name: say what it is about");
                findings.push(Finding::new(path, 1, "name", message));
            }
        }
    }
}

/// Checks a file of any kind: git leaves marks where both sides changed a line.
pub(crate) fn check_marks(path: &str, text: &str, findings: &mut Vec<Finding>) {
    let is_mark = |line: &str| {
        let mut marks = ["<<<<<<<", ">>>>>>>"].into_iter();
        marks.any(|mark| {
            line.strip_prefix(mark)
                .is_some_and(|rest| rest.starts_with(' '))
        })
    };
    for (index, _) in text.lines().enumerate().filter(|(_, line)| is_mark(line)) {
        let message = "a merge left its mark here";
        findings.push(Finding::new(path, index + 1, "conflict", message));
    }
}

fn check_essay(source: &Source, findings: &mut Vec<Finding>) {
    if !source.text.starts_with("//! ") {
        let message = "the file must begin with '//! ' and say what it is";
        findings.push(Finding::new(&source.path, 1, "essay", message));
    }
}

fn check_facade(source: &Source, findings: &mut Vec<Finding>) {
    let file = source.path.rsplit('/').next().unwrap_or_default();
    if file != "lib.rs" && file != "mod.rs" {
        return;
    }
    for (start, statement) in statements(&source.code) {
        let words: Vec<&str> = statement.split_whitespace().collect();
        let item = match words.first() {
            Some(first) if first.starts_with("pub") => words.get(1),
            first => first,
        };
        let fits = match item {
            Some(&"mod") => !statement.contains('{'),
            Some(&"extern") => words.get(1) == Some(&"crate"),
            other => other == Some(&"use"),
        };
        if !fits {
            let line = source.line_of(start);
            let message =
                "lib.rs and mod.rs hold docs, mod and use: move this to a file of its own";
            findings.push(Finding::new(&source.path, line, "facade", message));
        }
    }
}

/// The items of a file that should hold only one-line items, without their attributes: where each
/// starts and its text up to the `;`.
fn statements(code: &str) -> Vec<(usize, String)> {
    let mut blanked = code.to_owned();
    while let Some(start) = blanked.find("#[").or_else(|| blanked.find("#![")) {
        let source = Source::new("", &blanked[start..]);
        let open = source.code.find('[').expect("an attribute opens");
        let length = source.closing(open);
        blanked.replace_range(start..start + length, &" ".repeat(length));
    }
    let mut found = Vec::new();
    let mut start = 0;
    for piece in blanked.split_inclusive(';') {
        let leading = piece.len() - piece.trim_start().len();
        if !piece.trim().is_empty() {
            found.push((start + leading, piece.trim().to_owned()));
        }
        start += piece.len();
    }
    found
}

fn check_globs(source: &Source, findings: &mut Vec<Finding>) {
    for word in source.words().iter().filter(|word| word.text == "use") {
        let rest = &source.code[word.start..];
        let end = rest.find(';').unwrap_or(rest.len());
        if rest[..end].contains('*') {
            let line = source.line_of(word.start);
            let message = "an import names what it takes: no '*'";
            findings.push(Finding::new(&source.path, line, "glob", message));
        }
    }
}

fn check_leftovers(source: &Source, findings: &mut Vec<Finding>) {
    for word in source.words() {
        let is_macro = source.code[word.start + word.text.len()..].starts_with('!');
        if is_macro && matches!(word.text, "todo" | "unimplemented" | "dbg") {
            let line = source.line_of(word.start);
            let message = format!("{}! does not land", word.text);
            findings.push(Finding::new(&source.path, line, "leftover", message));
        }
    }
    for (index, line) in source.comments.lines().enumerate() {
        if line.contains("FIXME") || line.contains("TODO") || line.contains("XXX") {
            let message = "finish it or file it: no unfinished marks in comments";
            findings.push(Finding::new(&source.path, index + 1, "leftover", message));
        }
    }
}

fn check_attributes(source: &Source, findings: &mut Vec<Finding>) {
    for word in source
        .words()
        .iter()
        .filter(|word| matches!(word.text, "allow" | "expect"))
    {
        let before = source.code[..word.start].trim_end();
        let open = word.start + word.text.len();
        if !before.ends_with('[') || !source.code[open..].starts_with('(') {
            continue;
        }
        let attribute = &source.code[open..source.closing(open)];
        if !attribute.contains("reason") {
            let line = source.line_of(word.start);
            let message = format!("#[{}] needs reason = \"…\"", word.text);
            findings.push(Finding::new(&source.path, line, "reason", message));
        }
    }
}

fn check_modules(source: &Source, findings: &mut Vec<Finding>) {
    let words = source.words();
    for pair in words.windows(2) {
        let [keyword, name] = pair else { continue };
        if keyword.text != "mod" {
            continue;
        }
        let line = source.line_of(name.start);
        if NAMELESS.contains(&name.text) {
            let message = format!("'{}' is no name: say what it is about", name.text);
            findings.push(Finding::new(&source.path, line, "name", message));
        }
        let rest = source.code[name.start + name.text.len()..].trim_start();
        if name.text.starts_with("test") && rest.starts_with('{') {
            let message = "unit tests stand in a sibling tests.rs: 'mod tests;'";
            findings.push(Finding::new(&source.path, line, "test-file", message));
        }
    }
}

#[cfg(test)]
mod tests;
