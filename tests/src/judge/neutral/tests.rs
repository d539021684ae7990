//! Tests of making texts equal.

use std::collections::BTreeSet;

use super::{fits, kind, lines, text};

const ID: &str = "abcdef-0000-1111-2222-3333-4444-abcdef";

/// New identities, times and the letters of what is active are made equal, and nothing else.
#[test]
fn what_is_new_is_made_equal() {
    let known = BTreeSet::from([ID.replace('a', "b")]);
    let both = format!(
        "x {ID} {} 12:30:59 -wi-XX---- rwi-XXr-X- XXL",
        ID.replace('a', "b")
    );
    let wanted = format!(
        "x ID {} TIME -wi------- rwi---r--- XXL",
        ID.replace('a', "b")
    );
    assert_eq!(text(&both, &known), wanted);
}

/// A star stands for anything, at both ends and between.
#[test]
fn stars_stand_for_anything() {
    for (pattern, line, is_fitting) in [
        ("*", "", true),
        ("a*c", "abc", true),
        ("a*c", "abcd", false),
        ("*b*", "abc", true),
        ("abc", "abcd", false),
        ("a*b*c", "a b b c", true),
        ("a*b", "ba", false),
    ] {
        assert_eq!(fits(line, pattern), is_fitting, "{pattern} {line}");
    }
}

/// A kind is what is said without the names of what it is said of.
#[test]
fn kinds_have_no_names() {
    let names = BTreeSet::from(["vg"]);
    let line = "Volume group \"vg two\" of vg has 3 of /dev/loop1, too.";
    assert_eq!(kind(line, &names), "Volume group … … of … has … of … too.");
}

/// What stock says for want of its driver is not compared.
#[test]
fn noise_is_left_out() {
    let said = "\n  WARNING: Activation disabled. No device-mapper interaction will be attempted.\n\
                \x20 WARNING: Logical volume vg/a not zeroed.\n  Done.\n";
    assert_eq!(lines(said), BTreeSet::from(["Done.".to_owned()]));
}

/// What is said behind a question is a line of its own, as it is where it goes elsewhere.
#[test]
fn questions_end_lines() {
    let said = lines("Really? [y/n]:   Not done.\n");
    let wanted = ["Really? [y/n]:", "Not done."].map(str::to_owned);
    assert_eq!(said, BTreeSet::from(wanted));
}
