//! Tests of the name behind `-n`.

use super::volume_of;
use crate::args::Kind;

/// A volume is named with its group or without; of another group, without a name of its own, and
/// with one that no volume can have, it is a wrong line.
#[test]
fn volumes_are_named_as_in_stock() {
    for name in ["a", "vg/a", "/dev/vg/a"] {
        assert_eq!(volume_of(Some("vg"), name).expect("a name"), "a");
    }
    assert_eq!(volume_of(None, "w/a").expect("a name"), "a");
    for (name, said) in [
        ("w/a", "Named LV and old PV must be in the same VG."),
        ("a/b/c", "Named LV and old PV must be in the same VG."),
        ("vg/", "Incomplete LV name supplied with --name."),
        ("a:b", "Logical volume name a:b is invalid."),
        ("vg/a:b", "Logical volume name a:b is invalid."),
        ("", "Logical volume name  is invalid."),
    ] {
        let error = volume_of(Some("vg"), name).expect_err("no name");
        assert_eq!(error.kind(), Kind::Usage, "{name}");
        assert!(error.to_string().starts_with(said), "{name}: {error}");
    }
}
