//! Follows a description of fields: reads their values, or writes them.

use std::fmt::Write;

use crate::disk::profile::Habit;
use crate::error::{Error, Kind, Result};
use crate::settings::Table;

/// Reads into fields what a table has, or writes what the fields have.
pub(super) enum Pen {
    Reading(Table),
    Writing { text: String, path: String },
}

impl Pen {
    pub(super) fn writing() -> Self {
        Self::Writing {
            text: String::new(),
            path: String::new(),
        }
    }

    pub(super) fn reading(table: Table) -> Self {
        Self::Reading(table)
    }

    /// What was written.
    pub(super) fn into_text(self) -> String {
        match self {
            Self::Writing { text, .. } => text,
            Self::Reading(_) => String::new(),
        }
    }

    /// Refuses fields that nobody asked for.
    pub(super) fn finish(self) -> Result<()> {
        match self {
            Self::Reading(table) => table.finish(),
            Self::Writing { .. } => Ok(()),
        }
    }

    /// An error about a field.
    pub(super) fn error(&self, key: &str, problem: &str) -> Error {
        match self {
            Self::Reading(table) => table.error(key, problem),
            Self::Writing { .. } => Error::new(Kind::Impossible, format!("{key}: {problem}")),
        }
    }

    /// One field: `read` takes it out of a table, `written` is its value as TOML.
    fn field<T>(
        &mut self,
        key: &str,
        field: &mut T,
        read: impl FnOnce(&mut Table) -> Result<Option<T>>,
        written: impl FnOnce(&T) -> String,
    ) -> Result<()> {
        match self {
            Self::Reading(table) => {
                if let Some(value) = read(table)? {
                    *field = value;
                }
            }
            Self::Writing { text, .. } => {
                // Writing to memory does not fail.
                let _ = writeln!(text, "{key} = {}", written(field));
            }
        }
        Ok(())
    }

    pub(super) fn text(&mut self, key: &str, field: &mut String) -> Result<()> {
        self.field(key, field, |table| table.text(key), |text| quoted(text))
    }

    /// A whole number from 0.
    pub(super) fn count<T>(&mut self, key: &str, field: &mut T) -> Result<()>
    where
        T: TryFrom<u64> + std::fmt::Display,
    {
        let read = |table: &mut Table| match table.count(key)? {
            None => Ok(None),
            Some(number) => match T::try_from(number) {
                Ok(number) => Ok(Some(number)),
                Err(_) => Err(table.error(key, format!("{number} is too large"))),
            },
        };
        self.field(key, field, read, ToString::to_string)
    }

    pub(super) fn size(&mut self, key: &str, field: &mut usize) -> Result<()> {
        self.count(key, field)
    }

    /// A whole number or nothing.
    pub(super) fn optional_count(&mut self, key: &str, field: &mut Option<u64>) -> Result<()> {
        if matches!(self, Self::Writing { .. }) && field.is_none() {
            return Ok(());
        }
        let read = |table: &mut Table| Ok(table.count(key)?.map(Some));
        self.field(key, field, read, |number| {
            number.unwrap_or_default().to_string()
        })
    }

    /// A whole number, perhaps below 0.
    pub(super) fn signed(&mut self, key: &str, field: &mut i64) -> Result<()> {
        let read = |table: &mut Table| match table.number(key)? {
            None => Ok(None),
            Some(number) if number.fract() == 0.0 && number.abs() < 9e15 => Ok(Some(number as i64)),
            Some(_) => Err(table.error(key, "a whole number is expected")),
        };
        self.field(key, field, read, ToString::to_string)
    }

    pub(super) fn number(&mut self, key: &str, field: &mut f64) -> Result<()> {
        // As short as it can be while it means the same number again.
        self.field(
            key,
            field,
            |table| table.number(key),
            |number| format!("{number:?}"),
        )
    }

    pub(super) fn habit(&mut self, key: &str, field: &mut Habit) -> Result<()> {
        let read = |table: &mut Table| {
            if !table.has(key) {
                return Ok(None);
            }
            let yes = table.truth(key)?;
            Ok(Some(if yes { Habit::Yes } else { Habit::No }))
        };
        self.field(key, field, read, |habit| habit.is_yes().to_string())
    }

    /// One of several, each with a name.
    pub(super) fn word<T: Copy + PartialEq>(
        &mut self,
        key: &str,
        field: &mut T,
        names: &[(&str, T)],
    ) -> Result<()> {
        let read = |table: &mut Table| {
            let Some(word) = table.text(key)? else {
                return Ok(None);
            };
            let known = names.iter().find(|(name, _)| *name == word);
            known.map(|(_, value)| Some(*value)).ok_or_else(|| {
                let known: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
                table.error(key, format!("one of {} is expected", known.join(", ")))
            })
        };
        self.field(key, field, read, |value| {
            let name = names.iter().find(|(_, other)| other == value);
            quoted(name.map_or("", |(name, _)| name))
        })
    }

