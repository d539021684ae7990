//! TOML text whose values know where they stand: file, line and field.
//!
//! Every description in the lab that people write (layouts, experiments, claims) is TOML. A
//! [`Table`] gives out each of its values once, converted; [`Table::finish`] refuses what nobody
//! asked for, so that a mistyped field is an error and not a default.
//!
//! Sizes are numbers of bytes or words like `64K`, `10G` (powers of 1024) and `80GB` (powers of
//! 1000). Times carry their unit in the name of the field.

use std::collections::BTreeMap;
use std::rc::Rc;

use toml::de::{DeTable, DeValue};

use crate::error::{Error, Kind, Result};

/// Bytes of a text at most: descriptions are small.
const TEXT_MAX: usize = 4 << 20;

/// A table of a text.
#[derive(Debug, Clone)]
pub struct Table {
    file: Rc<str>,
    /// How messages call it; empty for the whole text.
    path: String,
    line: usize,
    /// Where fields stand, also those that were taken.
    lines: BTreeMap<String, usize>,
    entries: BTreeMap<String, Value>,
}

/// A value and its line, from 1.
#[derive(Debug, Clone)]
struct Value {
    line: usize,
    content: Content,
}

#[derive(Debug, Clone)]
enum Content {
    Text(String),
    Number(f64),
    /// Integers are kept apart, since not every one is a float.
    Integer(i64),
    Truth(bool),
    List(Vec<Value>),
    Table(BTreeMap<String, Value>),
}

impl Table {
    /// Reads a text; `file` is how messages call it.
    pub fn parse(file: &str, text: &str) -> Result<Self> {
        let syntax = |what: String| Err(Error::new(Kind::Syntax, what));
        if text.len() > TEXT_MAX {
            return syntax(format!("{file}: longer than {TEXT_MAX} bytes"));
        }
        let lines = Lines::of(text);
        let table = match DeTable::parse(text) {
            Ok(table) => table,
            Err(error) => {
                let line = error.span().map_or(0, |span| lines.line(span.start));
                return syntax(format!("{file} line {line}: {}", error.message()));
            }
        };
        let entries = entries(table.get_ref(), &lines).map_err(|(line, what)| {
            Error::new(Kind::Syntax, format!("{file} line {line}: {what}"))
        })?;
        Ok(Self {
            file: file.into(),
            path: String::new(),
            line: 1,
            lines: places(&entries),
            entries,
        })
    }

    /// How messages call it: `layout.striped`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// An error about field `key` of this table.
    pub fn error(&self, key: &str, problem: impl std::fmt::Display) -> Error {
        let line = self.lines.get(key).copied().unwrap_or(self.line);
        self.error_at(line, key, problem)
    }

    fn error_at(&self, line: usize, key: &str, problem: impl std::fmt::Display) -> Error {
        let dot = if self.path.is_empty() || key.is_empty() {
            ""
        } else {
            "."
        };
        let (file, path) = (&self.file, &self.path);
        Error::new(
            Kind::Syntax,
            format!("{file} line {line}: {path}{dot}{key}: {problem}"),
        )
    }

