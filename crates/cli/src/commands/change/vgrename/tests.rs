//! Tests of what is wrong with names.

use super::wrong;

/// Names are looked at in stock's order: how long, whether they are names, whether they differ.
#[test]
fn names_are_refused_in_order() {
    let long = "n".repeat(122);
    for (old, new, said) in [
        ("vg", long.as_str(), Some("exceeds maximum length of 121!")),
        (
            "vg",
            "a/b",
            Some("New volume group name \"a/b\" is invalid."),
        ),
        ("vg", "vg", Some("must differ")),
        ("a b", "vg", None),
        ("vg", &long[1..], None),
    ] {
        let why = wrong(old, new, || None);
        let is_said = match (&why, said) {
            (Some(why), Some(said)) => why.ends_with(said),
            (why, said) => why.is_none() && said.is_none(),
        };
        assert!(is_said, "{old} {new}: {why:?}");
    }
}
