//! Tests: what a token is at which place.

use super::{Expect, Lexer, Token};

fn value(text: &str) -> Result<Token<'_>, String> {
    Lexer::new(text.as_bytes())
        .next(Expect::Value)
        .map_err(|error| error.context)
}

#[test]
fn numbers_are_those_of_strtoll() {
    // Proves: bases, signs and the limits of 64 bits.
    for (text, number) in [
        ("0", 0),
        ("-1", -1),
        ("+7", 7),
        ("0x1F", 31),
        ("-0x10", -16),
        ("010", 8),
        ("9223372036854775807", i64::MAX),
        ("-9223372036854775808", i64::MIN),
        ("12]", 12),
        ("12,", 12),
        ("12#c", 12),
    ] {
        assert_eq!(value(text), Ok(Token::Integer(number)), "{text}");
    }
    for text in [
        "9223372036854775808",
        "-9223372036854775809",
        &"9".repeat(100_000),
    ] {
        assert_eq!(value(text), Ok(Token::Oversized));
    }
    for text in [
        "-", "+", "--1", "0x", "09", "1x", "1.2.3", ".", "-.", "1é", "1\u{660}",
    ] {
        assert!(value(text).unwrap_err().contains("not a number"), "{text}");
    }
}

#[test]
fn floats_stay_as_they_are_written() {
    // Proves: no float is rounded.
    for text in ["1.5", "-0.10", "3.", ".5"] {
        assert_eq!(value(text), Ok(Token::Float(text.into())));
    }
}

#[test]
fn strings_know_their_escapes() {
    // Proves: only \" and \\ are escapes; single quotes know none.
    for (text, string) in [
        (r#""a""#, "a"),
        (r#""""#, ""),
        (r#""a\"b\\c""#, "a\"b\\c"),
        (r#""a\nb""#, "a\\nb"),
        (r#""\\""#, "\\"),
        (r"'a\'", "a\\"),
        ("word]", "word"),
        ("\"two\nlines\"", "two\nlines"),
    ] {
        assert_eq!(value(text), Ok(Token::Text(string.into())), "{text}");
    }
    for text in [r#"""#, r#""a"#, r#""a\""#, r#""a\"#, "'", "'a", "\"a\0\""] {
        assert!(value(text).unwrap_err().contains("does not end"), "{text}");
    }
}

#[test]
fn names_may_begin_with_digits() {
    // Proves: a volume called 1.5 is a name where a name is expected.
    let mut lexer = Lexer::new(b" # comment\n 1.5+x-{");
    assert_eq!(lexer.next(Expect::Name), Ok(Token::Text("1.5+x-".into())));
    assert_eq!(lexer.next(Expect::Name), Ok(Token::OpenSection));
    assert_eq!(lexer.next(Expect::Name), Ok(Token::End));
}
