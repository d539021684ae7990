//! A line is one JSON object.

use super::super::contest::{Row, Unit};
use super::super::goal::Goal;
use super::super::stats::Estimate;
use super::{Identity, quoted};

#[test]
fn a_line_holds_the_row_and_its_identity() {
    let identity = Identity {
        revision: "abc+".to_owned(),
        seconds_since_1970: 5,
        machine: "2 x \"Chip\"".to_owned(),
        kernel: "6.1".to_owned(),
    };
    let estimate = Estimate {
        median: 0.5,
        low: 0.25,
        high: 1.0,
    };
    let peers = vec![("peer".to_owned(), 4.0, estimate)];
    let row = Row {
        case: "c".to_owned(),
        unit: Unit::Seconds,
        rounds: 3,
        ours: 2.0,
        peers,
        goal: Goal::None,
    };
    let expected = "{\"revision\":\"abc+\",\"time\":5,\"machine\":\"2 x \\\"Chip\\\"\",\
        \"kernel\":\"6.1\",\"table\":\"t\",\"case\":\"c\",\"unit\":\"s\",\"rounds\":3,\"ours\":2e0,\
        \"peer\":\"peer\",\"theirs\":4e0,\"ratio\":0.5000,\"low\":0.2500,\"high\":1.0000}\n";
    assert_eq!(identity.lines("t", &row), expected);
}

#[test]
fn text_is_escaped() {
    assert_eq!(quoted("a\"\\\n"), "\"a\\\"\\\\\\u000a\"");
}
