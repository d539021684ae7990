//! Tests of reports as a whole, over rows made here.

use super::{Format, Headings, Report, Shape};
use crate::output::report::{Columns, Field, FieldGroup, FieldKind, Selection, Value, Zone};

const fn field(name: &'static str, heading: &'static str, kind: FieldKind, width: usize) -> Field {
    let of_group = matches!(name.as_bytes(), [b'v', ..]);
    Field {
        group: if of_group {
            FieldGroup::Vg
        } else {
            FieldGroup::Lv
        },
        name,
        heading,
        kind,
        width,
        help: "",
        read: |_, _| Value::text(""),
    }
}

static FIELDS: &[&[Field]] = &[&[
    field("lv_name", "LV", FieldKind::Text, 4),
    field("lv_size", "LSize", FieldKind::Size, 0),
    field("lv_tags", "LV Tags", FieldKind::List, 0),
    field("sync", "InitImgSync", FieldKind::Binary(&["sync"]), 10),
    field("vg_extents", "#Ext", FieldKind::Number, 0),
]];

/// Three rows: a name, a size in KiB, tags, and whether it is set.
fn value(row: usize, field: &Field) -> Value {
    let (name, size, tags, set) = [
        ("zeta", 4_u64, vec!["b".to_owned(), "c".to_owned()], true),
        ("alpha", 16, vec![], false),
        ("m\"id", 4, vec!["c".to_owned()], false),
    ][row]
        .clone();
    match field.name {
        "lv_name" => Value::text(name),
        "lv_size" => Value::keyed(format!("{size}.00k"), size * 1024),
        "lv_tags" => Value::list(tags),
        "vg_extents" => Value::number(size),
        _ => Value::keyed(if set { "sync" } else { "" }, u64::from(set)),
    }
}

