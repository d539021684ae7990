//! Escapes, right and wrong.

use super::{Node, Value};
use crate::workload::InputError;

fn text(json: &str) -> Result<String, InputError> {
    let node = Node::parse(json)?;
    match node.value {
        Value::Text(text) => Ok(text),
        other => panic!("{other:?} is no text"),
    }
}

#[test]
fn escapes_are_what_they_stand_for() {
    assert_eq!(text(r#""a\\b\"\/""#).unwrap(), "a\\b\"/");
    assert_eq!(text(r#""\b\f\n\r\t""#).unwrap(), "\u{8}\u{c}\n\r\t");
    assert_eq!(text(r#""\u00e9 \uD83D\uDE00""#).unwrap(), "é 😀");
    for any in 0..0x300 {
        let one = String::from(char::from_u32(any).unwrap());
        assert_eq!(text(&serde_json::to_string(&one).unwrap()).unwrap(), one);
    }
}

#[test]
fn wrong_escapes_are_named() {
    for wrong in [
        r#""\x""#,
        r#""\u12""#,
        r#""\u+123""#,
        r#""\ud83d""#,
        r#""\ud83d\u0041""#,
    ] {
        let error = text(wrong).unwrap_err().to_string();
        assert!(error.contains('\\'), "{wrong}: {error}");
    }
    for cut in ["\"", "\"\\", "\"\\u", "\"\\u00", "\"é\\"] {
        assert!(text(cut).is_err(), "{cut}");
    }
}
