//! The basic form: aligned columns, the same turned, `NAME='value'` pairs.
//!
//! Every line begins with two spaces, as all that LVM2 prints. Aligned columns are padded to
//! their width, the last one too; a heading is cut to its column. Control characters, which only
//! a damaged or hostile text can have brought here, are printed as `?`: they would move the
//! reader's cursor or end the line.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

use super::engine::{Column, Headings, Quotes, Shape};
use super::value::Value;

const INDENT: &str = "  ";

pub(super) fn print(
    columns: &[Column],
    rows: &[Vec<Value>],
    shape: &Shape,
    out: &mut dyn Write,
) -> io::Result<()> {
    // Turned tables are for programs: never padded.
    let padded = shape.aligned && !shape.turned;
    if shape.turned {
        return turned(columns, rows, shape, out);
    }
    if shape.headings != Headings::None {
        let mut line = String::new();
        for (column, last) in marked_last(columns) {
            if column.hidden {
                continue;
            }
            heading(&mut line, column, padded);
            if !last {
                line.push_str(&shape.separator);
            }
        }
        writeln!(out, "{INDENT}{line}")?;
    }
    let mut line = String::new();
    for row in rows {
        line.clear();
        let shown = columns.iter().zip(row).filter(|(column, _)| !column.hidden);
        for (index, (column, value)) in shown.enumerate() {
            if index > 0 {
                line.push_str(&shape.separator);
            }
            cell(&mut line, column, value, shape, padded);
        }
        writeln!(out, "{INDENT}{line}")?;
    }
    Ok(())
}

fn turned(
    columns: &[Column],
    rows: &[Vec<Value>],
    shape: &Shape,
    out: &mut dyn Write,
) -> io::Result<()> {
    for (index, column) in columns
        .iter()
        .enumerate()
        .filter(|(_, column)| !column.hidden)
    {
        let mut parts = Vec::with_capacity(rows.len() + 1);
        if shape.headings != Headings::None {
            parts.push(column.heading.to_owned());
        }
        for row in rows {
            let mut part = String::new();
            cell(&mut part, column, &row[index], shape, false);
            parts.push(part);
        }
        writeln!(out, "{INDENT}{}", parts.join(&shape.separator))?;
    }
    Ok(())
}

fn marked_last(columns: &[Column]) -> impl Iterator<Item = (&Column, bool)> {
    let count = columns.len();
    columns
        .iter()
        .enumerate()
        .map(move |(index, column)| (column, index + 1 == count))
}

fn heading(line: &mut String, column: &Column, padded: bool) {
    if padded {
        let width = column.width;
        let _ = write!(line, "{:<width$.width$}", column.heading);
    } else {
        line.push_str(column.heading);
    }
}

fn cell(line: &mut String, column: &Column, value: &Value, shape: &Shape, padded: bool) {
    let text = printable(&value.text);
    let quote = match shape.quotes {
        Quotes::Single if shape.prefixed => "'",
        _ => "",
    };
    if shape.prefixed {
        let name = column.name.to_uppercase();
        let prefix = if name.starts_with("LVM2_") {
            ""
        } else {
            "LVM2_"
        };
        let _ = write!(line, "{prefix}{name}={quote}");
    }
    let width = if padded { column.width } else { 0 };
    let _ = if column.is_right_aligned() {
        write!(line, "{text:>width$}{quote}")
    } else {
        write!(line, "{text:<width$}{quote}")
    };
}

/// The text without control characters.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if text.contains(char::is_control) {
        let shown = |c: char| if c.is_control() { '?' } else { c };
        return text.chars().map(shown).collect();
    }
    Cow::Borrowed(text)
}
