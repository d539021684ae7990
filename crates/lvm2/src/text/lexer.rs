//! Cuts a metadata text into tokens.
//!
//! What a token is depends on where it stands, as in LVM2: behind `=`, `[` or `,` digits begin a
//! number; as a name they are only characters. So the parser says which of the two it expects.
//!
//! ```text
//!     bare word   ends before white space and # = { }, as a value also before , and ]
//!     "…"         \" is a quote, \\ a backslash; any other backslash stands for itself
//!     '…'         nothing is special but the closing quote
//!     number      [+-] digits, 0x and hexadecimal or 0 and octal digits; with a point: a float
//!     # …         a comment, to the end of the line
//! ```
//!
//! The text ends at its first NUL, as in a metadata area, or with its last byte.
//!
//! Promises: each byte is looked at a bounded number of times, and nothing is allocated but strings
//! that do not stand in the text as they are handed out.

use alloc::borrow::Cow;
use alloc::format;
use alloc::vec::Vec;
use core::ops::Range;

use super::carry;
use super::search::{position, until_nul};
use crate::error::{Error, Kind};

/// What stands next in the text.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token<'a> {
    /// `{`
    OpenSection,
    /// `}`
    CloseSection,
    /// `[`
    OpenArray,
    /// `]`
    CloseArray,
    /// `,`
    Comma,
    /// `=`
    Equals,
    /// A name, or a string of either kind.
    Text(Cow<'a, str>),
    /// A number without a point.
    Integer(i64),
    /// The same, and it does not fit 64 bits with a sign.
    Oversized,
    /// A number with one, as it is written.
    Float(Cow<'a, str>),
    /// There is nothing more.
    End,
}

/// How words and digits are to be read at this place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expect {
    /// A name, or one of the grammar's own characters.
    Name,
    /// A value, or one of the grammar's own characters.
    Value,
}

/// Walks over the text.
#[derive(Debug)]
pub(super) struct Lexer<'a> {
    bytes: &'a [u8],
    /// The same, where no part of it needs carrying.
    plain: Option<&'a str>,
    position: usize,
    token_start: usize,
}

