//! One cell: what is printed, and what it is compared by.

use std::borrow::Cow;
use std::cmp::Ordering;

/// The number behind a value that is not known or does not exist; printed as `-1`, `unknown` or
/// nothing. As in LVM2 it sorts behind all others.
pub(crate) const UNDEFINED: u64 = u64::MAX;

/// The number behind a read-ahead of `auto`, as LVM2 stores it.
pub(crate) const AUTO: u64 = u32::MAX as u64;

/// What a value is sorted and selected by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Key {
    /// The printed text.
    Text,
    /// Another text: a hidden volume's name without its brackets.
    Other(String),
    /// A count, bytes for sizes, millionths for percentages, seconds for times.
    Number(u64),
    /// The items of a list.
    List(Vec<String>),
}

/// One cell of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Value {
    /// What is printed.
    pub(crate) text: Cow<'static, str>,
    /// What it is compared by.
    pub(crate) key: Key,
}

impl Value {
    /// A text.
    pub(crate) fn text(text: impl Into<Cow<'static, str>>) -> Self {
        Self {
            text: text.into(),
            key: Key::Text,
        }
    }

    /// A count.
    pub(crate) fn number(number: impl Into<u64>) -> Self {
        let number = number.into();
        Self {
            text: number.to_string().into(),
            key: Key::Number(number),
        }
    }

    /// A number that is printed in its own way.
    pub(crate) fn keyed(text: impl Into<Cow<'static, str>>, number: u64) -> Self {
        Self {
            text: text.into(),
            key: Key::Number(number),
        }
    }

    /// A number that does not exist here; nothing is printed.
    pub(crate) fn no_number() -> Self {
        Self::keyed("", UNDEFINED)
    }

    /// How much `part` is of `whole`, in per cent with two digits; only all of it is 100, and only
    /// nothing is 0.
    pub(crate) fn percent(part: u64, whole: u64) -> Self {
        const ALL: u128 = 100_000_000;
        let millionths = match part {
            0 => 0,
            _ if part >= whole => ALL,
            _ => (u128::from(part) * ALL / u128::from(whole)).clamp(1, ALL - 1),
        };
        // As many hundredths as are printed; some is at least one, and not all at most all but one.
        let hundredths = match millionths {
            0 | ALL => millionths / 10_000,
            _ => ((millionths + 5_000) / 10_000).clamp(1, ALL / 10_000 - 1),
        };
        let text = format!("{}.{:02}", hundredths / 100, hundredths % 100);
        Self::keyed(text, u64::try_from(millionths).expect("it is at most all"))
    }

    /// A list, its items joined by commas in the order given.
    pub(crate) fn list(items: Vec<String>) -> Self {
        Self {
            text: items.join(",").into(),
            key: Key::List(items),
        }
    }

    /// The same, the items of a list joined by `separator`.
    pub(super) fn separated(mut self, separator: &str) -> Self {
        if let Key::List(items) = &self.key
            && separator != ","
        {
            self.text = items.join(separator).into();
        }
        self
    }

    /// The text that comparisons see.
    pub(crate) fn compared_text(&self) -> &str {
        match &self.key {
            Key::Other(text) => text,
            _ => &self.text,
        }
    }

    /// The number that comparisons see; text has none.
    pub(crate) fn compared_number(&self) -> u64 {
        match self.key {
            Key::Number(number) => number,
            _ => UNDEFINED,
        }
    }

    /// The order in which rows are sorted.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        match (&self.key, &other.key) {
            (Key::Number(a), Key::Number(b)) => a.cmp(b),
            _ => self
                .compared_text()
                .as_bytes()
                .cmp(other.compared_text().as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests;
