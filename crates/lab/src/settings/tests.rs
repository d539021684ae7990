//! Values, their lines, and what is refused.

use super::{Table, size};

#[test]
fn values_are_given_out_once_and_what_is_left_is_refused() {
    // A field that nobody asks for is named with its line.
    let text = "a = \"64K\"\n[b]\nc = [1, 2.5]\nd = 3\n";
    let mut table = Table::parse("x.toml", text).expect("it is sound");
    assert_eq!(table.bytes("a").expect("a size"), Some(65536));
    let mut inner = table.table("b").expect("a table").expect("there");
    assert_eq!(inner.numbers("c").expect("numbers"), Some(vec![1.0, 2.5]));
    let error = inner.finish().expect_err("d is left").to_string();
    assert_eq!(error, "x.toml line 4: b.d: there is no such field here");
    table.finish().expect("nothing is left");
}

#[test]
fn a_wrong_value_names_file_line_and_field() {
    // So do texts that are no TOML.
    let mut table = Table::parse("x", "\n\nsize = true\n").expect("it is sound");
    let error = table.bytes("size").expect_err("no size").to_string();
    assert!(error.starts_with("x line 3: size: a size like"), "{error}");
    let error = Table::parse("x", "a = 1\nb = = 2\n").expect_err("no TOML");
    assert!(error.to_string().starts_with("x line 2:"), "{error}");
}

#[test]
fn sizes_have_units() {
    // Powers of 1024 and of 1000 are told apart; too much is refused.
    assert_eq!(size("80GB"), Some(80_000_000_000));
    assert_eq!(size("2T"), Some(2 << 40));
    assert_eq!(size("512"), Some(512));
    for wrong in ["", "K", "1Q", "-1", "99999999999T", "1.5G"] {
        assert_eq!(size(wrong), None, "{wrong}");
    }
}
