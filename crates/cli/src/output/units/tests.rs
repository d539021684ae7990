//! Tests of printed sizes, against what stock LVM2 printed.

use super::{Form, Units};

fn show(units: &str, bytes: u64) -> String {
    Units::parse(units).expect(units).show(bytes, Form::Short)
}

/// What stock LVM2 2.03.16 printed for these sizes.
#[test]
fn sizes_are_printed_as_stock_prints_them() {
    const VG: u64 = 475 << 20;
    const FREE: u64 = 281 << 20;
    for (units, bytes, expected) in [
        ("r", VG, "475.00m"),
        ("h", VG, "475.00m"),
        ("R", VG, "498.07M"),
        ("R", FREE, "<294.65M"),
        ("H", FREE, "294.65M"),
        ("3M", VG, "166.02U"),
        ("M", VG, "498.07M"),
        ("b", VG, "498073600B"),
        ("s", VG, "972800S"),
        ("S", VG, "972800S"),
        ("t", VG, "0.00t"),
        ("3s", VG, "324266.67U"),
        ("1k", VG, "486400.00k"),
        ("0.5m", VG, "950.00U"),
        ("h", 0, "0 "),
        ("k", 0, "0k"),
        ("b", 0, "0B"),
        ("3s", 0, "0U"),
    ] {
        assert_eq!(show(units, bytes), expected, "{units}");
    }
}

#[test]
fn a_size_that_was_rounded_up_is_marked() {
    assert_eq!(show("r", (4 << 30) - (4 << 20)), "<4.00g");
    assert_eq!(show("h", (4 << 30) - (4 << 20)), "4.00g");
    assert_eq!(show("r", 4 << 30), "4.00g");
    assert_eq!(show("r", u64::MAX), "<16.00e");
}

#[test]
fn long_names() {
    let units = Units::default();
    assert_eq!(units.show(475 << 20, Form::Long), "475.00 MiB");
    assert_eq!(units.show(0, Form::Long), "0   ");
    assert_eq!(
        Units::parse("H").unwrap().show(12 << 20, Form::Long),
        "12.58 MB"
    );
}

/// As in stock: bytes have a blank behind them, and what is between one and two units has the
/// name of the unit.
#[test]
fn long_names_of_given_units() {
    let show = |units: &str, bytes| Units::parse(units).unwrap().show(bytes, Form::Long);
    assert_eq!(show("b", 4096), "4096 B ");
    assert_eq!(show("1.5m", 3 << 20), "2.00 MiB");
    assert_eq!(show("2m", 4 << 20), "2.00 Un");
}

#[test]
fn the_letter_can_be_left_out() {
    let units = Units::parse("k").unwrap().without_suffix();
    assert_eq!(units.show(8192, Form::Short), "8.00");
    let units = Units::parse("s").unwrap().without_suffix();
    assert_eq!(units.show(0, Form::Short), "0");
    // A size in a unit of its own means nothing without its letter.
    let human = Units::default().without_suffix();
    assert_eq!(human.show(8192, Form::Short), "8.00k");
    assert_eq!(human.show(8192, Form::Long), "8.00 KiB");
    assert_eq!(Units::default().without_suffix().show(0, Form::Short), "0");
}

#[test]
fn wrong_units_are_refused() {
    for text in ["", "z", "kk", "-1k", "0k", "3", "inf k", "3h", "1e3k"] {
        assert!(Units::parse(text).is_err(), "{text}");
    }
}