impl<'a> Lexer<'a> {
    /// At the beginning of `bytes`, which end at their first NUL.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let bytes = until_nul(bytes);
        Self {
            bytes,
            plain: carry::plain(bytes),
            position: 0,
            token_start: 0,
        }
    }

    /// Takes the next token.
    pub(super) fn next(&mut self, expect: Expect) -> Result<Token<'a>, Error> {
        self.skip_space();
        debug_assert!(self.position <= self.bytes.len(), "the text is not left");
        self.token_start = self.position;
        let Some(&first) = self.bytes.get(self.position) else {
            return Ok(Token::End);
        };
        let single = match first {
            b'{' => Token::OpenSection,
            b'}' => Token::CloseSection,
            b'[' => Token::OpenArray,
            b']' => Token::CloseArray,
            b',' => Token::Comma,
            b'=' => Token::Equals,
            b'"' | b'\'' => return self.quoted(first),
            b'0'..=b'9' | b'+' | b'-' | b'.' if expect == Expect::Value => return self.number(),
            _ => return Ok(Token::Text(self.word(expect))),
        };
        self.position += 1;
        Ok(single)
    }

    /// An error at the token that was taken last.
    pub(super) fn error(&self, what: impl core::fmt::Display) -> Error {
        self.error_of(Kind::Text, what)
    }

    /// An error of another kind at the token that was taken last.
    pub(super) fn error_of(&self, kind: Kind, what: impl core::fmt::Display) -> Error {
        let before = &self.bytes[..self.token_start];
        let line = before.split(|byte| *byte == b'\n').count();
        let column = before
            .iter()
            .rev()
            .take_while(|byte| **byte != b'\n')
            .count()
            + 1;
        let mut error = Error::new(kind, format!("line {line}, column {column}: {what}"));
        error.at = Some(self.token_start);
        error
    }

    fn skip_space(&mut self) {
        while let Some(&byte) = self.bytes.get(self.position) {
            if byte == b'#' {
                let rest = &self.bytes[self.position..];
                self.position += position(rest, b'\n').unwrap_or(rest.len());
            } else if is_space(byte) {
                self.position += 1;
            } else {
                break;
            }
        }
    }

    fn skip_while(&mut self, wanted: impl Fn(u8) -> bool) -> Range<usize> {
        let start = self.position;
        let rest = &self.bytes[start..];
        let len = rest
            .iter()
            .position(|byte| !wanted(*byte))
            .unwrap_or(rest.len());
        self.position = start + len;
        start..self.position
    }

    fn word(&mut self, expect: Expect) -> Cow<'a, str> {
        let range = match expect {
            Expect::Name => self.skip_while(|byte| !ends_bare_name(byte)),
            Expect::Value => self.skip_while(|byte| !ends_bare_value(byte)),
        };
        self.text(range)
    }

    /// What stands there. A token ends in front of a character of ASCII, so it has whole ones.
    fn text(&self, range: Range<usize>) -> Cow<'a, str> {
        match self.plain {
            Some(plain) => Cow::Borrowed(&plain[range]),
            None => Cow::Owned(carry::from_bytes(&self.bytes[range])),
        }
    }

    fn quoted(&mut self, quote: u8) -> Result<Token<'a>, Error> {
        self.position += 1;
        let start = self.position;
        let has_escapes = quote == b'"';
        let mut escapes = 0;
        loop {
            match self.bytes.get(self.position) {
                None => return Err(self.error("a string begins here and does not end")),
                Some(byte) if *byte == quote => break,
                Some(b'\\') if has_escapes => {
                    escapes += 1;
                    // The byte behind it is skipped, so that \" does not end the string.
                    self.position += 2;
                }
                Some(_) => self.position += 1,
            }
        }
        debug_assert_eq!(self.bytes[self.position], quote, "the string ends here");
        let inside = start..self.position;
        self.position += 1;
        Ok(Token::Text(if escapes == 0 {
            self.text(inside)
        } else {
            Cow::Owned(carry::from_bytes(&unescape(&self.bytes[inside])))
        }))
    }

    fn number(&mut self) -> Result<Token<'a>, Error> {
        let bytes = self.bytes;
        let written = &bytes[self.skip_while(|byte| !ends_bare_value(byte))];
        let text = str::from_utf8(written).unwrap_or("");
        let digits = text.trim_start_matches(['+', '-']);
        if text.len() - digits.len() <= 1 {
            if is_float(digits) {
                return Ok(Token::Float(Cow::Borrowed(text)));
            }
            if let Some(number) = integer(text.starts_with('-'), digits) {
                return Ok(number.map_or(Token::Oversized, Token::Integer));
            }
        }
        Err(self.error("this is not a number; a string needs quotes"))
    }
}

/// What ends a bare name: white space, a comment, and the grammar's own characters.
pub(super) fn ends_bare_name(byte: u8) -> bool {
    is_space(byte) || matches!(byte, b'#' | b'=' | b'{' | b'}')
}

/// What can never begin a bare name.
pub(super) fn starts_other_token(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'[' | b']' | b',')
}

fn ends_bare_value(byte: u8) -> bool {
    ends_bare_name(byte) || matches!(byte, b',' | b']')
}

/// C's `isspace`.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

fn unescape(inside: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(inside.len());
    let mut bytes = inside.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        let escaped = if byte == b'\\' {
            bytes.next_if(|next| b"\"\\".contains(next))
        } else {
            None
        };
        plain.push(escaped.unwrap_or(byte));
    }
    plain
}

fn is_float(digits: &str) -> bool {
    digits.bytes().filter(|byte| *byte == b'.').count() == 1
        && digits.len() > 1
        && digits
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.')
}

struct TooLarge;

/// The integer, where `digits` are digits: C's `strtoll` with base 0.
fn integer(is_negative: bool, digits: &str) -> Option<Result<i64, TooLarge>> {
    let (digits, base) = match digits
        .strip_prefix("0x")
        .or_else(|| digits.strip_prefix("0X"))
    {
        Some(hexadecimal) => (hexadecimal, 16),
        None if digits.len() > 1 && digits.starts_with('0') => (&digits[1..], 8),
        None => (digits, 10),
    };
    let is_digit = |byte: u8| char::from(byte).is_digit(base);
    if digits.is_empty() || !digits.bytes().all(is_digit) {
        return None;
    }
    let number = u64::from_str_radix(digits, base).ok().and_then(|size| {
        if is_negative {
            0_i64.checked_sub_unsigned(size)
        } else {
            i64::try_from(size).ok()
        }
    });
    Some(number.ok_or(TooLarge))
}

#[cfg(test)]
mod tests;
