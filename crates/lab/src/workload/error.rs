//! Text that was refused: where it stands, which field, and what is wrong with it.

use std::fmt;

/// A file of settings or results that cannot be used as it is.
///
/// The line counts from 1; 0 means the text as a whole (an empty file, a file cut short).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputError {
    line: usize,
    field: String,
    problem: String,
}

impl InputError {
    /// A problem with `field` in `line` (from 1; 0 for the whole text).
    pub fn new(line: usize, field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            line,
            field: field.into(),
            problem: problem.into(),
        }
    }

    /// The line, from 1; 0 for the whole text.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The field, as the file calls it.
    pub fn field(&self) -> &str {
        &self.field
    }

    /// What is wrong, and what would be accepted.
    pub fn problem(&self) -> &str {
        &self.problem
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        f.write_str(&self.problem)
    }
}

impl std::error::Error for InputError {}
