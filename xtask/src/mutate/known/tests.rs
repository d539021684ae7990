//! The list of known mistakes can be read, and does what it says.

use std::collections::BTreeSet;

use super::{KNOWN, list, parse};

/// Every mistake of the list has a name of its own, a test that is named, and changes something.
#[test]
fn the_list_is_whole() {
    let all = list("");
    let names: BTreeSet<&str> = all.iter().map(|known| known.name.as_str()).collect();
    assert_eq!(names.len(), all.len());
    assert_eq!(
        all.len(),
        KNOWN.lines().filter(|line| line.starts_with("= ")).count()
    );
    for known in &all {
        assert!(
            !known.tests.is_empty() && !known.file.is_empty(),
            "{}",
            known.name
        );
        assert!(!known.places.is_empty(), "{}", known.name);
        assert!(
            known.places.iter().all(|(goes, comes)| goes != comes),
            "{}",
            known.name
        );
    }
}

/// Lines go, come and stay as they are marked; lines that are not there, or twice, are refused.
#[test]
fn a_mistake_is_made_in_its_place() {
    let known = "= one\ntest -p a --lib -- b\nfile c\n keep\n-old\n+new\n@\n-last\n";
    let [known] = &parse(known)[..] else {
        panic!("it is one");
    };
    let wrong = known
        .applied("old\nkeep\nold\nlast\n")
        .expect("it is there");
    assert_eq!(wrong, "old\nkeep\nnew\n");
    known
        .applied("keep\nnew\nlast\n")
        .expect_err("it is not there");
    known
        .applied("keep\nold\nkeep\nold\nlast\n")
        .expect_err("it is there twice");
}
