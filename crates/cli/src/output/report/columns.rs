//! `-o` and `-O`: which fields are shown, and which order the rows have.
//!
//! A field is found by its name without regard to underscores and case, with or without the
//! prefix of the report it is asked for (`lvs -o name` is `lv_name`). `lv_all` and its kin stand
//! for all fields of a group, and `all` for those of the report's groups and of the groups of what
//! is shown or sorted by beside it.

use std::fmt;

use super::field::{Field, FieldGroup};
use crate::args::nearest;

/// All fields, in tables.
pub(crate) type Fields = &'static [&'static [Field]];

/// A field list that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ColumnError {
    /// There is no such field.
    Unknown {
        /// What was typed.
        name: String,
        /// What may have been meant.
        nearest: Option<&'static str>,
    },
    /// Nothing is left, or nothing was asked for.
    Empty(String),
    /// `help` or `?` was asked for.
    Help,
}

impl fmt::Display for ColumnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name, nearest } => {
                write!(f, "Unrecognised field: {name}")?;
                if let Some(nearest) = nearest {
                    write!(f, " (did you mean {nearest}?)")?;
                }
                f.write_str("; `-o help' lists all fields")
            }
            Self::Empty(list) => write!(f, "Invalid options string: {list}"),
            Self::Help => f.write_str("the list of fields was asked for"),
        }
    }
}

impl std::error::Error for ColumnError {}

/// Ascending or descending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    /// Smallest first.
    Ascending,
    /// Largest first.
    Descending,
}

/// The result of all `-o` and the last `-O`.
#[derive(Debug, Clone)]
pub(crate) struct Columns {
    /// What is shown, in this order. Nothing stands for the pseudo-field `selected`.
    pub(crate) shown: Vec<Option<&'static Field>>,
    /// Shown fields to leave out where all their values are empty.
    pub(crate) compacted: Vec<&'static Field>,
    /// What the rows are sorted by.
    pub(crate) sorted: Vec<(&'static Field, Sort)>,
}

impl Columns {
    /// Resolves `-o` lists (in their order) and the `-O` list against the fields.
    ///
    /// `prefix` is that of the report (`lv_`), `own` the groups that it is about, `default` its
    /// default columns.
    pub(crate) fn resolve<'a>(
        fields: Fields,
        (prefix, own): (&str, &[FieldGroup]),
        default: &str,
        options: impl Iterator<Item = &'a str>,
        sort: &str,
    ) -> Result<Self, ColumnError> {
        let lookup = Lookup { fields, prefix };
        let options: Vec<&str> = options.collect();
        if options.iter().any(|list| list.is_empty()) {
            return Err(ColumnError::Empty(String::new()));
        }
        let mut shown = lookup.list(default)?;
        let mut compacted = Vec::new();
        for list in options {
            if let Some(added) = list.strip_prefix('+') {
                shown.extend(lookup.list(added)?);
            } else if let Some(removed) = list.strip_prefix('-') {
                // A field that there is not is not shown either.
                for name in removed.split(',') {
                    match lookup.list(name) {
                        Ok(removed) => shown.retain(|entry| !removed.contains(entry)),
                        Err(ColumnError::Help) => return Err(ColumnError::Help),
                        Err(_) => {}
                    }
                }
            } else if let Some(empty) = list.strip_prefix('#') {
                compacted = lookup.list(empty)?;
            } else {
                shown = lookup.list(list)?;
            }
        }
        let sorted = lookup.keys(sort)?;
        let named = shown.iter().filter_map(|entry| match entry {
            Entry::One(field) => *field,
            Entry::All(..) | Entry::Everything => None,
        });
        let beside = named.chain(sorted.iter().map(|(field, _)| *field));
        let beside: Vec<FieldGroup> = beside.map(|field| field.group).collect();
        let everything: Vec<&'static Field> = lookup
            .all()
            .filter(|field| own.contains(&field.group) || beside.contains(&field.group))
            .collect();
        let expanded = |entries: Vec<Entry>| {
            let fields = entries.into_iter().map(|entry| entry.fields(&everything));
            fields.collect::<Vec<_>>().concat()
        };
        Ok(Self {
            shown: expanded(shown),
            compacted: expanded(compacted).into_iter().flatten().collect(),
            sorted,
        })
    }

