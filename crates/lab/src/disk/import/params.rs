//! The format of `DiskSim` parameter files: nested blocks of `key = value`.
//!
//! ```text
//!   type name {                     # a block; the name may be missing
//!      Some key = 0.105,            # keys are words, up to the equals sign
//!      Other = inner { ... },       # a value may be a block,
//!      List = [ 1, 2, [ 3 ] ],      # a list,
//!      Model = source file.model    # or the blocks of another file
//!   }
//! ```
//!
//! Statements between blocks (`instantiate`, `topology`, `source`) are read over. Input is not
//! trusted: nesting has a limit, and errors name the line.

use crate::error::{Error, Kind, Result};

/// How deep blocks and lists may nest.
const DEPTH_MAX: usize = 16;

/// A value and the line that it begins on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Value {
    pub(super) line: usize,
    pub(super) content: Content,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Content {
    Word(String),
    List(Vec<Value>),
    Block(Block),
    /// The blocks of another file.
    Source(String),
}

/// A block: what it is, and its entries in order.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Block {
    pub(super) kind: String,
    /// The line that it begins on.
    pub(super) line: usize,
    entries: Vec<(String, Value)>,
}

/// All top-level blocks of a file; `file` is named in errors.
pub(super) fn parse(file: &str, text: &str) -> Result<Vec<Block>> {
    let mut parser = Parser {
        file,
        rest: text,
        line: 1,
    };
    let mut blocks = Vec::new();
    while !parser.at_end() {
        let line = parser.line;
        let head = parser.until(&['{', '[', '\n'])?;
        let words: Vec<&str> = head.split_whitespace().collect();
        match (parser.peek(), words.first()) {
            (Some('{'), Some(kind)) if *kind != "topology" => {
                let kind = (*kind).to_owned();
                parser.bump();
                blocks.push(parser.block(kind, line, 0)?);
            }
            (Some('[' | '{'), _) => parser.skip_brackets()?,
            _ => {
                if parser.peek().is_some() {
                    parser.bump();
                }
            }
        }
    }
    Ok(blocks)
}

struct Parser<'a> {
    file: &'a str,
    rest: &'a str,
    line: usize,
}

impl<'a> Parser<'a> {
    fn fail<T>(&self, what: impl std::fmt::Display) -> Result<T> {
        Err(Error::new(
            Kind::Syntax,
            format!("{} line {}: {what}", self.file, self.line),
        ))
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn bump(&mut self) {
        if let Some(next) = self.peek() {
            self.rest = &self.rest[next.len_utf8()..];
            self.line += usize::from(next == '\n');
        }
    }

    /// Past white space and comments.
    fn skip_blank(&mut self) {
        loop {
            match self.peek() {
                Some('#') => {
                    while self.peek().is_some_and(|next| next != '\n') {
                        self.bump();
                    }
                }
                Some(next) if next.is_whitespace() => self.bump(),
                _ => return,
            }
        }
    }

    fn at_end(&mut self) -> bool {
        self.skip_blank();
        self.rest.is_empty()
    }

    /// The text up to one of `stops`, which stays; comments end it too.
    fn until(&mut self, stops: &[char]) -> Result<&'a str> {
        let end = self
            .rest
            .find(|next| next == '#' || stops.contains(&next))
            .unwrap_or(self.rest.len());
        let text = &self.rest[..end];
        self.line += text.matches('\n').count();
        self.rest = &self.rest[end..];
        if text.len() > 4096 {
            return self.fail("a word of over 4096 characters");
        }
        Ok(text.trim())
    }

