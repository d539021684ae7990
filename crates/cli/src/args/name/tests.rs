//! Tests of names as people type them.

use super::{LvName, Target, split_target};

#[test]
fn every_spelling_of_a_volume_is_the_same_volume() {
    let expected = Target::Lv(LvName {
        vg: "vg-0".into(),
        lv: "a-b".into(),
    });
    for word in [
        "vg-0/a-b",
        "/dev/vg-0/a-b",
        "/dev/mapper/vg--0-a--b",
        "/vg-0/a-b",
    ] {
        assert_eq!(split_target(word), expected, "{word}");
    }
}

#[test]
fn groups_and_tags() {
    for word in ["vg0", "/dev/vg0", "vg0/", "/dev/vg0/"] {
        assert_eq!(split_target(word), Target::Vg("vg0".into()), "{word}");
    }
    assert_eq!(split_target("@fast"), Target::Tag("fast".into()));
}