    /// Whether there is such a field that nobody took yet.
    pub fn has(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// A text.
    pub fn text(&mut self, key: &str) -> Result<Option<String>> {
        self.convert(key, "a text in quotes", |content| match content {
            Content::Text(text) => Some(text.clone()),
            _ => None,
        })
    }

    /// A text that has to be there.
    pub fn need_text(&mut self, key: &str) -> Result<String> {
        let found = self.text(key)?;
        found.ok_or_else(|| self.missing(key))
    }

    /// A whole number from 0.
    pub fn count(&mut self, key: &str) -> Result<Option<u64>> {
        self.convert(key, "a whole number from 0", |content| match content {
            Content::Integer(number) => u64::try_from(*number).ok(),
            _ => None,
        })
    }

    /// A number.
    pub fn number(&mut self, key: &str) -> Result<Option<f64>> {
        self.convert(key, "a number", number)
    }

    /// A time in nanoseconds, given in units of `unit_ns`.
    pub fn time(&mut self, key: &str, unit_ns: f64) -> Result<Option<u64>> {
        let what = "a time from 0 to an hour";
        self.convert(key, what, |content| {
            let ns = number(content)? * unit_ns;
            (0.0..=3.6e12).contains(&ns).then(|| ns.round() as u64)
        })
    }

    /// A size in bytes.
    pub fn bytes(&mut self, key: &str) -> Result<Option<u64>> {
        let what = "a size like 4096, \"64K\", \"10G\" or \"80GB\"";
        self.convert(key, what, |content| match content {
            Content::Integer(number) => u64::try_from(*number).ok(),
            Content::Text(text) => size(text),
            _ => None,
        })
    }

    /// A size that has to be there.
    pub fn need_bytes(&mut self, key: &str) -> Result<u64> {
        let found = self.bytes(key)?;
        found.ok_or_else(|| self.missing(key))
    }

    /// True or false; false if it is not there.
    pub fn truth(&mut self, key: &str) -> Result<bool> {
        let found = self.convert(key, "true or false", |content| match content {
            Content::Truth(truth) => Some(*truth),
            _ => None,
        })?;
        Ok(found.unwrap_or(false))
    }

    /// A list of texts, or one text as a list of one; empty if it is not there.
    pub fn texts(&mut self, key: &str) -> Result<Vec<String>> {
        let text = |value: &Value| match &value.content {
            Content::Text(text) => Some(text.clone()),
            Content::Integer(number) => Some(number.to_string()),
            Content::Number(number) => Some(number.to_string()),
            _ => None,
        };
        let found = self.convert(key, "a list of texts or numbers", |content| match content {
            Content::List(list) => list.iter().map(text).collect(),
            Content::Text(text) => Some(vec![text.clone()]),
            Content::Integer(number) => Some(vec![number.to_string()]),
            _ => None,
        })?;
        Ok(found.unwrap_or_default())
    }

    /// A list of numbers, or `None`.
    pub fn numbers(&mut self, key: &str) -> Result<Option<Vec<f64>>> {
        self.convert(key, "a list of numbers", |content| match content {
            Content::List(list) => list.iter().map(|value| number(&value.content)).collect(),
            _ => None,
        })
    }

    /// A table inside this one.
    pub fn table(&mut self, key: &str) -> Result<Option<Self>> {
        let Some(value) = self.entries.remove(key) else {
            return Ok(None);
        };
        self.inner(key, value).map(Some)
    }

    /// A list of tables; empty if it is not there.
    pub fn tables(&mut self, key: &str) -> Result<Vec<Self>> {
        let Some(value) = self.entries.remove(key) else {
            return Ok(Vec::new());
        };
        let Content::List(list) = value.content else {
            return Err(self.error_at(value.line, key, "a list of tables is expected"));
        };
        let inner = |(index, value)| self.inner(&format!("{key}[{index}]"), value);
        list.into_iter().enumerate().map(inner).collect()
    }

    /// Tables by name, in the order of their names: `[layout.linear]`, `[layout.striped]`.
    pub fn named(&mut self, key: &str) -> Result<Vec<(String, Self)>> {
        let Some(table) = self.table(key)? else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        for (name, value) in table.entries.clone() {
            let inner = table.inner(&name, value)?;
            found.push((name, inner));
        }
        // As they stand in the text.
        found.sort_by_key(|(_, table)| table.line);
        Ok(found)
    }

    /// What is left, as texts by name: values of any simple kind.
    pub fn rest(&mut self) -> Result<Vec<(String, String)>> {
        let names: Vec<String> = self.entries.keys().cloned().collect();
        let mut found = Vec::new();
        for name in names {
            let text = self.convert(&name, "a text or a number", |content| match content {
                Content::Text(text) => Some(text.clone()),
                Content::Integer(number) => Some(number.to_string()),
                Content::Number(number) => Some(number.to_string()),
                Content::Truth(truth) => Some(if *truth { "1" } else { "0" }.to_owned()),
                _ => None,
            })?;
            found.extend(text.map(|text| (name, text)));
        }
        Ok(found)
    }

    /// The names of its fields, in the order of their lines.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<&String> = self.entries.keys().collect();
        names.sort_by_key(|name| self.entries[*name].line);
        names.into_iter().cloned().collect()
    }