    /// A list of whole numbers.
    pub(super) fn counts(&mut self, key: &str, field: &mut Vec<u64>) -> Result<()> {
        if matches!(self, Self::Writing { .. }) && field.is_empty() {
            return Ok(());
        }
        let read = |table: &mut Table| match table.numbers(key)? {
            None => Ok(None),
            Some(numbers) => numbers
                .into_iter()
                .map(|number| whole(table, key, number))
                .collect::<Result<Vec<u64>>>()
                .map(Some),
        };
        self.field(key, field, read, |numbers| list(numbers.iter().copied()))
    }

    /// A list of pairs, one after the other.
    pub(super) fn pairs<A>(&mut self, key: &str, field: &mut Vec<(A, u64)>) -> Result<()>
    where
        A: TryFrom<u64> + Into<u64> + Copy,
    {
        let mut flat: Vec<u64> = Vec::with_capacity(field.len() * 2);
        flat.extend(field.iter().flat_map(|&(one, other)| [one.into(), other]));
        self.counts(key, &mut flat)?;
        if let Self::Reading(table) = self {
            let odd = || table.error(key, "pairs of whole numbers are expected");
            let (pairs, rest) = flat.as_chunks::<2>();
            if !rest.is_empty() {
                return Err(odd());
            }
            *field = pairs
                .iter()
                .map(|&[one, other]| Ok((A::try_from(one).map_err(|_| odd())?, other)))
                .collect::<Result<_>>()?;
        }
        Ok(())
    }

    /// Fields of a table of their own; one that is not there has none of them.
    pub(super) fn section(
        &mut self,
        key: &str,
        act: impl FnOnce(&mut Pen) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Reading(table) => match table.table(key)? {
                None => Ok(()),
                Some(inner) => {
                    let mut pen = Pen::reading(inner);
                    act(&mut pen)?;
                    pen.finish()
                }
            },
            Self::Writing { text, path } => {
                let inner = within(path, key);
                let _ = writeln!(text, "\n[{inner}]");
                Self::written(text, inner, act)
            }
        }
    }

    /// A section that may not be there.
    pub(super) fn optional<T: Default>(
        &mut self,
        key: &str,
        field: &mut Option<T>,
        act: impl FnOnce(&mut Pen, &mut T) -> Result<()>,
    ) -> Result<()> {
        let there = match self {
            Self::Reading(table) => table.has(key),
            Self::Writing { .. } => field.is_some(),
        };
        if !there {
            return Ok(());
        }
        let value = field.get_or_insert_default();
        self.section(key, |pen| act(pen, value))
    }

    /// A list of sections.
    pub(super) fn sections<T: Default>(
        &mut self,
        key: &str,
        field: &mut Vec<T>,
        act: impl Fn(&mut Pen, &mut T) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Reading(table) => {
                for inner in table.tables(key)? {
                    let mut pen = Pen::reading(inner);
                    let mut value = T::default();
                    act(&mut pen, &mut value)?;
                    pen.finish()?;
                    field.push(value);
                }
            }
            Self::Writing { text, path } => {
                let inner = within(path, key);
                for value in field {
                    let _ = writeln!(text, "\n[[{inner}]]");
                    Self::written(text, inner.clone(), |pen| act(pen, value))?;
                }
            }
        }
        Ok(())
    }

    /// Lets `act` write on, inside `path`.
    fn written(
        text: &mut String,
        path: String,
        act: impl FnOnce(&mut Pen) -> Result<()>,
    ) -> Result<()> {
        let mut pen = Self::Writing {
            text: std::mem::take(text),
            path,
        };
        let result = act(&mut pen);
        *text = pen.into_text();
        result
    }
}

fn within(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

fn whole(table: &Table, key: &str, number: f64) -> Result<u64> {
    // Beyond this not every whole number is a float.
    if number.fract() == 0.0 && (0.0..9e15).contains(&number) {
        Ok(number as u64)
    } else {
        Err(table.error(key, "whole numbers from 0 are expected"))
    }
}

fn list(numbers: impl Iterator<Item = u64>) -> String {
    let words: Vec<String> = numbers.map(|number| number.to_string()).collect();
    format!("[{}]", words.join(", "))
}

/// A text as TOML has it.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", c as u32);
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
