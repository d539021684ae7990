//! Tests of criteria, most of them with answers that stock LVM2 gave.

use super::moment::interval;
use super::{Selection, SelectionError};
use crate::output::report::{AUTO, Field, FieldGroup, FieldKind, Key, UNDEFINED, Value, Zone};
use proptest::prelude::{Just, Strategy, prop_assert_eq, prop_oneof, proptest};

const fn field(name: &'static str, kind: FieldKind) -> Field {
    Field {
        name,
        heading: "",
        kind,
        width: 0,
        group: FieldGroup::Lv,
        help: "",
        read: |_, _| Value::text(""),
    }
}

static FIELDS: &[&[Field]] = &[&[
    field("lv_name", FieldKind::Text),
    field("lv_size", FieldKind::Size),
    field("lv_read_ahead", FieldKind::Size),
    field("lv_role", FieldKind::List),
    field("lv_tags", FieldKind::List),
    field("lv_major", FieldKind::Number),
    field("seg_count", FieldKind::Number),
    field("data_percent", FieldKind::Percent),
    field("lv_merging", FieldKind::Binary(&["merging"])),
    field("lv_time", FieldKind::Time),
    field("vg_permissions", FieldKind::Text),
]];

/// A hidden 8 MiB volume, created 2026-11-21 02:35:25 UTC.
fn value(field: &'static Field) -> Value {
    match field.name {
        "lv_name" => Value {
            text: "[data_rimage_0]".into(),
            key: Key::Other("data_rimage_0".into()),
        },
        "lv_size" => Value::keyed("8.00m", 8 << 20),
        "lv_read_ahead" => Value::keyed("auto", AUTO),
        "lv_role" => Value::list(vec!["private".into(), "raid".into(), "image".into()]),
        "lv_tags" => Value::list(Vec::new()),
        "lv_major" => Value::keyed("-1", UNDEFINED),
        "seg_count" => Value::number(2_u64),
        "data_percent" => Value::keyed("12.50", 12_500_000),
        "lv_merging" => Value::keyed("merging", 1),
        "lv_time" => Value::keyed("", 1795228525),
        _ => Value::text("writeable"),
    }
}

fn parse(criteria: &str) -> Result<Selection, SelectionError> {
    Selection::parse(criteria, FIELDS, "lv_", 1795228525, &Zone::default())
}

fn matches(criteria: &str) -> bool {
    parse(criteria).expect(criteria).matches(&mut value)
}

/// The answers that stock LVM2 2.03.16 gave to criteria of the same form.
#[test]
fn every_operator_of_every_kind() {
    for (criteria, expected) in [
        ("", true),
        ("lv_name=data_rimage_0", true),
        ("name='data_rimage_0'", true),
        ("lv_name=[data_rimage_0]", false),
        ("LVname!=other", true),
        ("name=~\"^data\"", true),
        ("name=~(0$)", true),
        ("name!~0$", false),
        ("lv_size>8m", false),
        ("lv_size>=8", true),
        ("size=8388608b && size = 8.0M", true),
        ("size=16384s", true),
        ("size<1g", true),
        ("lv_role=private", true),
        ("lv_role=[private]", false),
        ("lv_role=[image,raid,private]", true),
        ("lv_role={private&&raid}", true),
        ("lv_role={private,log}", false),
        ("lv_role={log||image}", true),
        ("lv_role!={log#image}", false),
        ("lv_tags=\"\"", true),
        ("lv_tags={} && tags=[]", true),
        ("lv_tags!=\"\"", false),
        ("lv_major=-1", true),
        ("lv_major=undefined", true),
        ("lv_major>0", false),
        ("lv_major!=5", true),
        ("seg_count=2.5", true),
        ("seg_count>2", false),
        ("data_percent>=12.5%", true),
        ("data_percent<12", false),
        ("lv_merging=1 && merging=yes && merging=merging", true),
        ("lv_merging=no", false),
        ("lv_read_ahead=auto", true),
        ("vg_permissions=rw", true),
        ("vg_permissions=read-only", false),
        ("!(name=x)", true),
        ("name=x || size=8m && seg_count=2", true),
        ("(name=x || size=8m) && seg_count=3", false),
        ("name=x # size=8m , seg_count=2", true),
        ("lv_time=\"2026-11-21 02:35\"", true),
        ("lv_time since 2026-11", true),
        ("lv_time after 2026-11", false),
        ("lv_time until 2026", true),
        ("lv_time before \"2026-11-21 02:35:26\"", true),
        ("lv_time>=@1795228525", true),
        ("lv_time=today", true),
        ("lv_time>\"1 hour ago\"", true),
        ("lv_time=yesterday", false),
    ] {
        assert_eq!(matches(criteria), expected, "{criteria}");
    }
}

