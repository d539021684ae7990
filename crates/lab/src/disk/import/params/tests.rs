//! The parser, on what it should read and on what it should refuse.

use proptest::proptest;

use super::{Content, decimal, parse};
use crate::error::Kind;

/// Blocks, lists, comments and statements between blocks.
#[test]
fn the_format_is_understood() {
    let text = "
# a comment
disk NAME {
   Number of things = 3,   # another
   Time = 0.105000,
   Inner = kind { a = 1, b = [ 1, 2,
      3 ] },
   Model = source other.model,
   Last = -0.5
} # end
instantiate [ disk0 ] as NAME
topology driver d [ bus b [ ] ]
second { }
";
    let blocks = parse("test", text).unwrap();
    assert_eq!(blocks.len(), 2);
    let disk = &blocks[0];
    assert_eq!(disk.kind, "disk");
    assert_eq!(disk.whole("Number of things", 0).unwrap(), 3);
    assert_eq!(disk.nanoseconds("Time").unwrap(), 105_000);
    assert_eq!(disk.nanoseconds("Last").unwrap(), -500_000);
    let inner = disk.need("Inner").unwrap().block("Inner").unwrap();
    assert_eq!(inner.need("b").unwrap().list("b").unwrap().len(), 3);
    let model = &disk.need("Model").unwrap().content;
    assert_eq!(*model, Content::Source("other.model".to_owned()));
    assert_eq!(blocks[1].kind, "second");
}

/// Errors name file and line.
#[test]
fn errors_name_the_line() {
    for (text, line) in [
        ("a {\n b = 1,\n c\n}", "line 4"),
        ("a {\n b = [ 1,\n", "line 3"),
        ("a {\n b = ,\n}", "line 2"),
        ("a {\n", "line 2"),
    ] {
        let error = parse("some.model", text).unwrap_err();
        assert_eq!(error.kind(), Kind::Syntax);
        let message = error.to_string();
        assert!(
            message.contains("some.model") && message.contains(line),
            "{message}"
        );
    }
    let blocks = parse("f", "a {\n b = 1.5,\n c = x\n}").unwrap();
    assert!(
        blocks[0]
            .whole("b", 0)
            .unwrap_err()
            .to_string()
            .contains("line 2")
    );
    assert!(
        blocks[0]
            .nanoseconds("c")
            .unwrap_err()
            .to_string()
            .contains("line 3")
    );
}

/// Nesting without end is refused.
#[test]
fn deep_nesting_is_refused() {
    let deep = format!("a {{ b = {}", "[".repeat(100_000));
    assert_eq!(parse("f", &deep).unwrap_err().kind(), Kind::Syntax);
    let deep = format!("a {{ {}", "b = c { ".repeat(100_000));
    assert_eq!(parse("f", &deep).unwrap_err().kind(), Kind::Syntax);
}

#[test]
fn decimals_are_exact() {
    assert_eq!(decimal("10.627000", 6), Some(10_627_000));
    assert_eq!(decimal("-.5", 3), Some(-500));
    assert_eq!(decimal("0.1234567", 6), Some(123_456));
    assert_eq!(decimal("1.5e-05", 9), Some(15_000));
    assert_eq!(decimal("2E3", 0), Some(2000));
    assert_eq!(decimal("123e-9", 3), Some(0));
    for wrong in [
        "",
        ".",
        "-",
        "1e",
        "e3",
        "1e99",
        "0x1",
        "1.2.3",
        "99999999999999999999",
    ] {
        assert_eq!(decimal(wrong, 6), None, "{wrong}");
    }
}

proptest! {
    /// No text makes the parser fail otherwise than with an error.
    #[test]
    fn any_text_is_read_or_refused(text in "[a-c =,{}\\[\\]#\n0-9.]{0,200}") {
        let _ = parse("any", &text);
    }
}