    fn skip_brackets(&mut self) -> Result<()> {
        let mut depth = 0_usize;
        loop {
            self.skip_blank();
            match self.peek() {
                Some('[' | '{') => depth += 1,
                Some(']' | '}') => depth = depth.saturating_sub(1),
                None => return self.fail("a bracket is not closed"),
                _ => {}
            }
            self.bump();
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// The entries of a block whose brace is read.
    fn block(&mut self, kind: String, line: usize, depth: usize) -> Result<Block> {
        if depth > DEPTH_MAX {
            return self.fail(format_args!("blocks nest deeper than {DEPTH_MAX}"));
        }
        let mut entries = Vec::new();
        loop {
            self.skip_blank();
            match self.peek() {
                Some('}') => {
                    self.bump();
                    return Ok(Block {
                        kind,
                        line,
                        entries,
                    });
                }
                Some(',') => self.bump(),
                None => return self.fail(format_args!("block {kind} is not closed")),
                Some(_) => {
                    let key = self.until(&['=', '}', ','])?;
                    if self.peek() != Some('=') {
                        return self.fail(format_args!("'{key}' has no value"));
                    }
                    self.bump();
                    let value = self.value(depth + 1)?;
                    entries.push((key.to_owned(), value));
                }
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value> {
        if depth > DEPTH_MAX {
            return self.fail(format_args!("values nest deeper than {DEPTH_MAX}"));
        }
        self.skip_blank();
        let line = self.line;
        if self.peek() == Some('[') {
            self.bump();
            return self.list(line, depth);
        }
        let text = self.until(&[',', '}', ']', '{', '[', '\n'])?;
        self.skip_blank();
        if self.peek() == Some('{') && !text.is_empty() {
            self.bump();
            let kind = text
                .split_whitespace()
                .next()
                .unwrap_or_default()
                .to_owned();
            let block = self.block(kind, line, depth)?;
            return Ok(Value {
                line,
                content: Content::Block(block),
            });
        }
        if text.is_empty() {
            return self.fail("a value is missing");
        }
        let content = match text.strip_prefix("source ") {
            Some(file) => Content::Source(file.trim().to_owned()),
            None => Content::Word(text.to_owned()),
        };
        Ok(Value { line, content })
    }

    fn list(&mut self, line: usize, depth: usize) -> Result<Value> {
        let mut values = Vec::new();
        loop {
            self.skip_blank();
            match self.peek() {
                Some(']') => {
                    self.bump();
                    return Ok(Value {
                        line,
                        content: Content::List(values),
                    });
                }
                Some(',') => self.bump(),
                None => return self.fail("a list is not closed"),
                Some(_) => values.push(self.value(depth + 1)?),
            }
        }
    }
}

impl Block {
    /// The value of `key`, the last if it is given twice.
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.entries
            .iter()
            .rev()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    }

    pub(super) fn need(&self, key: &str) -> Result<&Value> {
        self.get(key).ok_or_else(|| {
            Error::new(
                Kind::Syntax,
                format!("block {} of line {} has no '{key}'", self.kind, self.line),
            )
        })
    }

    /// A whole number; `default` where the key is missing.
    pub(super) fn whole(&self, key: &str, default: i64) -> Result<i64> {
        self.get(key).map_or(Ok(default), |value| value.whole(key))
    }

    /// A number in thousandths; 0 where the key is missing.
    pub(super) fn thousandths(&self, key: &str) -> Result<i64> {
        self.get(key).map_or(Ok(0), |value| value.scaled(key, 3))
    }

    /// Milliseconds as nanoseconds; 0 where the key is missing.
    pub(super) fn nanoseconds(&self, key: &str) -> Result<i64> {
        self.get(key).map_or(Ok(0), |value| value.scaled(key, 6))
    }

    /// The same, not negative.
    pub(super) fn duration_ns(&self, key: &str) -> Result<u64> {
        let time = self.nanoseconds(key)?;
        u64::try_from(time).map_err(|_| {
            Error::new(
                Kind::Impossible,
                format!(
                    "block {} of line {}: '{key}' is negative",
                    self.kind, self.line
                ),
            )
        })
    }
}

impl Value {
    fn fail<T>(&self, key: &str, what: &str) -> Result<T> {
        Err(Error::new(
            Kind::Syntax,
            format!("line {}: '{key}' is not {what}", self.line),
        ))
    }

    pub(super) fn whole(&self, key: &str) -> Result<i64> {
        let scaled = self.scaled(key, 3)?;
        if scaled % 1000 != 0 {
            return self.fail(key, "a whole number");
        }
        Ok(scaled / 1000)
    }

    /// A decimal number times 10 to the power of `digits`, exactly; further digits are cut off.
    pub(super) fn scaled(&self, key: &str, digits: usize) -> Result<i64> {
        let Content::Word(text) = &self.content else {
            return self.fail(key, "a number");
        };
        match decimal(text, digits) {
            Some(number) => Ok(number),
            None => self.fail(key, "a number"),
        }
    }

    pub(super) fn list(&self, key: &str) -> Result<&[Value]> {
        match &self.content {
            Content::List(values) => Ok(values),
            _ => self.fail(key, "a list"),
        }
    }

    pub(super) fn block(&self, key: &str) -> Result<&Block> {
        match &self.content {
            Content::Block(block) => Ok(block),
            _ => self.fail(key, "a block"),
        }
    }

    pub(super) fn word(&self, key: &str) -> Result<&str> {
        match &self.content {
            Content::Word(word) => Ok(word),
            _ => self.fail(key, "a word"),
        }
    }
}

/// A decimal number, perhaps with an exponent, times 10 to the power of `digits`.
pub(super) fn decimal(text: &str, digits: usize) -> Option<i64> {
    let Some((mantissa, exponent)) = text.split_once(['e', 'E']) else {
        return plain_decimal(text, digits);
    };
    let exponent: i32 = exponent.parse().ok()?;
    let digits = i32::try_from(digits).ok()?.checked_add(exponent)?;
    if digits >= 0 {
        return plain_decimal(mantissa, usize::try_from(digits.min(40)).ok()?);
    }
    let divisor = 10_i64.checked_pow(digits.unsigned_abs())?;
    Some(plain_decimal(mantissa, 0)? / divisor)
}

fn plain_decimal(text: &str, digits: usize) -> Option<i64> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !plain(whole) || !plain(fraction) {
        return None;
    }
    let mut number: i64 = if whole.is_empty() {
        0
    } else {
        whole.parse().ok()?
    };
    let mut fraction = fraction.bytes();
    for _ in 0..digits {
        let digit = i64::from(fraction.next().map_or(0, |byte| byte - b'0'));
        number = number.checked_mul(10)?.checked_add(digit)?;
    }
    Some(if negative { -number } else { number })
}

#[cfg(test)]
mod tests;
