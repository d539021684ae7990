//! The record is what was written, and keeps what people wrote into it.

use super::{OPEN, Record};
use crate::mutate::arguments::Part;
use crate::mutate::generated::Outcomes;

fn outcomes(caught: usize, survived: &[&str]) -> Outcomes {
    Outcomes {
        caught,
        timeout: 1,
        unviable: 2,
        survived: survived.iter().map(|name| (*name).to_owned()).collect(),
    }
}

const FIRST: &str = "a/b.rs:12:5: replace f -> bool with true";

/// Parts are added up, reasons survive another run though lines move, and what is found again is
/// no survivor.
#[test]
fn records_are_kept() {
    let mut record = Record::default();
    let part = |number| Part { number, of: 2 };
    record.add("commit", "abc", part(1), outcomes(6, &[FIRST]));
    record.add(
        "commit",
        "abc",
        part(2),
        outcomes(4, &["a/c.rs:1:1: delete !"]),
    );
    let text = record.text();
    assert!(
        text.contains("| commit | abc | 1+2 of 2 | 18 | 4 | 10 | 2 | 2 | 85.7 % |"),
        "{text}"
    );
    let text = text.replacen(OPEN, "nobody asks", 1);
    let mut record = Record::parse(&text);
    assert_eq!(record.text(), text, "what is written is read");
    let moved = "a/b.rs:99:7: replace f -> bool with true";
    record.again("commit", "def", outcomes(1, &[moved]));
    let text = record.text();
    assert!(
        text.contains("| abc (survivors def) | 1+2 of 2 | 18 | 4 | 11 | 2 | 1 | 92.9 % |"),
        "{text}"
    );
    assert!(
        text.contains(&format!("- `{moved}`: nobody asks\n")),
        "{text}"
    );
    record.add("commit", "def", Part { number: 1, of: 1 }, outcomes(1, &[]));
    assert_eq!(
        record.survivors("commit"),
        Some(&[][..]),
        "a new run replaces"
    );
}
