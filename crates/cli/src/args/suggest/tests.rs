//! Tests of suggestions.

use super::{distance, nearest};

#[test]
fn distance_counts_single_edits() {
    assert_eq!(distance("units", "units"), 0);
    assert_eq!(distance("unit", "units"), 1);
    assert_eq!(distance("untis", "units"), 1);
    assert_eq!(distance("", "abc"), 3);
}

#[test]
fn only_near_words_are_offered() {
    let flags = ["units", "noheadings", "separator"];
    assert_eq!(nearest("noheading", flags), Some("noheadings"));
    assert_eq!(nearest("seperator", flags), Some("separator"));
    assert_eq!(nearest("verbose", flags), None);
}