    /// Lets go of a field that somebody else reads.
    pub fn forget(&mut self, key: &str) {
        self.entries.remove(key);
    }

    /// Refuses what nobody took.
    pub fn finish(self) -> Result<()> {
        match self.entries.keys().next() {
            Some(key) => Err(self.error(key, "there is no such field here")),
            None => Ok(()),
        }
    }

    /// The error that field `key` is missing.
    pub fn missing(&self, key: &str) -> Error {
        self.error(key, "is missing")
    }

    fn inner(&self, key: &str, value: Value) -> Result<Self> {
        let dot = if self.path.is_empty() { "" } else { "." };
        let Content::Table(entries) = value.content else {
            return Err(self.error_at(value.line, key, "a table is expected"));
        };
        Ok(Self {
            file: Rc::clone(&self.file),
            path: format!("{}{dot}{key}", self.path),
            line: value.line,
            lines: places(&entries),
            entries,
        })
    }

    fn convert<T>(
        &mut self,
        key: &str,
        what: &str,
        convert: impl Fn(&Content) -> Option<T>,
    ) -> Result<Option<T>> {
        let Some(value) = self.entries.remove(key) else {
            return Ok(None);
        };
        let wrong = || self.error_at(value.line, key, format!("{what} is expected"));
        convert(&value.content).map(Some).ok_or_else(wrong)
    }
}

fn places(entries: &BTreeMap<String, Value>) -> BTreeMap<String, usize> {
    let place = |(key, value): (&String, &Value)| (key.clone(), value.line);
    entries.iter().map(place).collect()
}

fn number(content: &Content) -> Option<f64> {
    match content {
        Content::Number(number) => Some(*number),
        Content::Integer(number) => Some(*number as f64),
        _ => None,
    }
}

/// A size in words: digits, then a unit.
pub fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let unit = match text[digits..].trim() {
        "" | "B" => 1,
        "K" | "KiB" | "k" => 1 << 10,
        "M" | "MiB" => 1 << 20,
        "G" | "GiB" => 1 << 30,
        "T" | "TiB" => 1 << 40,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        _ => return None,
    };
    number.checked_mul(unit).filter(|bytes| *bytes <= 1 << 60)
}

/// Where lines begin.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        Self(std::iter::once(0).chain(ends).collect())
    }

    /// The line of a byte, from 1.
    fn line(&self, at: usize) -> usize {
        self.0.partition_point(|begin| *begin <= at)
    }
}

type Refused = (usize, String);

fn entries(
    table: &DeTable<'_>,
    lines: &Lines,
) -> std::result::Result<BTreeMap<String, Value>, Refused> {
    let mut entries = BTreeMap::new();
    for (key, found) in table {
        let line = lines.line(key.span().start);
        let content = content(found.get_ref(), line, lines)?;
        entries.insert(key.get_ref().to_string(), Value { line, content });
    }
    Ok(entries)
}

fn content(
    found: &DeValue<'_>,
    line: usize,
    lines: &Lines,
) -> std::result::Result<Content, Refused> {
    let wrong = |what: &str| (line, format!("'{what}' cannot be used as a number here"));
    Ok(match found {
        DeValue::String(text) => Content::Text(text.to_string()),
        DeValue::Integer(number) => {
            let parsed = i64::from_str_radix(number.as_str(), number.radix());
            Content::Integer(parsed.map_err(|_| wrong(number.as_str()))?)
        }
        DeValue::Float(number) => {
            let parsed = number
                .as_str()
                .parse()
                .map_err(|_| wrong(number.as_str()))?;
            Content::Number(parsed)
        }
        DeValue::Boolean(truth) => Content::Truth(*truth),
        DeValue::Datetime(time) => Content::Text(time.to_string()),
        DeValue::Array(list) => {
            let mut values = Vec::new();
            for value in list {
                let line = lines.line(value.span().start);
                let content = content(value.get_ref(), line, lines)?;
                values.push(Value { line, content });
            }
            Content::List(values)
        }
        DeValue::Table(table) => Content::Table(entries(table, lines)?),
    })
}

#[cfg(test)]
mod tests;
