//! The names and tags that LVM2 accepts, and those it keeps for itself.

use super::{NameOf, reserved, validate, validate_chosen, validate_tag, wrongness};

#[test]
fn letters_and_lengths() {
    // Proves: exactly the names that LVM2 accepts are accepted.
    let long = "a".repeat(127);
    for good in ["a", "vg0", "A.b_c+d-e", "0", "_", "+", "...", long.as_str()] {
        assert_eq!(validate(good, NameOf::VolumeGroup), Ok(()), "{good}");
        assert_eq!(wrongness(good), None, "{good}");
    }
    let longer = "a".repeat(128);
    for bad in [
        "",
        ".",
        "..",
        "-a",
        "a/b",
        "a b",
        "é",
        "a\0",
        "a\n",
        longer.as_str(),
    ] {
        assert!(validate(bad, NameOf::LogicalVolume).is_err(), "{bad}");
        assert!(wrongness(bad).is_some(), "{bad}");
    }
}

#[test]
fn reserved_names() {
    // Proves: names of hidden parts are known and refused to people only.
    for name in [
        "pvmove0",
        "snapshot1",
        "a_rimage_0",
        "lvol0_pmspare",
        "x_vorigin",
        "p_tmeta",
    ] {
        assert!(reserved(name).is_some(), "{name}");
        assert!(validate(name, NameOf::LogicalVolume).is_ok());
        assert!(validate_chosen(name).is_err());
    }
    for name in ["mypvmove", "a-snapshot", "rimage", "data"] {
        assert_eq!(validate_chosen(name), Ok(()), "{name}");
    }
}

#[test]
fn tags() {
    // Proves: tags have more letters than names, in any place.
    for good in ["set.a/b=c!:&#", "-", "-a"] {
        assert!(validate_tag(good).is_ok(), "{good}");
    }
    for bad in ["", "a b", "@a"] {
        assert!(validate_tag(bad).is_err(), "{bad}");
    }
}
