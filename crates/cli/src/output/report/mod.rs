//! The report engine: rows of fields in, a table or JSON out.
//!
//! ```text
//!   fields (a table of names, headings, kinds and how to read each)
//!      │  columns.rs   -o, -O: which fields, in which order, sorted by what
//!      │  select/      -S: which rows
//!      ▼
//!   Report::push(row)  reads only the fields that are shown, sorted by or selected on
//!      │  layout.rs    columns, turned tables, NAME='value' pairs
//!      ▼  json.rs      LVM2's JSON and the strict kind
//! ```
//!
//! A value is its text and, beside it, what it is compared by: a number, another text, a list.
//! Widths, padding, headings and what is quoted follow LVM2 byte for byte, as scripts read them.
//! Rows are kept until the end (they must be sorted and measured); `--unbuffered` prints each at
//! once.

mod columns;
mod engine;
mod field;
mod json;
mod layout;
mod select;
mod time;
mod value;

pub(crate) use columns::{ColumnError, Columns, Fields};
pub(crate) use engine::{Format, Headings, Quotes, Report, Shape};
pub(crate) use field::{Field, FieldGroup, FieldKind};
pub(crate) use json::{Cell, Dialect, document, next_report, part, part_ends, print_rows, spaced};
pub(crate) use layout::printable;
pub(crate) use select::{Selection, SelectionError};
pub(crate) use time::{Instant, TimeFormat, Zone};
pub(crate) use value::{AUTO, Key, UNDEFINED, Value};
