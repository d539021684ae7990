//! Names are built as device-mapper's users expect, and come apart again.

use proptest::prelude::proptest;

use super::{DM_NAME_LEN_MAX, dm_name, dm_name_length, split_dm_name};

#[test]
fn hyphens_are_doubled() {
    // Proves: names are built as device-mapper's users expect.
    assert_eq!(dm_name("vg0", "home", None), "vg0-home");
    assert_eq!(dm_name("my-vg", "a-b", None), "my--vg-a--b");
    assert_eq!(dm_name("vg0", "origin", Some("real")), "vg0-origin-real");
}

#[test]
fn the_longer_of_two_lengths_counts() {
    // Proves: names count as LVM2 counts them, and where hyphens are doubled as the kernel does.
    assert_eq!(dm_name_length("v", &"a".repeat(123)), DM_NAME_LEN_MAX);
    assert_eq!(dm_name_length("v", &"a-".repeat(62)), 2 + 3 * 62);
}

#[test]
fn foreign_names_are_refused() {
    // Proves: a name that no volume has is not taken apart.
    for name in ["", "vg0", "-a", "a-", "a-b-c-d"] {
        assert_eq!(split_dm_name(name), None, "{name}");
    }
}

proptest! {
    #[test]
    fn names_come_apart_again(vg in "[a-z.+_][a-z.+_-]{0,9}", lv in "[a-z.+_][a-z.+_-]{0,9}") {
        // Proves: two different volumes never have the same name.
        let expected = (vg.clone(), lv.clone(), None);
        // A name that ends in a hyphen is ambiguous in LVM2 itself.
        if !vg.ends_with('-') && !lv.ends_with('-') {
            assert_eq!(split_dm_name(&dm_name(&vg, &lv, None)), Some(expected));
        }
    }
}
