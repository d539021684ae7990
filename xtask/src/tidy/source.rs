//! A Rust file split into what is code, what is comment and what is string.
//!
//! `code` and `comments` have the same length and the same line breaks as the text; what does not
//! belong is blanked. So a position found in one is a position in all, and a rule that looks for
//! a word in code cannot be fooled by a message that mentions it.
//!
//! ```text
//!   text      let a = "x{"; // not b
//!   code      let a = "  ";
//!   comments                // not b
//! ```
//!
//! The scanner knows line and nested block comments, strings with escapes, raw, byte and C
//! strings, and tells a character literal from a lifetime. It promises nothing for files
//! that do not compile.

/// One source file, split.
pub(crate) struct Source {
    /// Path from the root of the repository, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
    /// The text with comments and the insides of strings and characters blanked.
    pub(crate) code: String,
    /// The text with everything but comments blanked.
    pub(crate) comments: String,
}

/// A word of the code and where it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word<'a> {
    pub(crate) text: &'a str,
    pub(crate) start: usize,
}

impl Source {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let kinds = classify(text.as_bytes());
        let keep = |wanted: Kind| -> String {
            let bytes = text.bytes().zip(&kinds);
            let kept = bytes.map(|(b, k)| if b == b'\n' || *k == wanted { b } else { b' ' });
            String::from_utf8(kept.collect()).expect("whole characters share one kind")
        };
        let (code, comments) = (keep(Kind::Code), keep(Kind::Comment));
        Source {
            path: path.to_owned(),
            text: text.to_owned(),
            code,
            comments,
        }
    }

    /// The line (from 1) that a position lies on.
    pub(crate) fn line_of(&self, position: usize) -> usize {
        self.code[..position].matches('\n').count() + 1
    }

    /// Whether the file is test code by its place: `tests.rs`, or anything below a `tests` folder.
    pub(crate) fn is_test(&self) -> bool {
        is_test(&self.path)
    }

    /// The identifiers, keywords and numbers of the code.
    pub(crate) fn words(&self) -> Vec<Word<'_>> {
        words(&self.code)
    }

    /// The end (exclusive) of the bracketed group that opens at `open`, or the end of the file.
    pub(crate) fn closing(&self, open: usize) -> usize {
        let mut depth = 0_usize;
        for (offset, byte) in self.code.bytes().enumerate().skip(open) {
            match byte {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return offset + 1;
            }
        }
        self.code.len()
    }
}

/// Whether a path is one of test code: `tests.rs`, or anything below a `tests` folder.
pub(crate) fn is_test(path: &str) -> bool {
    let mut parts = path.split('/').rev();
    parts.next() == Some("tests.rs") || parts.any(|part| part == "tests")
}

/// The words of any text: runs of letters, digits and underscores.
pub(crate) fn words(text: &str) -> Vec<Word<'_>> {
    let mut found = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        let inside = c.is_alphanumeric() || c == '_';
        match (inside, start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                found.push(Word {
                    text: &text[from..at],
                    start: from,
                });
                start = None;
            }
            _ => {}
        }
    }
    found
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

fn classify(text: &[u8]) -> Vec<Kind> {
    let mut kinds = vec![Kind::Code; text.len()];
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let (length, kind) = if rest.starts_with(b"//") {
            (line_length(rest), Kind::Comment)
        } else if rest.starts_with(b"/*") {
            (block_comment_length(rest), Kind::Comment)
        } else if rest[0] == b'"' {
            (string_length(rest), Kind::Literal)
        } else if rest[0] == b'\'' {
            (character_length(rest), Kind::Literal)
        } else if let Some(length) = raw_string_length(text, at) {
            (length, Kind::Literal)
        } else {
            (1, Kind::Code)
        };
        let end = (at + length).min(text.len());
        let inside = if kind == Kind::Literal {
            at + 1..(end - 1).max(at + 1)
        } else {
            at..end
        };
        kinds[inside].fill(kind);
        at = end;
    }
    kinds
}

fn line_length(rest: &[u8]) -> usize {
    rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len())
}

fn block_comment_length(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

fn string_length(rest: &[u8]) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// A character literal's length, or 1 where the quote starts a lifetime.
fn character_length(rest: &[u8]) -> usize {
    let first = match rest.get(1) {
        None => return 1,
        // After a backslash one character is never the end: `'\''`.
        Some(b'\\') => 3,
        Some(byte) => 1 + utf8_length(*byte),
    };
    let limit = if rest[1] == b'\\' {
        first + 8
    } else {
        first + 1
    };
    let window = &rest[first.min(rest.len())..limit.min(rest.len())];
    window
        .iter()
        .position(|b| *b == b'\'')
        .map_or(1, |quote| first + quote + 1)
}

fn utf8_length(first: u8) -> usize {
    match first {
        0xf0.. => 4,
        0xe0.. => 3,
        0xc0.. => 2,
        _ => 1,
    }
}

/// `r"…"`, `r#"…"#`, `br"…"`, `cr"…"`: the whole length if one starts here, at its `r`.
fn raw_string_length(text: &[u8], at: usize) -> Option<usize> {
    let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    if text[at] != b'r' {
        return None;
    }
    let before = text[..at].iter().rev().take_while(|b| is_word(**b)).count();
    if before > 1 || (before == 1 && !matches!(text[at - 1], b'b' | b'c')) {
        return None;
    }
    let hashes = text[at + 1..].iter().take_while(|b| **b == b'#').count();
    let open = at + 1 + hashes;
    if text.get(open) != Some(&b'"') {
        return None;
    }
    let mut close = vec![b'"'];
    close.resize(hashes + 1, b'#');
    let inside = &text[open + 1..];
    let end = inside
        .windows(close.len())
        .position(|w| w == close)
        .unwrap_or(inside.len());
    Some(open + 1 + end + close.len() - at)
}

#[cfg(test)]
mod tests;
