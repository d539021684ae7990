//! JSON: LVM2's own, where every value is a string, and the strict kind.
//!
//! ```json
//!   {
//!       "report": [
//!           {
//!               "lv": [
//!                   {"lv_name":"root", "lv_size":"4.00m"}
//!               ]
//!           }
//!       ]
//!   }
//! ```
//!
//! Strict means: numbers without quotes (where the text is a number: `--units b --nosuffix` makes
//! sizes numbers), `null` for numbers that do not exist, arrays for lists.

use std::io::{self, Write};

use serde::{Serialize, Serializer};
use serde_json::ser::Formatter;
use serde_json::value::RawValue;

use super::engine::Column;
use super::field::FieldKind;
use super::value::{Key, Value};

/// Which kind of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Every value is a string.
    Strings,
    /// Values have their own types.
    Strict,
}

/// A cell, as its dialect has it.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Cell<'a> {
    /// A string.
    Text(&'a str),
    /// An array of strings.
    List(&'a [String]),
    /// A number, with the digits that the text has.
    Number(Box<RawValue>),
    /// A number that does not exist.
    Null,
}

impl<'a> Cell<'a> {
    /// A number where the text is one, `null` where it is empty.
    pub(crate) fn number(text: &'a str) -> Self {
        let begins = text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
        match RawValue::from_string(text.to_owned()) {
            Ok(number) if begins => Self::Number(number),
            _ if text.is_empty() => Self::Null,
            _ => Self::Text(text),
        }
    }
}

/// The named cells of rows.
pub(super) fn members<'a>(
    columns: &[Column],
    rows: &'a [Vec<Value>],
    dialect: Dialect,
) -> Vec<Vec<(&'static str, Cell<'a>)>> {
    let rows = rows.iter().map(|row| {
        let cells = columns.iter().zip(row);
        let shown = cells.filter(|(column, _)| !column.hidden);
        let members = shown.map(|(column, value)| (column.name, cell(column, value, dialect)));
        members.collect()
    });
    rows.collect()
}

/// Rows of named cells in the frame that stock has around its own.
pub(crate) fn print_rows(
    name: &str,
    rows: Vec<Vec<(&str, Cell<'_>)>>,
    out: &mut dyn Write,
) -> io::Result<()> {
    document(out, |out| {
        part(0, out)?;
        print_part(name, rows, out)?;
        part_ends(out)
    })
}

/// A document of several parts, which `parts` prints.
pub(crate) fn document(
    out: &mut dyn Write,
    parts: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    writeln!(out, "  {{\n      \"report\": [")?;
    parts(out)?;
    writeln!(out, "      ]\n  }}")
}

/// Begins a part, the first of which has the index 0.
pub(crate) fn part(index: usize, out: &mut dyn Write) -> io::Result<()> {
    let comma = if index > 0 { "          ,\n" } else { "" };
    writeln!(out, "{comma}          {{")
}

/// Ends a part.
pub(crate) fn part_ends(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "          }}")
}

/// What stands between two reports of a part.
pub(crate) fn next_report(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "              ,")
}

/// Rows of named cells, in a part.
pub(super) fn print_part(
    name: &str,
    rows: Vec<Vec<(&str, Cell<'_>)>>,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "              \"{name}\": [")?;
    let count = rows.len();
    for (index, row) in rows.into_iter().enumerate() {
        let comma = if index + 1 < count { "," } else { "" };
        writeln!(out, "                  {}{comma}", spaced(&Row(row)))?;
    }
    writeln!(out, "              ]")
}

/// Rows of named cells as the only thing of a document.
pub(super) fn print_log(
    name: &str,
    rows: Vec<Vec<(&str, Cell<'_>)>>,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "  {{\n      \"{name}\": [")?;
    let count = rows.len();
    for (index, row) in rows.into_iter().enumerate() {
        let comma = if index + 1 < count { "," } else { "" };
        writeln!(out, "          {}{comma}", spaced(&Row(row)))?;
    }
    writeln!(out, "      ]\n  }}")
}

fn cell<'a>(column: &Column, value: &'a Value, dialect: Dialect) -> Cell<'a> {
    let text = &*value.text;
    if dialect == Dialect::Strings {
        return Cell::Text(text);
    }
    match (&value.key, column.field.map(|field| field.kind)) {
        (Key::List(items), _) => Cell::List(items),
        (_, Some(FieldKind::List)) => Cell::List(&[]),
        (Key::Number(_), Some(FieldKind::Time)) => Cell::Text(text),
        (Key::Number(_), Some(FieldKind::Binary(_))) if text.is_empty() => Cell::Text(text),
        (Key::Number(_), _) => Cell::number(text),
        _ => Cell::Text(text),
    }
}

/// Members in their order.
struct Row<'a>(Vec<(&'a str, Cell<'a>)>);

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(name, cell)| (name, cell)))
    }
}

/// A value on one line, with a space between members, as stock has it.
pub(crate) fn spaced(value: &impl Serialize) -> String {
    let mut line = Vec::new();
    let mut to = serde_json::Serializer::with_formatter(&mut line, Spaced);
    value
        .serialize(&mut to)
        .expect("memory takes all that is written");
    String::from_utf8(line).expect("JSON is UTF-8")
}

struct Spaced;

impl Formatter for Spaced {
    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        out.write_all(if first { b"" } else { b", " })
    }
}
