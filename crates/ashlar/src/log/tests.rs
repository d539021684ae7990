//! The log of decisions.

use std::cell::RefCell;
use std::rc::Rc;

use super::{Level, debug, once, start, verbose};

/// A log gets the lines of its level, those of a scan once, and ends with its guard; nothing is
/// formatted for nobody.
#[test]
fn a_log_gets_what_was_asked_for() {
    let lines = Rc::new(RefCell::new(Vec::new()));
    let sink = || {
        let lines = Rc::clone(&lines);
        Box::new(move |level, line: &str| lines.borrow_mut().push((level, line.to_owned())))
    };
    verbose(|| unreachable!("nobody listens"));
    let outer = start(Level::Verbose, sink());
    verbose(|| "a".to_owned());
    debug(|| unreachable!("nobody wants details"));
    {
        let _inner = start(Level::Debug, sink());
        debug(|| "b".to_owned());
        once(Level::Verbose, || "c".to_owned());
        once(Level::Verbose, || "c".to_owned());
    }
    once(Level::Verbose, || "c".to_owned());
    drop(outer);
    verbose(|| unreachable!("nobody listens any more"));
    let expected = [
        (Level::Verbose, "a".to_owned()),
        (Level::Debug, "b".to_owned()),
        (Level::Verbose, "c".to_owned()),
        (Level::Verbose, "c".to_owned()),
    ];
    assert_eq!(*lines.borrow(), expected);
}
