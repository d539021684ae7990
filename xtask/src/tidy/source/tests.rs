//! Tests of the splitter.

use super::{Source, words};

fn code(text: &str) -> String {
    Source::new("a.rs", text).code
}

#[test]
fn comments_are_not_code() {
    assert_eq!(code("a // b\nc"), "a     \nc");
    assert_eq!(
        code("a /* b /* c */ d */ e"),
        format!("a {} e", " ".repeat(17))
    );
    assert_eq!(Source::new("a.rs", "a // b\nc").comments, "  // b\n ");
}

#[test]
fn strings_keep_only_their_quotes() {
    assert_eq!(code(r#"f("{ // \" }") }"#), r#"f("         ") }"#);
    assert_eq!(code("r#\"a\"b\"# }"), "r      # }");
    assert_eq!(code("br\"\\\" }"), "br  \" }");
}

#[test]
fn characters_and_lifetimes_are_told_apart() {
    assert_eq!(
        code("'{' 'a: '\\'' b'}' 'é' '\\u{7d}'"),
        "' ' 'a: '  ' b' ' '  ' '      '"
    );
    assert_eq!(code("fn f<'a>(x: &'a str) {}"), "fn f<'a>(x: &'a str) {}");
}

#[test]
fn positions_and_groups_are_found() {
    let source = Source::new("a.rs", "fn f() {\n  \"}\"; { }\n}\nfn g() {}");
    assert_eq!(source.closing(7), 21);
    assert_eq!(source.line_of(23), 4);
    let texts: Vec<&str> = words("a_b+é1").iter().map(|word| word.text).collect();
    assert_eq!(texts, ["a_b", "é1"]);
}

#[test]
fn test_code_is_known_by_its_place() {
    let is_test = |path| Source::new(path, "").is_test();
    assert!(is_test("crates/x/src/y/tests.rs") && is_test("tests/src/lib.rs"));
    assert!(is_test("crates/x/src/tests/y.rs") && !is_test("crates/x/src/protests.rs"));
}