    /// The same with every column left out where it is empty.
    pub(crate) fn all_compacted(mut self) -> Self {
        self.compacted = self.shown.iter().copied().flatten().collect();
        self
    }
}

/// One word of a list. Taking a field away does not take it out of an `…_all`: stock works with
/// words, and scripts count columns.
#[derive(Clone)]
enum Entry {
    One(Option<&'static Field>),
    All(String, Vec<&'static Field>),
    Everything,
}

impl Entry {
    fn fields(self, everything: &[&'static Field]) -> Vec<Option<&'static Field>> {
        match self {
            Self::Everything => everything.iter().copied().map(Some).collect(),
            Self::One(field) => vec![field],
            Self::All(_, fields) => fields.into_iter().map(Some).collect(),
        }
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        let name = |field: Option<&'static Field>| field.map(|field| field.name);
        match (self, other) {
            (Self::One(a), Self::One(b)) => name(*a) == name(*b),
            (Self::All(a, _), Self::All(b, _)) => a == b,
            (Self::Everything, Self::Everything) => true,
            _ => false,
        }
    }
}

/// Finds fields by what people type.
#[derive(Clone, Copy)]
pub(super) struct Lookup<'a> {
    pub(super) fields: Fields,
    pub(super) prefix: &'a str,
}

impl Lookup<'_> {
    /// The field called `name`; nothing if there is none.
    pub(super) fn field(&self, name: &str) -> Option<&'static Field> {
        let wanted = plain(name);
        let prefixed = plain(self.prefix) + &wanted;
        let unprefixed = wanted.strip_prefix(&plain(self.prefix));
        let find = |wanted: &str| {
            self.all()
                .find(|field| letters(field.name).eq(wanted.chars()))
        };
        find(&wanted)
            .or_else(|| find(&prefixed))
            .or_else(|| unprefixed.and_then(find))
    }

    fn list(&self, list: &str) -> Result<Vec<Entry>, ColumnError> {
        let mut found = Vec::new();
        for name in list.split(',').filter(|name| !name.is_empty()) {
            if name == "help" || name == "?" {
                return Err(ColumnError::Help);
            }
            if name == "selected" {
                found.push(Entry::One(None));
            } else if let Some(field) = self.field(name) {
                found.push(Entry::One(Some(field)));
            } else if plain(name) == "all" {
                found.push(Entry::Everything);
            } else if let Some(group) = self.all_of(name) {
                found.push(Entry::All(plain(name), group.collect()));
            } else {
                return Err(self.unknown(name));
            }
        }
        Ok(found)
    }

    /// The fields behind `lv_all`, `vg_all` and their kin.
    fn all_of(&self, name: &str) -> Option<impl Iterator<Item = &'static Field> + use<>> {
        let stem = plain(name).strip_suffix("all")?.to_owned() + "_";
        let known = self.all().any(|field| field.group.prefix() == stem);
        known.then(|| self.all().filter(move |field| field.group.prefix() == stem))
    }

    fn all(&self) -> impl Iterator<Item = &'static Field> + use<> {
        self.fields.iter().copied().flatten()
    }

    fn keys(&self, list: &str) -> Result<Vec<(&'static Field, Sort)>, ColumnError> {
        let mut keys = Vec::new();
        for name in list.split(',').filter(|name| !name.is_empty()) {
            let (name, sort) = match name.strip_prefix('-') {
                Some(name) => (name, Sort::Descending),
                None => (name.strip_prefix('+').unwrap_or(name), Sort::Ascending),
            };
            if name == "help" || name == "?" {
                return Err(ColumnError::Help);
            }
            keys.push((self.field(name).ok_or_else(|| self.unknown(name))?, sort));
        }
        Ok(keys)
    }

    fn unknown(&self, name: &str) -> ColumnError {
        let nearest = nearest(name, self.all().map(|field| field.name));
        ColumnError::Unknown {
            name: name.to_owned(),
            nearest,
        }
    }
}

fn plain(name: &str) -> String {
    letters(name).collect()
}

/// What counts of a name. Looking up a name compares it with hundreds: none of them is copied.
fn letters(name: &str) -> impl Iterator<Item = char> {
    name.chars()
        .filter(|c| *c != '_')
        .map(|c| c.to_ascii_lowercase())
}
