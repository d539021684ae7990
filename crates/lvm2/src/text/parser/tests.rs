//! Tests: the grammar, its errors with their places, and its limits.

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};

use super::{DEPTH_MAX, parse};
use crate::error::Kind;
use crate::text::{Node, Printer, Section, Style, Value, carry};

fn error(text: &str) -> String {
    let error = parse(text.as_bytes()).unwrap_err();
    assert_eq!(error.kind, Kind::Text);
    error.context
}

#[test]
fn reads_sections_values_and_arrays() {
    // Proves: the whole grammar on one small text, in its order and with repeated names.
    let root =
        parse(b"a = 1 # c\nb { a = [] a = [1, \"x\" 2.5,] 'q r' {}}c=word\0 } garbage").unwrap();
    assert_eq!(root.value("a"), Some(&Value::Integer(1)));
    assert_eq!(root.value("c"), Some(&Value::String("word".into())));
    let section = root.section("b").unwrap();
    let array = vec![
        Value::Integer(1),
        Value::String("x".into()),
        Value::Float("2.5".into()),
    ];
    let expected = [
        Node::Value {
            name: "a".into(),
            value: Value::Array(Vec::new()),
        },
        Node::Value {
            name: "a".into(),
            value: Value::Array(array),
        },
        Node::Section(Section {
            name: "q r".into(),
            nodes: Vec::new(),
        }),
    ];
    assert_eq!(section.nodes, expected);
}

#[test]
fn errors_name_the_place() {
    // Proves: line and column are those of the token that is wrong.
    assert_eq!(
        error("a = 1\n}\n"),
        "line 2, column 1: '}' stands where a name is expected"
    );
    assert_eq!(
        error("a {\n\tb 1\n}"),
        "line 2, column 4: \"1\" stands where '=' or '{' behind the name \"b\" is expected"
    );
    assert_eq!(
        error("a {\nb = 1\n"),
        "line 3, column 1: the text ends inside the section \"a\""
    );
    assert_eq!(
        error("a = [1,\n2"),
        "line 2, column 2: the end of the text stands where a value is expected"
    );
    assert!(error("a = \"x").starts_with("line 1, column 5"));
    assert!(error("a = [[1]]").contains("'[' stands where a value"));
    assert!(error("a = [,]").contains("comma"));
    assert!(error("a = [1,,]").contains("','"));
    assert!(error("\"\" = 1").contains("empty"));
    assert!(error("a =").contains("the end of the text"));
}

#[test]
fn limits_hold() {
    // Proves: deep nesting and endless arrays are refused before they cost.
    let deep = |depth: usize| format!("{}{}", "a{".repeat(depth), "}".repeat(depth));
    assert!(parse(deep(DEPTH_MAX).as_bytes()).is_ok());
    assert_eq!(
        parse(deep(DEPTH_MAX + 1).as_bytes()).unwrap_err().kind,
        Kind::Limit
    );
    assert_eq!(
        parse("a{".repeat(1_000_000).as_bytes()).unwrap_err().kind,
        Kind::Limit
    );
    let many = format!("a=[{}]", "1,".repeat(super::NODE_COUNT_MAX));
    assert_eq!(parse(many.as_bytes()).unwrap_err().kind, Kind::Limit);
}

fn name() -> impl Strategy<Value = String> {
    vec(
        prop_oneof![Just(b'a'), Just(b'"'), Just(b'{'), Just(b'1'), 1_u8..],
        1..6,
    )
    .prop_map(|bytes| carry::from_bytes(&bytes))
}

fn single() -> impl Strategy<Value = Value<'static>> {
    let string = vec(prop_oneof![Just(b'\\'), Just(b'"'), 1_u8..], 0..12);
    prop_oneof![
        any::<i64>().prop_map(Value::Integer),
        (any::<i32>(), any::<u16>()).prop_map(|(a, b)| Value::Float(format!("{a}.{b}").into())),
        string.prop_map(|bytes| Value::String(carry::from_bytes(&bytes).into())),
    ]
}

fn tree() -> impl Strategy<Value = Section<'static>> {
    let value = prop_oneof![single(), vec(single(), 0..5).prop_map(Value::Array)];
    let leaf = (name(), value).prop_map(|(name, value)| Node::Value {
        name: name.into(),
        value,
    });
    let node = leaf.prop_recursive(4, 64, 6, |inner| {
        (name(), vec(inner, 0..6)).prop_map(|(name, nodes)| {
            Node::Section(Section {
                name: name.into(),
                nodes,
            })
        })
    });
    vec(node, 0..8).prop_map(|nodes| Section {
        name: "".into(),
        nodes,
    })
}

proptest! {
    #[test]
    fn every_tree_comes_back(root in tree(), backup in any::<bool>()) {
        // Proves: what is printed, in either style, parses to the same tree.
        let mut printer = Printer::new(if backup { Style::Backup } else { Style::Raw });
        for node in &root.nodes {
            printer.node(node);
        }
        assert_eq!(parse(&printer.finish()).unwrap(), root);
    }

    #[test]
    fn any_bytes_end_well(bytes in vec(prop_oneof![any::<u8>(), Just(b'{'), Just(b'"'), Just(b'='),
        Just(b'['), Just(b']'), Just(b'}'), Just(b'a'), Just(b'\n'), Just(b'1')], 0..200)) {
        // Proves: no bytes make the parser panic, and what it accepts it can print and read again.
        if let Ok(root) = parse(&bytes) {
            let mut printer = Printer::new(Style::Raw);
            for node in &root.nodes {
                printer.node(node);
            }
            assert_eq!(parse(&printer.finish()).unwrap(), root);
        }
    }
}
