//! Typed access to the values of one section, with messages that name the key.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::as_slice;
use crate::model::flags::{Flag, Flags, Place};
use crate::text::{Section, Value};
use crate::{Error, Kind, Result, Uuid};

/// Stands for a time that cannot be: 24 May 2018, the day that stock chose.
const TIME_REPAIRED: u64 = 1_527_120_000;

/// The values of one section.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a> {
    section: &'a Section<'a>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(section: &'a Section<'a>) -> Self {
        Self { section }
    }

    pub(super) fn has(self, name: &str) -> bool {
        self.section.value(name).is_some()
    }

    pub(super) fn section(self, name: &str) -> Result<&'a Section<'a>> {
        self.section.section(name).ok_or_else(|| missing(name))
    }

    pub(super) fn optional_i64(self, name: &str) -> Result<Option<i64>> {
        match self.section.value(name) {
            None => Ok(None),
            Some(Value::Integer(number)) => Ok(Some(*number)),
            Some(_) => Err(wrong(name, "a number")),
        }
    }

    pub(super) fn optional_u64(self, name: &str) -> Result<Option<u64>> {
        let number = self.optional_i64(name)?;
        number
            .map(|number| u64::try_from(number).map_err(|_| negative(name, number)))
            .transpose()
    }

    /// A time, in seconds; one that is impossible becomes [`TIME_REPAIRED`], as stock repairs it.
    pub(super) fn time(self, name: &str) -> Result<Option<u64>> {
        let number = self.optional_i64(name)?;
        Ok(number.map(|number| u64::try_from(number).unwrap_or(TIME_REPAIRED)))
    }

    pub(super) fn optional_u32(self, name: &str) -> Result<Option<u32>> {
        let number = self.optional_u64(name)?;
        number
            .map(|number| u32::try_from(number).map_err(|_| too_large(name, number)))
            .transpose()
    }

    pub(super) fn u64(self, name: &str) -> Result<u64> {
        self.optional_u64(name)?.ok_or_else(|| missing(name))
    }

    pub(super) fn u32(self, name: &str) -> Result<u32> {
        self.optional_u32(name)?.ok_or_else(|| missing(name))
    }

    pub(super) fn optional_str(self, name: &str) -> Result<Option<&'a str>> {
        match self.section.value(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(wrong(name, "a string")),
        }
    }

    pub(super) fn str(self, name: &str) -> Result<&'a str> {
        self.optional_str(name)?.ok_or_else(|| missing(name))
    }

    pub(super) fn owned(self, name: &str) -> Result<Option<String>> {
        Ok(self.optional_str(name)?.map(str::to_owned))
    }

    pub(super) fn uuid(self, name: &str) -> Result<Uuid> {
        self.str(name)?
            .parse()
            .map_err(|error: Error| error.within(name))
    }

    /// An array, or a single value; `None` where there is neither.
    pub(super) fn list(self, name: &str) -> Option<&'a [Value<'a>]> {
        self.section.value(name).map(as_slice)
    }

    pub(super) fn strings(self, name: &str) -> Result<Vec<String>> {
        let items = self.list(name).unwrap_or_default().iter();
        items
            .map(|item| string(name, item).map(str::to_owned))
            .collect()
    }

    /// `status`, which must be there, and `flags`, which need not.
    pub(super) fn flags<F: Flag>(self) -> Result<Flags<F>> {
        let mut flags = Flags::default();
        for item in self.list("status").ok_or_else(|| missing("status"))? {
            flags.insert_name(Place::Status, string("status", item)?);
        }
        for item in self.list("flags").unwrap_or_default() {
            flags.insert_name(Place::Compatible, string("flags", item)?);
        }
        Ok(flags)
    }
}

fn string<'a>(name: &str, item: &'a Value<'_>) -> Result<&'a str> {
    match item {
        Value::String(text) => Ok(text),
        _ => Err(wrong(name, "a list of strings")),
    }
}

pub(super) fn missing(name: &str) -> Error {
    Error::new(Kind::Model, format!("{name} is missing"))
}

pub(super) fn wrong(name: &str, expected: &str) -> Error {
    Error::new(Kind::Model, format!("{name} is not {expected}"))
}

fn negative(name: &str, number: i64) -> Error {
    Error::new(
        Kind::Model,
        format!("{name} is {number}, and cannot be negative"),
    )
}

fn too_large(name: &str, number: u64) -> Error {
    Error::new(
        Kind::Model,
        format!("{name} is {number}, and cannot be more than {}", u32::MAX),
    )
}
