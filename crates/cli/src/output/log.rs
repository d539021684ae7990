//! The log of decisions on standard error: `-v` behind four spaces, `-d` and `-vv` behind six, as
//! stock indents it.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use ashlar::log::{Level, Log, start};

use super::harmless;
use super::records::{Weight, keeps_details, record};
use crate::args::{Arguments, flags};

/// Shows the log that the options ask for, if they do, until it is dropped; what records want of
/// it goes there.
pub(crate) fn on_stderr(arguments: &Arguments) -> Option<Log> {
    let shown_to = level(arguments);
    let sink = move |level, line: &str| {
        if Some(level) <= shown_to {
            // Nobody can be told that standard error is closed.
            let _ = io::stderr().write_all(shown(level, line).as_bytes());
        }
        record(weight(level), line);
    };
    let kept = keeps_details().then_some(Level::Debug);
    Some(start(shown_to.max(kept)?, Box::new(sink)))
}

/// The same, collected for somebody else's standard error.
pub(crate) fn collected(arguments: &Arguments) -> (Option<Log>, Rc<RefCell<String>>) {
    let lines = Rc::new(RefCell::new(String::new()));
    let all = Rc::clone(&lines);
    let sink = move |level, line: &str| all.borrow_mut().push_str(&shown(level, line));
    let log = level(arguments).map(|level| start(level, Box::new(sink)));
    (log, lines)
}

fn level(arguments: &Arguments) -> Option<Level> {
    if arguments.has(&flags::DEBUG) || arguments.count(&flags::VERBOSE) > 1 {
        Some(Level::Debug)
    } else {
        arguments.has(&flags::VERBOSE).then_some(Level::Verbose)
    }
}

fn weight(level: Level) -> Weight {
    match level {
        Level::Verbose => Weight::Notice,
        Level::Debug => Weight::Debug,
    }
}

fn shown(level: Level, line: &str) -> String {
    let indent = match level {
        Level::Verbose => "    ",
        Level::Debug => "      ",
    };
    let line = harmless(line).replace('\n', &format!("\n{indent}"));
    format!("{indent}{line}\n")
}
