//! JSON with the line of every value, for result files that people have edited.
//!
//! All of JSON is read; what is nested deeper than [`DEPTH_MAX`] is refused. Numbers keep the worth
//! of their last digit.

use super::printed::Printed;
use crate::workload::InputError;

/// How deep values may be nested; fio's are eight deep.
const DEPTH_MAX: usize = 64;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// null, true and false: no rule looks at them.
    Word,
    Number(Printed),
    Text(String),
    List(Vec<Node>),
    Object(Vec<(String, Node)>),
}

/// A value and the line that it starts in.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) line: usize,
    pub(crate) value: Value,
}

impl Node {
    pub(crate) fn parse(text: &str) -> Result<Self, InputError> {
        let mut parser = Parser {
            bytes: text.as_bytes(),
            text,
            at: 0,
            line: 1,
        };
        let node = parser.node(0)?;
        parser.space();
        if parser.at < text.len() {
            return Err(parser.wrong("more follows behind the value"));
        }
        Ok(node)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Node> {
        let Value::Object(members) = &self.value else {
            return None;
        };
        members
            .iter()
            .find(|(member, _)| member == name)
            .map(|(_, node)| node)
    }

    pub(crate) fn members(&self) -> &[(String, Node)] {
        match &self.value {
            Value::Object(members) => members,
            _ => &[],
        }
    }

    pub(crate) fn list(&self) -> &[Node] {
        match &self.value {
            Value::List(list) => list,
            _ => &[],
        }
    }

    /// The number called `name`; an error if there is something else.
    pub(crate) fn number(&self, name: &str) -> Result<Option<Printed>, InputError> {
        self.get(name).map(|node| node.as_number(name)).transpose()
    }

    /// The value as a number; `name` is what an error calls it.
    pub(crate) fn as_number(&self, name: &str) -> Result<Printed, InputError> {
        match &self.value {
            Value::Number(number) => Ok(*number),
            _ => Err(InputError::new(
                self.line,
                name,
                "a number is expected here",
            )),
        }
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        match &self.get(name)?.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    line: usize,
}

impl Parser<'_> {
    fn wrong(&self, problem: &str) -> InputError {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let near: String = rest.chars().take(12).take_while(|c| *c != '\n').collect();
        InputError::new(self.line, near, problem)
    }

    fn space(&mut self) {
        while let Some(byte) = self.bytes.get(self.at).filter(|b| b.is_ascii_whitespace()) {
            self.line += usize::from(*byte == b'\n');
            self.at += 1;
        }
    }

    /// Whether `byte` comes next; then it is passed.
    fn pass(&mut self, byte: u8) -> bool {
        self.space();
        let found = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }

    fn node(&mut self, depth: usize) -> Result<Node, InputError> {
        if depth > DEPTH_MAX {
            return Err(self.wrong("nested too deep"));
        }
        self.space();
        let line = self.line;
        let value = match self.bytes.get(self.at) {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.list(depth)?,
            Some(b'"') => Value::Text(self.string()?),
            Some(b't') => self.word("true")?,
            Some(b'f') => self.word("false")?,
            Some(b'n') => self.word("null")?,
            _ => self.number()?,
        };
        Ok(Node { line, value })
    }

    fn object(&mut self, depth: usize) -> Result<Value, InputError> {
        self.at += 1;
        let mut members = Vec::new();
        if self.pass(b'}') {
            return Ok(Value::Object(members));
        }
        loop {
            self.space();
            if self.bytes.get(self.at) != Some(&b'"') {
                return Err(self.wrong("a name in quotes is expected"));
            }
            let name = self.string()?;
            if !self.pass(b':') {
                return Err(self.wrong("':' is expected"));
            }
            members.push((name, self.node(depth + 1)?));
            if self.pass(b'}') {
                return Ok(Value::Object(members));
            }
            if !self.pass(b',') {
                return Err(self.wrong("',' or '}' is expected"));
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<Value, InputError> {
        self.at += 1;
        let mut list = Vec::new();
        if self.pass(b']') {
            return Ok(Value::List(list));
        }
        loop {
            list.push(self.node(depth + 1)?);
            if self.pass(b']') {
                return Ok(Value::List(list));
            }
            if !self.pass(b',') {
                return Err(self.wrong("',' or ']' is expected"));
            }
        }
    }

    /// A string, with its escapes replaced by what they stand for.
    fn string(&mut self) -> Result<String, InputError> {
        self.at += 1;
        let mut string = String::new();
        let mut start = self.at;
        while let Some(byte) = self.bytes.get(self.at) {
            match byte {
                b'"' => {
                    string.push_str(&self.text[start..self.at]);
                    self.at += 1;
                    return Ok(string);
                }
                b'\\' => {
                    string.push_str(&self.text[start..self.at]);
                    string.push(self.escape()?);
                    start = self.at;
                }
                b'\n' => return Err(self.wrong("the line ends inside a string")),
                _ => self.at += 1,
            }
        }
        Err(self.wrong("the text ends inside a string"))
    }

    /// What the escape here stands for (RFC 8259, 7).
    fn escape(&mut self) -> Result<char, InputError> {
        let known = match self.bytes.get(self.at + 1) {
            Some(b'u') => return self.code(),
            Some(&byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            _ => return Err(self.wrong("an unknown escape")),
        };
        self.at += 2;
        Ok(known)
    }

    /// The character of `\uHHHH`, or of two of them that are a surrogate pair.
    fn code(&mut self) -> Result<char, InputError> {
        let (code, len) = match (self.unit_at(self.at), self.unit_at(self.at + 6)) {
            (Some(high @ 0xd800..=0xdbff), Some(low @ 0xdc00..=0xdfff)) => {
                (0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00), 12)
            }
            (Some(code), _) => (code, 6),
            (None, _) => return Err(self.wrong("four hexadecimal digits are expected")),
        };
        let found = char::from_u32(code);
        let found = found.ok_or_else(|| self.wrong("half of a pair of surrogates"))?;
        self.at += len;
        Ok(found)
    }

    /// The number in `\uHHHH` at byte `at`.
    fn unit_at(&self, at: usize) -> Option<u32> {
        let digits = self.text.get(at..at + 6)?.strip_prefix("\\u")?;
        let all = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        all.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
    }

    fn word(&mut self, word: &str) -> Result<Value, InputError> {
        if self.bytes[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            return Ok(Value::Word);
        }
        Err(self.wrong("a value is expected"))
    }

    fn number(&mut self) -> Result<Value, InputError> {
        let rest = &self.bytes[self.at.min(self.bytes.len())..];
        let part = |b: &&u8| b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'+' | b'e' | b'E');
        let len = rest.iter().take_while(part).count();
        let digits = self.text.get(self.at..self.at + len).unwrap_or_default();
        let value: Option<f64> = digits.parse().ok().filter(|value: &f64| value.is_finite());
        let Some(value) = value.filter(|_| len > 0) else {
            return Err(self.wrong("a value is expected"));
        };
        // A whole number is a count; one with a point was rounded.
        let step = match Printed::read(self.line, digits.trim_start_matches('-')) {
            Some((number, "")) if digits.contains('.') => number.step,
            _ => 0.0,
        };
        self.at += len;
        Ok(Value::Number(Printed {
            line: self.line,
            value,
            step,
        }))
    }
}

#[cfg(test)]
mod tests;
