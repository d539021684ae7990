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

use std::fmt::Write as _;
use std::io::{self, Write};

use super::engine::Column;
use super::field::FieldKind;
use super::value::{Key, Value};

/// Which kind of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Every value is a string.
    Strings,
    /// Values have their own types.
    Strict,
}

pub(super) fn print(
    name: &str,
    columns: &[Column],
    rows: &[Vec<Value>],
    dialect: Dialect,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(
        out,
        "  {{\n      \"report\": [\n          {{\n              \"{name}\": ["
    )?;
    let count = rows.len();
    for (index, row) in rows.iter().enumerate() {
        let members: Vec<String> = columns
            .iter()
            .zip(row)
            .filter(|(column, _)| !column.hidden)
            .map(|(column, value)| format!("\"{}\":{}", column.name, shown(column, value, dialect)))
            .collect();
        let comma = if index + 1 < count { "," } else { "" };
        writeln!(out, "                  {{{}}}{comma}", members.join(", "))?;
    }
    writeln!(out, "              ]\n          }}\n      ]\n  }}")
}

fn shown(column: &Column, value: &Value, dialect: Dialect) -> String {
    if dialect == Dialect::Strings {
        return quoted(&value.text);
    }
    match (&value.key, column.field.map(|field| field.kind)) {
        (Key::List(items), _) => {
            let items: Vec<String> = items.iter().map(|item| quoted(item)).collect();
            format!("[{}]", items.join(","))
        }
        (_, Some(FieldKind::List)) => "[]".into(),
        (Key::Number(_), Some(FieldKind::Time)) => quoted(&value.text),
        (Key::Number(_), Some(FieldKind::Binary(_))) if !is_number(&value.text) => {
            quoted(&value.text)
        }
        (Key::Number(_), _) if value.text.is_empty() => "null".into(),
        (Key::Number(_), _) if is_number(&value.text) => value.text.clone().into_owned(),
        _ => quoted(&value.text),
    }
}

/// Whether the text is a number in JSON's sense.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    all_digits(whole) && all_digits(fraction) && (whole == "0" || !whole.starts_with('0'))
}

/// Text as a string of JSON.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if (c as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
