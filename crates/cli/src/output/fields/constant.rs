//! Readers of values that are the same for every row: what only a running kernel could know.

use crate::output::Binary;
use crate::output::report::{UNDEFINED, Value};
use crate::output::{Row, Style};

pub(super) fn blank(_: &Row<'_>, _: &Style) -> Value {
    Value::text("")
}

pub(super) fn no_list(_: &Row<'_>, _: &Style) -> Value {
    Value::list(Vec::new())
}

pub(super) fn no_number(_: &Row<'_>, _: &Style) -> Value {
    Value::no_number()
}

pub(super) fn minus_one(_: &Row<'_>, _: &Style) -> Value {
    Value::keyed("-1", UNDEFINED)
}

pub(super) fn not_set(_: &Row<'_>, style: &Style) -> Value {
    binary(style, false, "")
}

pub(super) fn not_known(_: &Row<'_>, style: &Style) -> Value {
    match style.binary {
        Binary::Words => Value::keyed("unknown", UNDEFINED),
        Binary::Numbers => Value::keyed("-1", UNDEFINED),
    }
}

/// A column that is set (the word, or 1) or not (nothing, or 0).
pub(super) fn binary(style: &Style, set: bool, word: &'static str) -> Value {
    let text = match (style.binary, set) {
        (Binary::Words, true) => word,
        (Binary::Words, false) => "",
        (Binary::Numbers, true) => "1",
        (Binary::Numbers, false) => "0",
    };
    Value::keyed(text, u64::from(set))
}

/// A size of `sectors` sectors, compared in bytes.
pub(super) fn size(style: &Style, sectors: u64) -> Value {
    Value::keyed(style.sectors(sectors), sectors.saturating_mul(512))
}

/// A text that may be absent.
pub(super) fn optional(text: Option<&str>) -> Value {
    Value::text(text.unwrap_or_default().to_owned())
}

/// Tags and the like: sorted, joined by commas.
pub(super) fn sorted_list(items: &[String]) -> Value {
    let mut items = items.to_vec();
    items.sort();
    Value::list(items)
}
