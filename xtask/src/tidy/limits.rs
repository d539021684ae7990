//! Lengths: a file tells one story, a function fits a screen, a line fits the editor.

use super::finding::Finding;
use super::ratchet::{Entry, Ratchet};
use super::source::Source;

/// Lines of a file. Test code is not counted: a long list of cases is easy to read.
const FILE_LINES_MAX: usize = 700;
/// Lines of a function from `fn` to its closing brace.
const FUNCTION_LINES_MAX: usize = 70;
/// Characters of a line, for the comments and strings that rustfmt leaves alone.
const WIDTH_MAX: usize = 100;

/// Checks file and function lengths against the limits and the list of exceptions.
///
/// An exception must name the exact length: one that shrank is lowered, one that is within the
/// limit is deleted, so that the list always tells the truth and no room is left to grow into.
pub(crate) fn check_lengths(sources: &[Source], ratchet: &Ratchet, findings: &mut Vec<Finding>) {
    let mut actual: Vec<(Entry, usize)> = Vec::new();
    for source in sources.iter().filter(|source| !source.is_test()) {
        let lines = source.text.lines().count();
        if lines > FILE_LINES_MAX {
            actual.push((
                Entry {
                    name: source.path.clone(),
                    lines,
                },
                1,
            ));
        }
        for (name, line, lines) in functions(source) {
            if lines > FUNCTION_LINES_MAX {
                actual.push((
                    Entry {
                        name: format!("{}::{name}", source.path),
                        lines,
                    },
                    line,
                ));
            }
        }
    }
    for (entry, line) in &actual {
        let path = entry.name.split("::").next().unwrap_or_default();
        let allowed = ratchet.lines_of(&entry.name);
        if allowed != Some(entry.lines) {
            let message = match allowed {
                None => format!("{} is {} lines long: split it", entry.name, entry.lines),
                Some(old) if old < entry.lines => {
                    format!(
                        "{} grew from {old} to {} lines: split it",
                        entry.name, entry.lines
                    )
                }
                Some(old) => format!("{} shrank: lower {old} to {}", entry.name, entry.lines),
            };
            findings.push(Finding::new(path, *line, "length", message));
        }
    }
    for stale in ratchet
        .entries()
        .filter(|old| !actual.iter().any(|(e, _)| e.name == old.name))
    {
        let message = format!("{} is within the limits now: delete its line", stale.name);
        findings.push(Finding::new(Ratchet::PATH, 1, "length", message));
    }
    findings.extend(
        ratchet
            .growth()
            .iter()
            .map(|message| Finding::new(Ratchet::PATH, 1, "ratchet", message.clone())),
    );
}

pub(crate) fn check_width(source: &Source, findings: &mut Vec<Finding>) {
    for (index, line) in source.text.lines().enumerate() {
        let width = line.chars().count();
        // An address cannot be broken.
        if width > WIDTH_MAX && !line.contains("://") {
            let message = format!("{width} characters wide, {WIDTH_MAX} fit");
            findings.push(Finding::new(&source.path, index + 1, "width", message));
        }
    }
}

/// Name, line and length in lines of every function with a body.
fn functions(source: &Source) -> Vec<(String, usize, usize)> {
    let words = source.words();
    let mut found = Vec::new();
    for pair in words.windows(2) {
        let [keyword, name] = pair else { continue };
        let between = &source.code[keyword.start + keyword.text.len()..name.start];
        if keyword.text != "fn" || !between.trim().is_empty() {
            continue;
        }
        if let Some(open) = body_start(source, name.start) {
            let first = source.line_of(keyword.start);
            let last = source.line_of(source.closing(open) - 1);
            found.push((name.text.to_owned(), first, last - first + 1));
        }
    }
    found
}

/// Where the body of the function whose name starts at `from` opens; none for a declaration.
fn body_start(source: &Source, from: usize) -> Option<usize> {
    let code = source.code.as_bytes();
    let mut at = from;
    while at < code.len() {
        match code[at] {
            b'{' => return Some(at),
            b';' => return None,
            b'(' | b'[' => at = source.closing(at),
            _ => at += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests;
