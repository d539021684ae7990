//! What stands in front of each line: two blanks, or what `log/prefix` and `log/command_names` say.
//!
//! Everything that is printed begins its lines with two blanks, as stock does by default. Here they
//! are replaced, once for all commands; a line that begins otherwise (help) stays as it is.

use std::io::{self, Write};

/// What lines begin with by default.
pub(crate) const BLANKS: &str = "  ";

/// A writer that replaces the blanks at the beginning of lines.
#[derive(Debug)]
pub(crate) struct Prefixed<W> {
    to: W,
    /// What to put there; the blanks if `None`.
    prefix: Option<String>,
    /// How many blanks this line has begun with; `None` behind its beginning.
    begun: Option<usize>,
}

impl<W: Write> Prefixed<W> {
    /// Leaves lines as they are.
    pub(crate) fn new(to: W) -> Self {
        Self {
            to,
            prefix: None,
            begun: Some(0),
        }
    }

    /// Puts `prefix` in front of all lines from now on.
    pub(crate) fn set(&mut self, prefix: &str) {
        self.prefix = (prefix != BLANKS).then(|| prefix.to_owned());
    }

    fn line(&mut self, prefix: &str, line: &[u8]) -> io::Result<()> {
        let mut rest = line;
        if let Some(begun) = self.begun {
            let blanks = rest.iter().take(BLANKS.len() - begun);
            let blanks = blanks.take_while(|byte| **byte == b' ').count();
            rest = &rest[blanks..];
            let begun = begun + blanks;
            if begun == BLANKS.len() {
                self.to.write_all(prefix.as_bytes())?;
                self.begun = None;
            } else if rest.is_empty() {
                self.begun = Some(begun);
            } else {
                self.to.write_all(&BLANKS.as_bytes()[..begun])?;
                self.begun = None;
            }
        }
        if rest.ends_with(b"\n") {
            self.begun = Some(0);
        }
        self.to.write_all(rest)
    }
}

impl<W: Write> Write for Prefixed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(prefix) = self.prefix.clone() else {
            return self.to.write(bytes);
        };
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line(&prefix, line)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests;