fn report(options: &[&str], sort: &str, criteria: &str, shape: &Shape) -> String {
    let columns = Columns::resolve(
        FIELDS,
        ("lv_", &[FieldGroup::Lv]),
        "lv_name,lv_size",
        options.iter().copied(),
        sort,
    )
    .unwrap();
    let selection = (!criteria.is_empty())
        .then(|| Selection::parse(criteria, FIELDS, "lv_", 0, &Zone::default()).unwrap());
    let mut out = Vec::new();
    let mut report = Report::new("lv", &columns, selection.as_ref(), shape, &mut out);
    for row in 0..3 {
        report.push(|field| value(row, field)).unwrap();
    }
    report.finish().unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn columns_are_padded_sorted_and_right_aligned_by_kind() {
    assert_eq!(
        report(&["+lv_tags"], "-lv_size,lv_name", "", &Shape::default()),
        "  LV    LSize  LV Tags\n  alpha 16.00k        \n  m\"id   4.00k c      \n  zeta   \
         4.00k b,c    \n"
    );
}

#[test]
fn a_heading_is_cut_to_its_column() {
    assert_eq!(
        report(&["sync"], "name", "name=alpha", &Shape::default()),
        "  InitImgSyn\n            \n"
    );
}

#[test]
fn options_add_take_away_and_compact() {
    let shape = Shape::default;
    assert_eq!(
        report(&["+tags", "-lv_name"], "", "size>5k", &shape()),
        "  LSize  LV Tags\n  16.00k        \n"
    );
    // What there is not is taken away already.
    assert_eq!(
        report(&["-bogus,lv_name"], "", "size>5k", &shape()),
        "  LSize \n  16.00k\n"
    );
    assert_eq!(
        report(&["tags,name", "#tags"], "", "size>5k", &shape()),
        "  LV   \n  alpha\n"
    );
    assert_eq!(
        report(&["name,tags", "#tags"], "", "size>5k", &shape()),
        "  LV    \n  alpha\n"
    );
}

#[test]
fn separators_pairs_and_turned_tables_are_not_padded() {
    let shape = Shape {
        separator: ":".into(),
        aligned: false,
        ..Shape::default()
    };
    assert_eq!(
        report(&[], "lv_name", "tags={c}", &shape),
        "  LV:LSize\n  m\"id:4.00k\n  zeta:4.00k\n"
    );
    let shape = Shape {
        prefixed: true,
        aligned: false,
        headings: Headings::None,
        ..Shape::default()
    };
    assert_eq!(
        report(&[], "lv_name", "name=zeta", &shape),
        "  LVM2_LV_NAME='zeta' LVM2_LV_SIZE='4.00k'\n"
    );
    let shape = Shape {
        turned: true,
        ..Shape::default()
    };
    assert_eq!(
        report(&[], "lv_name", "", &shape),
        "  LV alpha m\"id zeta\n  LSize 16.00k 4.00k 4.00k\n"
    );
}

#[test]
fn a_report_without_rows_is_empty() {
    assert_eq!(report(&[], "", "name=none", &Shape::default()), "");
    let json = Shape {
        format: Format::Json,
        ..Shape::default()
    };
    let empty = report(&[], "", "name=none", &json);
    let lines: Vec<&str> = empty.lines().map(str::trim).collect();
    assert_eq!(
        lines,
        ["{", "\"report\": [", "{", "\"lv\": [", "]", "}", "]", "}"]
    );
}

#[test]
fn both_kinds_of_json() {
    let json = |format| Shape {
        format,
        ..Shape::default()
    };
    let rows = |text: String| {
        text.lines()
            .find(|line| line.contains("lv_name"))
            .unwrap()
            .trim()
            .to_owned()
    };
    assert_eq!(
        rows(report(&["+tags,sync"], "", "name=~id", &json(Format::Json))),
        r#"{"lv_name":"m\"id", "lv_size":"4.00k", "lv_tags":"c", "sync":""}"#
    );
    assert_eq!(
        rows(report(
            &["+tags,sync"],
            "",
            "name=~id",
            &json(Format::JsonStd)
        )),
        r#"{"lv_name":"m\"id", "lv_size":"4.00k", "lv_tags":["c"], "sync":""}"#
    );
}

#[test]
fn unbuffered_rows_are_measured_one_by_one() {
    let shape = Shape {
        unbuffered: true,
        ..Shape::default()
    };
    assert_eq!(
        report(&[], "lv_name", "", &shape),
        "  LV   LSize\n  zeta 4.00k\n  alpha 16.00k\n  m\"id 4.00k\n"
    );
}

#[test]
fn selected_shows_all_rows_and_says_which_match() {
    assert_eq!(
        report(&["selected,name"], "name", "size>5k", &Shape::default()),
        "  Selected LV   \n         1 alpha\n         0 m\"id \n         0 zeta \n"
    );
}

#[test]
fn a_field_is_not_taken_out_of_all() {
    let shown = report(
        &["lv_all,lv_size", "-lv_size"],
        "",
        "size>5k",
        &Shape::default(),
    );
    assert!(
        shown.starts_with("  LV    LSize  LV Tags InitImgSyn\n"),
        "{shown}"
    );
    assert_eq!(
        report(
            &["lv_name,lv_all", "-lv_all"],
            "",
            "size>5k",
            &Shape::default()
        ),
        "  LV   \n  alpha\n"
    );
}

/// `all` has the fields of the report, and those of the groups of what stands beside it or is
/// sorted by.
#[test]
fn all_has_the_groups_that_are_used() {
    let shown = |options, sort| report(&[options], sort, "size>5k", &Shape::default());
    let heading = |options, sort| shown(options, sort).lines().next().map(str::to_owned);
    let plain = "  LV    LSize  LV Tags InitImgSyn";
    assert_eq!(heading("all", "name").as_deref(), Some(plain));
    let more = format!("{plain} #Ext");
    assert_eq!(heading("all", "vg_extents"), Some(more.clone()));
    assert_eq!(
        heading("vg_extents,all", ""),
        Some(more.replacen("  ", "  #Ext ", 1))
    );
}

#[test]
fn control_characters_reach_no_terminal() {
    assert_eq!(super::layout::printable("a\u{1b}[2Jb\n\u{9b}"), "a?[2Jb??");
    assert_eq!(super::layout::printable("größe"), "größe");
}
