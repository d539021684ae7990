//! Collects rows, decides which stay, sorts them, and hands them to a layout.

use std::io::{self, Write};

use super::columns::{Columns, Sort};
use super::field::Field;
use super::select::Selection;
use super::value::Value;
use super::{json, layout};

/// The form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Columns.
    Basic,
    /// LVM2's JSON: every value a string.
    Json,
    /// JSON with numbers, nulls and arrays.
    JsonStd,
}

/// The first line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Headings {
    /// None.
    None,
    /// The short headings.
    Abbreviated,
    /// The names of the fields.
    Full,
}

/// How a basic report looks.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    /// Columns, or one of the kinds of JSON.
    pub(crate) format: Format,
    /// The first line.
    pub(crate) headings: Headings,
    /// What stands between columns.
    pub(crate) separator: String,
    /// Whether columns are padded to one width.
    pub(crate) aligned: bool,
    /// What stands between the items of a list.
    pub(crate) list_separator: String,
    /// `LVM2_NAME=value` pairs.
    pub(crate) prefixed: bool,
    /// What stands around the values of such pairs.
    pub(crate) quotes: Quotes,
    /// One line per column instead of per row.
    pub(crate) turned: bool,
    /// Print each row at once, unsorted.
    pub(crate) unbuffered: bool,
}

/// Quotes around the values of `--nameprefixes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quotes {
    /// `NAME='value'`
    Single,
    /// `NAME=value`
    None,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            format: Format::Basic,
            headings: Headings::Abbreviated,
            separator: " ".into(),
            aligned: true,
            list_separator: ",".into(),
            prefixed: false,
            quotes: Quotes::Single,
            turned: false,
            unbuffered: false,
        }
    }
}

/// A column that is printed, and its width so far.
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) heading: &'static str,
    pub(super) field: Option<&'static Field>,
    pub(super) width: usize,
    pub(super) hidden: bool,
}

impl Column {
    fn new(field: Option<&'static Field>, shape: &Shape) -> Self {
        let (name, short, least) = match field {
            Some(field) => (field.name, field.heading, field.width),
            None => ("selected", "Selected", 0),
        };
        let heading = if shape.headings == Headings::Full {
            name
        } else {
            short
        };
        let width = if least == 0 || shape.headings == Headings::Full {
            heading.chars().count()
        } else {
            least
        };
        Self {
            name,
            heading,
            field,
            width,
            hidden: false,
        }
    }

    pub(super) fn is_right_aligned(&self) -> bool {
        self.field.is_none_or(|field| field.kind.is_right_aligned())
    }
}

struct RowOfCells {
    shown: Vec<Value>,
    sorted: Vec<Value>,
}

/// What of JSON stands around a report's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frame {
    /// A document.
    Whole,
    /// The name of the report alone.
    Part,
    /// That of a command's log.
    Log,
}

/// A report under way.
pub(crate) struct Report<'a> {
    name: &'static str,
    columns: &'a Columns,
    selection: Option<&'a Selection>,
    shape: &'a Shape,
    frame: Frame,
    rows: Vec<RowOfCells>,
    out: &'a mut dyn Write,
    headings_done: bool,
}

impl<'a> Report<'a> {
    /// Begins a report; `name` is what JSON calls its rows (`lv`).
    pub(crate) fn new(
        name: &'static str,
        columns: &'a Columns,
        selection: Option<&'a Selection>,
        shape: &'a Shape,
        out: &'a mut dyn Write,
    ) -> Self {
        Self {
            name,
            columns,
            selection,
            shape,
            frame: Frame::Whole,
            rows: Vec::new(),
            out,
            headings_done: false,
        }
    }

    /// The same as a part of a larger report.
    pub(crate) fn within(mut self) -> Self {
        self.frame = Frame::Part;
        self
    }

    /// The same as the log of a command.
    pub(crate) fn of_log(mut self) -> Self {
        self.frame = Frame::Log;
        self
    }

    /// Adds a row; `read` gives the value of a field and is asked only for those that are used.
    pub(crate) fn push(&mut self, mut read: impl FnMut(&'static Field) -> Value) -> io::Result<()> {
        let selected = match self.selection {
            Some(selection) => selection.matches(&mut read),
            None => true,
        };
        let shows_selected = self.columns.shown.iter().any(Option::is_none);
        if !selected && !shows_selected {
            return Ok(());
        }
        let mut value = |field: Option<&'static Field>| match field {
            Some(field) => read(field).separated(&self.shape.list_separator),
            None => Value::number(u64::from(selected)),
        };
        let shown: Vec<Value> = self.columns.shown.iter().copied().map(&mut value).collect();
        let sorted = self
            .columns
            .sorted
            .iter()
            .map(|(field, _)| read(field))
            .collect();
        self.rows.push(RowOfCells { shown, sorted });
        // Columns that become rows are known when all are there.
        let prints_each = self.shape.unbuffered && !self.shape.turned;
        if prints_each && self.shape.format == Format::Basic {
            self.flush()?;
        }
        Ok(())
    }

    /// Sorts and prints.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        if !self.shape.unbuffered {
            let keys = &self.columns.sorted;
            self.rows.sort_by(|a, b| {
                let pairs = a.sorted.iter().zip(&b.sorted).zip(keys);
                pairs
                    .map(|((a, b), (_, sort))| match sort {
                        Sort::Ascending => a.order(b),
                        Sort::Descending => b.order(a),
                    })
                    .find(|order| order.is_ne())
                    .unwrap_or(std::cmp::Ordering::Equal)
            });
        }
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        let rows: Vec<Vec<Value>> = self.rows.drain(..).map(|row| row.shown).collect();
        let columns = self.measured(&rows);
        let dialect = match self.shape.format {
            Format::Basic => {
                if rows.is_empty() && self.frame != Frame::Log {
                    return Ok(());
                }
                let mut shape = self.shape.clone();
                if self.headings_done {
                    shape.headings = Headings::None;
                }
                self.headings_done = true;
                // As in stock, which has measured nothing then.
                shape.aligned &= !(shape.turned && shape.unbuffered);
                return layout::print(&columns, &rows, &shape, self.out);
            }
            Format::Json => json::Dialect::Strings,
            Format::JsonStd => json::Dialect::Strict,
        };
        let rows = json::members(&columns, &rows, dialect);
        match self.frame {
            Frame::Whole => json::print_rows(self.name, rows, self.out),
            Frame::Part => json::print_part(self.name, rows, self.out),
            Frame::Log => json::print_log(self.name, rows, self.out),
        }
    }

    fn measured(&self, rows: &[Vec<Value>]) -> Vec<Column> {
        let columns = self.columns.shown.iter().enumerate();
        columns
            .map(|(index, field)| {
                let mut column = Column::new(*field, self.shape);
                let cells = rows.iter().map(|row| &row[index]);
                let widest = cells.clone().map(|cell| cell.text.chars().count()).max();
                column.width = column.width.max(widest.unwrap_or(0));
                let compacted = field.is_some_and(|field| {
                    self.columns
                        .compacted
                        .iter()
                        .any(|other| other.name == field.name)
                });
                column.hidden = compacted && cells.into_iter().all(|cell| cell.text.is_empty());
                column
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
