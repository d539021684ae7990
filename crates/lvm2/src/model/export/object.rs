//! One section on its way into the text: its known keys, and between them what the model does not
//! name, each behind the key that it followed.

use alloc::string::String;
use alloc::vec::Vec;

use crate::model::extras::{Extra, Extras};
use crate::text::{Node, Printer, Value};

/// How an entry that the model does not name is written.
pub(super) enum Hint {
    /// Alone.
    None,
    /// In a backup file, with what it means.
    Size(String),
    /// The same, and a blank line behind it.
    SizeAndBlank(String),
}

/// Writes one section's entries.
pub(super) struct Object<'p, 'e> {
    pub(super) printer: &'p mut Printer,
    /// What is still to be written.
    extras: Vec<&'e Extra>,
    /// How an entry that the model does not name is written.
    hint: &'e dyn Fn(&Node<'_>) -> Hint,
}

impl<'p, 'e> Object<'p, 'e> {
    /// Begins inside a section that was just opened.
    pub(super) fn begin(printer: &'p mut Printer, extras: &'e Extras) -> Self {
        Self::begin_with_hints(printer, extras, &|_| Hint::None)
    }

    pub(super) fn begin_with_hints(
        printer: &'p mut Printer,
        extras: &'e Extras,
        hint: &'e dyn Fn(&Node<'_>) -> Hint,
    ) -> Self {
        let mut object = Self {
            printer,
            extras: extras.iter().collect(),
            hint,
        };
        object.extras_after(None);
        object
    }

    pub(super) fn value(&mut self, name: &str, value: &Value) {
        self.printer.value(name, value);
        self.done(name);
    }

    pub(super) fn hinted(&mut self, name: &str, value: &Value<'_>, hint: &str) {
        self.printer.value_hinted(name, value, hint);
        self.done(name);
    }

    pub(super) fn noted(&mut self, name: &str, value: &Value<'_>, note: &str) {
        self.printer.value_noted(name, value, note);
        self.done(name);
    }

    pub(super) fn rows(&mut self, name: &str, values: &[Value<'_>], per_row: usize) {
        self.printer.blank();
        self.printer.rows(name, values, per_row);
        self.done(name);
    }

    pub(super) fn optional_text(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.value(name, &text(value));
        }
    }

    /// Says that `name` was written, if it was not written through this object.
    pub(super) fn done(&mut self, name: &str) {
        self.extras_after(Some(name));
    }

    /// Writes what is left: its key in front is not written any more.
    pub(super) fn end(mut self) {
        for extra in core::mem::take(&mut self.extras) {
            self.extra(extra);
        }
    }

    fn extras_after(&mut self, name: Option<&str>) {
        if self.extras.iter().all(|extra| extra.after != name) {
            return;
        }
        let (now, later) = core::mem::take(&mut self.extras)
            .into_iter()
            .partition(|extra| extra.after == name);
        self.extras = later;
        let now: Vec<_> = now;
        for extra in now {
            self.extra(extra);
        }
    }

    fn extra(&mut self, extra: &Extra) {
        let hint = (self.hint)(&extra.node);
        match (&extra.node, &hint) {
            (Node::Value { name, value }, Hint::Size(size) | Hint::SizeAndBlank(size)) => {
                self.printer.value_hinted(name, value, size);
            }
            (node, _) => self.printer.node(node),
        }
        if matches!(hint, Hint::SizeAndBlank(_)) {
            self.printer.blank();
        }
    }
}

pub(super) fn text(value: &str) -> Value<'_> {
    Value::String(value.into())
}

pub(super) fn number(value: impl Into<u64>) -> Value<'static> {
    Value::Integer(i64::try_from(value.into()).expect("numbers of a text have 63 bits"))
}
