//! Fields of the log of a command: what it said, about what.

use super::catalogue::fields;
use crate::output::Row;
use crate::output::report::{FieldKind, Value};

const TEXT: FieldKind = FieldKind::Text;
const NUMBER: FieldKind = FieldKind::Number;

/// What a command does when it says something.
const CONTEXT: &str = "processing";

/// What something is said about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LogObject {
    /// `vg`, `lv`, `pv`; empty: nothing in particular.
    pub(crate) kind: &'static str,
    /// Its name.
    pub(crate) name: String,
    /// Its UUID.
    pub(crate) id: String,
    /// The group that it is in, and its UUID.
    pub(crate) group: (String, String),
}

/// What is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogKind {
    /// That something failed.
    Error,
    /// What should be known.
    Warning,
    /// How it ended for one object.
    Failure,
}

/// One line of a log.
#[derive(Debug, Clone)]
pub(crate) struct LogEntry {
    /// Its number; those of what went well are left out.
    pub(crate) number: u64,
    /// What kind of line it is.
    pub(crate) kind: LogKind,
    /// What it is about.
    pub(crate) object: LogObject,
    /// What is said.
    pub(crate) message: String,
}

fields! { FIELDS of Log {
    "log_seq_num" "Seq" NUMBER, 3,
        |row, _| Value::number(row.log.map_or(0, |entry| entry.number)), "Log sequence number.";
    "log_type" "LogType" TEXT, 0, |row, _| text(row, |entry| entry.kind.name()), "Log type.";
    "log_context" "Context" TEXT, 0, |row, _| text(row, |_| CONTEXT), "Current context.";
    "log_object_type" "ObjType" TEXT, 0,
        |row, _| text(row, |entry| entry.object.kind), "Current object type.";
    "log_object_name" "ObjName" TEXT, 0,
        |row, _| text(row, |entry| &entry.object.name), "Current object name.";
    "log_object_id" "ObjID" TEXT, 7,
        |row, _| text(row, |entry| &entry.object.id), "Current object ID.";
    "log_object_group" "ObjGrp" TEXT, 7,
        |row, _| text(row, |entry| &entry.object.group.0), "Current object group.";
    "log_object_group_id" "ObjGrpID" TEXT, 0,
        |row, _| text(row, |entry| &entry.object.group.1), "Current object group ID.";
    "log_message" "Msg" TEXT, 7, |row, _| text(row, |entry| &entry.message), "Log message.";
    "log_errno" "Errno" NUMBER, 0,
        |row, _| number(row, |entry| if entry.kind == LogKind::Warning { 0 } else { -1 }), "Errno.";
    "log_ret_code" "RetCode" NUMBER, 0,
        |row, _| number(row, |entry| if entry.kind == LogKind::Failure { 5 } else { 0 }),
        "Return code.";
} }

impl LogKind {
    fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warn",
            Self::Failure => "status",
        }
    }
}

fn text(row: &Row<'_>, read: fn(&LogEntry) -> &str) -> Value {
    Value::text(row.log.map_or("", read).to_owned())
}

fn number(row: &Row<'_>, read: fn(&LogEntry) -> i64) -> Value {
    let number = row.log.map_or(0, read);
    Value::keyed(number.to_string(), number.unsigned_abs())
}
