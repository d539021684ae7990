//! Trees of settings in one form.

use lvm2::text::{Section, Value, parse};

use super::{PARTS_MAX, in_form, lay_over, section, value};

fn tree(text: &str) -> Section<'static> {
    in_form(parse(text.as_bytes()).expect("parses"))
}

#[test]
fn both_notations_give_one_tree() {
    // Proves: paths and sections are the same, the last value counts, and keeps the first's place.
    let paths = tree("a/b=1 a/d/e=\"x\" a/b=2 /a//c=3");
    let sections = tree("a { b=1 d { e=\"x\" } } a { b=2 c=3 }");
    assert_eq!(paths, sections);
    assert_eq!(value(&paths, "a/b"), Some(&Value::Integer(2)));
    assert_eq!(value(&paths, "a/d/e"), Some(&Value::String("x".into())));
    assert_eq!(value(&paths, "a/d"), None);
    assert_eq!(section(&paths, "a").map(|a| a.nodes.len()), Some(3));
}

#[test]
fn a_tree_lies_over_another() {
    // Proves: what is not in the upper tree shows through.
    let mut lower = tree("a { b=1 c=1 } d=1");
    lay_over(&mut lower, tree("a { c=2 e=2 } f { }"));
    assert_eq!(lower, tree("a { b=1 e=2 c=2 } d=1 f { }"));
}

#[test]
fn a_path_without_an_end_makes_no_endless_tree() {
    // Proves: a name of any length ends at a depth that the stack can bear.
    let name = "a/".repeat(100_000);
    let mut deep = &tree(&format!("{name}b=1"));
    let mut depth = 0;
    while let Some(inner) = deep.sections().next() {
        deep = inner;
        depth += 1;
    }
    assert_eq!(depth, PARTS_MAX - 1);
}
