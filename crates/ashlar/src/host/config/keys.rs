//! The table of all settings: those that LVM2 has, and Ashlar's own.
//!
//! `keys.txt` holds one line for each: its type, its default, since when LVM2 has it, and what it
//! does here. Code asks for settings through [`super::Config::value`], which knows no others, so
//! that the table cannot fall behind the code; `docs/configuration.md` is made from it.
//!
//! The defaults are what stock LVM2 says. They are told to people; code has its own beside the
//! place that needs it.

use std::sync::OnceLock;

use lvm2::text::Value;

/// The table, as people write it.
const TEXT: &str = include_str!("keys.txt");

/// One setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Such as `devices/filter`. A part in `<>` stands for a name of choice.
    pub path: &'static str,
    /// What its value is.
    pub kind: KeyKind,
    /// Since which release LVM2 has it; `-` if it is Ashlar's own.
    pub since: &'static str,
    /// Marks of the table, such as `advanced`, with commas between; `-` for none.
    pub marks: &'static str,
    /// What it does here.
    pub state: KeyState,
    /// Stock's default in the notation of configuration files, or `undefined`.
    pub default: &'static str,
}

/// What a value has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// 0 or 1, or a word for them.
    Boolean,
    /// A whole number.
    Integer,
    /// One text, in quotes.
    String,
    /// An array of strings, or a single one.
    Strings,
    /// An array of strings and numbers.
    Array,
    /// Its reader says what it takes.
    Any,
}

/// What a setting does here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyState {
    /// Code asks for it.
    Read,
    /// It never will do anything, for this reason.
    NoEffect(&'static str),
}

/// All settings, in the order of the table.
pub(super) fn all() -> &'static [Key] {
    static KEYS: OnceLock<Vec<Key>> = OnceLock::new();
    KEYS.get_or_init(|| {
        let keys: Vec<Key> = lines()
            .map(|line| parse(line).expect("the table"))
            .collect();
        debug_assert!(
            keys.iter().all(|key| key.path.contains('/')),
            "every setting stands in a section"
        );
        keys
    })
}

/// The setting that code means by `path`.
pub(super) fn find(path: &str) -> Option<&'static Key> {
    all().iter().find(|key| key.path == path)
}

/// The lines of the table that hold settings.
fn lines() -> impl Iterator<Item = &'static str> {
    TEXT.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn parse(line: &'static str) -> Result<Key, String> {
    let mut cells = line.splitn(6, " | ");
    let mut cell = || cells.next().ok_or_else(|| format!("{line}: six cells"));
    let (path, kind, since, marks, state, default) =
        (cell()?, cell()?, cell()?, cell()?, cell()?, cell()?);
    let kind = KeyKind::from_name(kind).ok_or_else(|| format!("{path}: no type {kind}"))?;
    let state = KeyState::from_name(state).ok_or_else(|| format!("{path}: no state {state}"))?;
    Ok(Key {
        path,
        kind,
        since,
        marks,
        state,
        default,
    })
}

impl Key {
    /// Whether the table marks it so.
    pub fn has_mark(&self, mark: &str) -> bool {
        self.marks.split(',').any(|own| own == mark)
    }

    /// Whether an empty string is a value of it.
    pub(super) fn may_be_empty(&self) -> bool {
        self.has_mark("may-be-empty")
    }

    /// The release of LVM2 that gave it up, if one did.
    pub fn given_up_in(&self) -> Option<&'static str> {
        let KeyState::NoEffect(reason) = self.state else {
            return None;
        };
        reason.strip_prefix("deprecated by LVM2 since ")
    }
}

impl KeyKind {
    const ALL: [(Self, &'static str); 6] = [
        (Self::Boolean, "boolean"),
        (Self::Integer, "integer"),
        (Self::String, "string"),
        (Self::Strings, "strings"),
        (Self::Array, "array"),
        (Self::Any, "any"),
    ];

    fn from_name(name: &str) -> Option<Self> {
        let of_name = |(_, known): &&(Self, &str)| *known == name;
        Self::ALL.iter().find(of_name).map(|(kind, _)| *kind)
    }

    /// Its word in the table.
    pub fn name(self) -> &'static str {
        let known = Self::ALL.iter().find(|(kind, _)| *kind == self);
        known.expect("every kind has a name").1
    }

    /// Whether `value` is one.
    pub fn admits(self, value: &Value<'_>) -> bool {
        match (self, value) {
            (Self::Any, _)
            | (Self::Array | Self::Strings, Value::Array(_) | Value::String(_))
            | (Self::String, Value::String(_))
            | (Self::Boolean | Self::Integer, Value::Integer(_)) => true,
            (Self::Boolean, Value::String(word)) => {
                let words = [
                    "y", "yes", "on", "true", "n", "no", "off", "false", "0", "1",
                ];
                words.contains(&&**word)
            }
            _ => false,
        }
    }
}

impl KeyState {
    fn from_name(name: &'static str) -> Option<Self> {
        match name {
            "read" => Some(Self::Read),
            other => other
                .strip_prefix("no effect: ")
                .filter(|reason| !reason.is_empty())
                .map(Self::NoEffect),
        }
    }
}

#[cfg(test)]
mod tests;
