//! The record is what was written, and keeps what people wrote into it.

use super::{OPEN, PLACE, Record};
use crate::mutate::arguments::Part;
use crate::mutate::generated::Made;
use crate::tidy::root;

fn names(count: usize) -> Vec<String> {
    vec![String::from("x.rs:1:1: x"); count]
}

fn made(caught: usize, later: usize, survived: &[&str]) -> Made {
    Made {
        caught: names(caught),
        timeout: names(1),
        later: Some(names(later)),
        unviable: names(2),
        survived: survived.iter().map(|name| (*name).to_owned()).collect(),
    }
}

const FIRST: &str = "a/b.rs:12:5: replace f -> bool with true";

const MOVED: &str = "a/b.rs:99:7: replace f -> bool with true";
const SECOND: &str = "a/c.rs:1:1: delete !";
const GONE: &str = "a/c.rs:7:1: replace g with ()";

/// Parts are added up, reasons survive another run though lines move, and what is found again is
/// no survivor; what is gone is not counted.
#[test]
fn records_are_kept() {
    let mut record = Record::default();
    let part = |number| Part { number, of: 2 };
    record.add("commit", "abc", part(1), made(6, 1, &[FIRST]));
    record.add("commit", "abc", part(2), made(4, 0, &[SECOND, GONE]));
    let text = record.text();
    let row = "| commit | abc | 1+2 of 2 | 20 | 4 | 10 | 1 | 2 | 3 | 81.2 % |";
    assert!(text.contains(row), "{text}");
    let text = text.replacen(OPEN, "nobody asks", 1);
    let mut record = Record::parse(&text);
    assert_eq!(record.text(), text, "what is written is read");
    let again = Made {
        later: Some(vec![SECOND.to_owned()]),
        survived: vec![MOVED.to_owned()],
        ..Made::default()
    };
    record.again("commit", "def", again);
    let text = record.text();
    let row = "| abc (survivors def) | 1+2 of 2 | 19 | 4 | 10 | 2 | 2 | 1 | 93.3 % |";
    assert!(text.contains(row), "{text}");
    assert!(
        text.contains(&format!("- `{MOVED}`: nobody asks\n")),
        "{text}"
    );
    record.add("commit", "def", Part { number: 1, of: 1 }, made(1, 0, &[]));
    let none = &[][..];
    assert_eq!(record.survivors("commit"), Some(none), "a new run replaces");
    let text = record.text();
    assert_eq!(Record::parse(&text).text(), text, "what is written is read");
    let mut record = Record::parse(&text);
    record.add(
        "commit",
        "ghi",
        Part { number: 2, of: 3 },
        made(1, 0, &[FIRST]),
    );
    let text = record.text();
    assert!(
        text.ends_with(&format!("- `{FIRST}`: nobody asks\n")),
        "reasons are kept while other parts are run: {text}"
    );
    let found = Made {
        caught: vec![MOVED.to_owned()],
        ..Made::default()
    };
    record.add("commit", "jkl", Part { number: 2, of: 3 }, found);
    assert!(
        !record.text().contains("nobody asks"),
        "what is found has none"
    );
}

/// What a first stage says stands while the second runs, and is replaced by what that says; reasons
/// that somebody writes meanwhile stay.
#[test]
fn stages_replace_each_other() {
    let part = |number| Part { number, of: 2 };
    let mut before = Record::default();
    before.add("lock", "abc", part(1), made(3, 1, &[]));
    let unasked = Made {
        later: None,
        ..made(4, 0, &[FIRST, SECOND])
    };
    for (number, row) in [
        (
            1,
            "| lock | abc | 1 of 2 | 9 | 2 | 4 | not asked | 1 | 2 | 71.4 % |",
        ),
        (
            2,
            "| lock | abc | 1+2 of 2 | 16 | 4 | 7 | 1 | 2 | 2 | 83.3 % |",
        ),
    ] {
        let mut record = Record::parse(&before.text());
        record.add("lock", "abc", part(number), unasked.clone());
        let text = record.text();
        assert!(text.contains(row), "{text}");
    }
    let mut record = Record::parse(&before.text());
    record.add("lock", "abc", part(2), unasked);
    let text = record.text().replacen(OPEN, "somebody looked", 1);
    let mut record = Record::parse(&text);
    record.set_back("lock", &before);
    record.add("lock", "abc", part(2), made(4, 1, &[FIRST]));
    let text = record.text();
    let row = "| lock | abc | 1+2 of 2 | 16 | 4 | 7 | 2 | 2 | 1 | 91.7 % |";
    assert!(
        text.contains(row) && text.contains("somebody looked"),
        "{text}"
    );
}

/// A place of a function that survives is not hidden by another one of the same name that is
/// found; and what only unit tests were asked for is asked again of all.
#[test]
fn names_stand_for_several_places() {
    let page = "| lock | abc | 1 of 4 | 2 | 0 | 1 | not asked | 0 | 1 | 50.0 % |\n\n### lock\n\n";
    let mut record = Record::parse(&format!("{page}- `{FIRST}`: why\n"));
    let text = record.text();
    assert!(
        text.contains("| 1 | not asked | 0 | 1 | 50.0 % |"),
        "{text}"
    );
    let again = Made {
        caught: vec![FIRST.to_owned()],
        survived: vec![MOVED.to_owned()],
        later: Some(Vec::new()),
        ..Made::default()
    };
    record.again("lock", "abc", again);
    let text = record.text();
    assert!(
        text.contains("| lock | abc | 1 of 4 | 2 | 0 | 1 | 0 | 0 | 1 | 50.0 % |"),
        "{text}"
    );
}

/// The page is what the command would write: numbers and survivors agree, and only reasons are
/// written by hand.
#[test]
fn the_page_is_as_it_is_written() {
    let page = std::fs::read_to_string(root().join(PLACE)).expect("the page is there");
    assert!(
        Record::parse(&page).text() == page,
        "{PLACE} is not what the command writes"
    );
}
