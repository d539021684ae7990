//! JSON, as much of it as a control socket needs: all values, numbers without fractions.

use std::fmt::Write;

/// How deep values may be nested: a message is an object with lists of objects.
const DEPTH_MAX: u32 = 8;

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Number(u64),
    Text(String),
    List(Vec<Value>),
    /// Members in their order.
    Object(Vec<(String, Value)>),
}

impl Value {
    /// The value of a line, or what is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        let mut parser = Parser { rest: text };
        let value = parser.value(0)?;
        parser.space();
        if parser.rest.is_empty() {
            Ok(value)
        } else {
            Err("more follows behind the value")
        }
    }

    /// The member called `name`.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        let Self::Object(members) = self else {
            return None;
        };
        let mut found = members.iter().filter(|(member, _)| member == name);
        found.next().map(|(_, value)| value)
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn number(&self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    pub(super) fn bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    pub(super) fn list(&self) -> Option<&[Value]> {
        match self {
            Self::List(list) => Some(list),
            _ => None,
        }
    }

    /// Appends the value as it is written in a line.
    pub(super) fn write(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(number) => {
                let _ = write!(out, "{number}");
            }
            Self::Text(text) => write_text(text, out),
            Self::List(list) => {
                out.push('[');
                for (index, value) in list.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    value.write(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (index, (name, value)) in members.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    write_text(name, out);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }
}

fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if u32::from(c) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
    }

    fn take(&mut self, word: &str) -> bool {
        let rest = self.rest.strip_prefix(word);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn value(&mut self, depth: u32) -> Result<Value, &'static str> {
        if depth > DEPTH_MAX {
            return Err("it is nested too deep");
        }
        self.space();
        if self.take("null") {
            Ok(Value::Null)
        } else if self.take("true") {
            Ok(Value::Bool(true))
        } else if self.take("false") {
            Ok(Value::Bool(false))
        } else if self.take("\"") {
            self.text().map(Value::Text)
        } else if self.take("[") {
            self.list(depth)
        } else if self.take("{") {
            self.object(depth)
        } else {
            self.number()
        }
    }

    fn number(&mut self) -> Result<Value, &'static str> {
        let end = self.rest.find(|c: char| !c.is_ascii_digit());
        let (digits, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        let is_whole = !rest.starts_with(['.', 'e', 'E']);
        let is_plain = digits == "0" || !digits.starts_with('0');
        let number = digits.parse().ok().filter(|_| is_whole && is_plain);
        self.rest = rest;
        number
            .map(Value::Number)
            .ok_or("a value is none that is known here")
    }

    fn list(&mut self, depth: u32) -> Result<Value, &'static str> {
        let mut list = Vec::new();
        self.space();
        if self.take("]") {
            return Ok(Value::List(list));
        }
        loop {
            list.push(self.value(depth + 1)?);
            self.space();
            if self.take("]") {
                return Ok(Value::List(list));
            }
            if !self.take(",") {
                return Err("a list does not end");
            }
        }
    }

    fn object(&mut self, depth: u32) -> Result<Value, &'static str> {
        let mut members = Vec::new();
        self.space();
        if self.take("}") {
            return Ok(Value::Object(members));
        }
        loop {
            self.space();
            if !self.take("\"") {
                return Err("a member of an object has no name");
            }
            let name = self.text()?;
            self.space();
            if !self.take(":") {
                return Err("a member of an object has no value");
            }
            members.push((name, self.value(depth + 1)?));
            self.space();
            if self.take("}") {
                return Ok(Value::Object(members));
            }
            if !self.take(",") {
                return Err("an object does not end");
            }
        }
    }

    /// The text behind its opening mark.
    fn text(&mut self) -> Result<String, &'static str> {
        let mut text = String::new();
        let mut chars = self.rest.chars();
        loop {
            match chars.next().ok_or("a text does not end")? {
                '"' => break,
                '\\' => {
                    let c = chars.next().ok_or("a text does not end")?;
                    text.push(match c {
                        '"' | '\\' | '/' => c,
                        'n' => '\n',
                        't' => '\t',
                        'r' => '\r',
                        'b' => '\u{8}',
                        'f' => '\u{c}',
                        'u' => escaped(&mut chars)?,
                        _ => return Err("a text has an escape that is none"),
                    });
                }
                c if u32::from(c) < 0x20 => return Err("a text holds a control character"),
                c => text.push(c),
            }
        }
        self.rest = chars.as_str();
        Ok(text)
    }
}

/// The character of a `\u` escape, of which two may make one.
fn escaped(chars: &mut std::str::Chars<'_>) -> Result<char, &'static str> {
    const WRONG: &str = "a text has an escape that is none";
    let mut unit = || -> Result<u32, &'static str> {
        let rest = chars.as_str();
        let digits = rest.get(..4).ok_or(WRONG)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(WRONG);
        }
        *chars = rest[4..].chars();
        u32::from_str_radix(digits, 16).map_err(|_| WRONG)
    };
    let first = unit()?;
    if !(0xd800..0xdc00).contains(&first) {
        return char::from_u32(first).ok_or(WRONG);
    }
    let rest = chars.as_str().strip_prefix("\\u").ok_or(WRONG)?;
    *chars = rest.chars();
    let digits = rest.get(..4).ok_or(WRONG)?;
    let second = u32::from_str_radix(digits, 16).map_err(|_| WRONG)?;
    *chars = rest[4..].chars();
    if !(0xdc00..0xe000).contains(&second) {
        return Err(WRONG);
    }
    let both = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
    char::from_u32(both).ok_or(WRONG)
}