#[test]
fn what_is_wrong_is_named() {
    for (criteria, message) in [
        ("foo=1", "Unrecognised selection field: foo"),
        ("lv_sise=1", "; did you mean lv_size?"),
        (
            "lv_size==",
            "Failed to parse numeric value for selection field lv_size.",
        ),
        ("lv_size=abc", "Failed to parse numeric value"),
        ("seg_count=2m", "Found size unit specifier"),
        ("lv_name", "comparison operator"),
        ("lv_name>a", "incompatible comparison"),
        ("lv_role=~a", "incompatible comparison"),
        ("lv_name=a lv_size=8m", "Expecting logical operator"),
        ("lv_name=a)", "Expecting logical operator"),
        ("(lv_name=a", "right parenthesis expected"),
        ("! lv_name=a", "left parenthesis expected"),
        ("lv_role={a&&b||c}", "Only one type of logical operator"),
        ("lv_role=[a", "Missing ]"),
        ("lv_name=\"a", "Missing end quote"),
        ("lv_name=~\"(\"", "regular expression"),
        ("lv_time=gestern", "Failed to parse time value"),
    ] {
        let error = parse(criteria).expect_err(criteria).to_string();
        assert!(error.contains(message), "{criteria}: {error}");
    }
    let deep = "(".repeat(1000);
    assert!(parse(&deep).is_err());
    assert_eq!(parse("help").unwrap_err(), SelectionError::Help);
}

#[test]
fn intervals_of_time() {
    let zone = Zone::default();
    let now = 1795228525; // Saturday, 2026-11-21 02:35:25
    let day = 86_400;
    let midnight = 1795219200;
    for (text, first, last) in [
        ("2026-11-21", midnight, midnight + day - 1),
        ("2026-11-21 02:35:25", now, now),
        ("2026-11-21 02", midnight + 7200, midnight + 3 * 3600 - 1),
        ("2026-11-21 03:35:25 +01:00", now, now),
        ("2026-12", 1796083200, 1798761599),
        ("1970", 0, 365 * day - 1),
        ("yesterday", midnight - day, midnight - 1),
        ("friday", midnight - day, midnight - 1),
        ("sat", midnight - 7 * day, midnight - 6 * day - 1),
        ("noon", midnight + day / 2, midnight + day / 2),
        ("2 weeks ago", now - 14 * day, now - 14 * day),
        ("3h ago", now - 10800, now - 10800),
        (
            "1:30pm",
            midnight + 13 * 3600 + 1800,
            midnight + 13 * 3600 + 1800,
        ),
    ] {
        let found = interval(text, now, &zone).expect(text);
        assert_eq!((found.first, found.last), (first, last), "{text}");
    }
    for text in [
        "",
        "2026-13",
        "2026-1-1-1",
        "26",
        "2026 10:00",
        "ago",
        "5 moons ago",
        "25:00",
    ] {
        assert_eq!(interval(text, now, &zone), None, "{text}");
    }
}

/// Criteria over one number, as text and as a function.
fn expression() -> impl Strategy<Value = (String, bool)> {
    let operators = ["=", "!=", "<", "<=", ">", ">="];
    let leaf = (proptest::sample::select(operators.to_vec()), 0_u64..5).prop_map(|(op, number)| {
        let holds = match op {
            "=" => 2 == number,
            "!=" => 2 != number,
            "<" => 2 < number,
            "<=" => 2 <= number,
            ">" => 2 > number,
            _ => 2 >= number,
        };
        (format!("seg_count{op}{number}"), holds)
    });
    leaf.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone(), Just("&&"))
                .prop_map(|(a, b, op)| (format!("({}){op}({})", a.0, b.0), a.1 && b.1)),
            (inner.clone(), inner.clone())
                .prop_map(|(a, b)| (format!("({})||({})", a.0, b.0), a.1 || b.1)),
            inner.prop_map(|a| (format!("!({})", a.0), !a.1)),
        ]
    })
}

proptest! {
    /// Nested criteria mean what their parts mean.
    #[test]
    fn agrees_with_the_oracle((criteria, expected) in expression()) {
        prop_assert_eq!(matches(&criteria), expected);
    }

    /// No criteria make it panic.
    #[test]
    fn never_panics(criteria in "[a-z_=~!<>&|#,(){}\\[\\]\"' 0-9.%@]{0,40}") {
        if let Ok(selection) = parse(&criteria) {
            let _ = selection.matches(&mut value);
        }
        let _ = parse(&format!("lv_role={criteria}"));
        let _ = parse(&format!("lv_time={criteria}"));
        let _ = parse(&format!("lv_name=~{criteria}"));
    }
}
